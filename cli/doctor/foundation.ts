/** Asks what the mesh stands on: the store as the controller's role, the bus with the controller's credential, Temporal. Changes nothing. */
import { Connection, isGrpcServiceError } from '@temporalio/client';

import { controllerSeat, provisionerSeat } from '../../src/bus/accounts.ts';
import type { BusConnection } from '../../src/bus/connection.ts';
import { BusFault } from '../../src/bus/faults.ts';
import { meshCredential } from '../../src/bus/identity.ts';
import { missingOnBus } from '../../src/bus/presence.ts';
import { askedSubject } from '../../src/bus/subjects.ts';
import { nodeCredential } from '../../src/bus/token.ts';
import { askSeat, listingOf } from '../../src/bus/verbs.ts';
import { meshWorkers, type MeshWorker } from '../../src/domain/act/workers.ts';
import type { Looked } from '../../src/domain/doctor/finding.ts';
import type { StoreSeen, TemporalSeen } from '../../src/domain/doctor/foundation.ts';
import type { PartName } from '../../src/domain/words/names.ts';
import { readBusIdentity } from '../../src/foundation/controller-keys.ts';
import type { Foundation } from '../../src/foundation/foundation.ts';
import { searchAttributes } from '../../src/foundation/temporal.ts';
import { readIdentity } from '../../src/host/keys.ts';
import type { NodeFile } from '../../src/host/state.ts';
import { storeStanding } from '../../src/store/migrate.ts';
import { busLine } from '../bus-line.ts';
import { within } from './within.ts';

type Role = MeshWorker['role'];
/** The seat that a worker's own process serves beside its queue: an answer there is a sign of life. */
const seats: Readonly<Record<Role, PartName>> = { controller: controllerSeat, provisioner: provisionerSeat };

export const lookAtStore = ({ postgres }: Foundation, withinMs: number): Promise<StoreSeen> =>
  storeStanding(postgres, { withinMs });

export type BusSeen = {
  readonly missing: readonly string[];
  /** Whether each worker's seat answers. */
  readonly answers: ReadonlyMap<Role, Looked<boolean>>;
};

/** One connection for all that is asked of the bus. `person`: in whose name seats are asked. */
export async function lookAtBus(
  { nats }: Foundation,
  of: { readonly stateFolder: string; readonly person: string; readonly withinMs: number },
): Promise<BusSeen> {
  const withinMs = of.withinMs / 3;
  const credential = await meshCredential(await readBusIdentity(of.stateFolder));
  const bus = await busLine({ servers: [nats.url], name: 'doctor', credential, withinMs });
  try {
    const answers = meshWorkers.map(async ({ role }) => {
      const answer = await within(withinMs, () => answersFor(bus, seats[role], of.person, withinMs));
      return [role, answer] as const;
    });
    return { missing: await missingOnBus(bus, withinMs), answers: new Map(await Promise.all(answers)) };
  } finally {
    await bus.close();
  }
}

/** Whether the bus lets the node in that this machine is; throws where it does not. */
export async function lookAtNodeBus(
  { name, servers, userJwt }: NodeFile,
  of: { readonly stateDir: string; readonly withinMs: number },
): Promise<void> {
  const identity = await readIdentity(of.stateDir);
  if (identity === undefined) throw new Error("the node's key is not there");
  const credential = nodeCredential({ node: name, userJwt }, identity);
  const bus = await busLine({ servers, name: `doctor ${name}`, credential, withinMs: of.withinMs / 2 });
  await bus.close();
}

/** False where nobody serves the seat, which the bus says at once. */
async function answersFor(bus: BusConnection, seat: PartName, person: string, withinMs: number): Promise<boolean> {
  const subject = askedSubject(seat, listingOf(seat).verb, { kind: 'person', name: person });
  try {
    await askSeat(bus, subject, new TextEncoder().encode('{}'), withinMs);
    return true;
  } catch (fault) {
    if (fault instanceof BusFault && fault.reason === 'nobody') return false;
    throw fault;
  }
}

export type TemporalLooked = TemporalSeen & {
  /** Who is listed as polling each queue. */
  readonly pollers: ReadonlyMap<Role, readonly string[]>;
  /** Queues that workers said they work on, within the last minutes, and that are none of the mesh's (C88). */
  readonly strays: readonly string[];
};

/** One connection for all that is asked of Temporal. */
export async function lookAtTemporal({ temporal }: Foundation, withinMs: number): Promise<TemporalLooked> {
  const deadline = Date.now() + withinMs;
  const { address, namespace } = temporal;
  const connection = await Connection.connect({ address, connectTimeout: withinMs / 2 }).catch((cause: unknown) => {
    throw new Error('nobody answers there', { cause });
  });
  try {
    return await connection.withDeadline(deadline, async () => {
      const { workflowService, operatorService } = connection;
      if (!(await isThere(workflowService.describeNamespace({ namespace }))))
        return { hasNamespace: false, missing: [], pollers: new Map(), strays: [] };
      const [{ customAttributes }, said, ...pollers] = await Promise.all([
        operatorService.listSearchAttributes({ namespace }),
        queuesSaid(workflowService.listWorkers({ namespace })),
        ...meshWorkers.map(async ({ role, queue }) => {
          const found = await workflowService.describeTaskQueue({ namespace, taskQueue: { name: queue } });
          return [role, found.pollers.map(({ identity }) => identity ?? '')] as const;
        }),
      ]);
      const missing = searchAttributes.filter((name) => !Object.hasOwn(customAttributes, name));
      const strays = said.filter((name) => !meshWorkers.some(({ queue }) => queue === name));
      return { hasNamespace: true, missing, pollers: new Map(pollers), strays };
    });
  } finally {
    await connection.close();
  }
}

/** A worker says once a minute which queue it works on. A server that keeps no such words says nothing of them, and is no fault. */
async function queuesSaid(
  asked: Promise<{ readonly workers: readonly { readonly taskQueue?: string | null }[] }>,
): Promise<readonly string[]> {
  const { workers } = await asked.catch(() => ({ workers: [] }));
  return [...new Set(workers.flatMap(({ taskQueue }) => taskQueue ?? []))].toSorted();
}

const notFound = 5;
async function isThere(asked: Promise<unknown>): Promise<boolean> {
  try {
    await asked;
    return true;
  } catch (error) {
    if (isGrpcServiceError(error) && Number(error.code) === notFound) return false;
    throw error;
  }
}
