/** The controller's process: runs the acts, records what nodes report, and lets joining nodes in. */
import { Client, Connection } from '@temporalio/client';
import type { Logger } from 'pino';
import { createEnrolmentActivities, type AccountBus } from '../activities/enrolment.ts';
import type { DeclarationBus, SealNew } from '../activities/ports.ts';
import { createPushActivities } from '../activities/push.ts';
import { createRemovalActivities } from '../activities/removal.ts';
import { createRotationActivities } from '../activities/rotation.ts';
import { clientAccount, nodeAccount, tokenAccount, type AccountShape } from '../bus/accounts.ts';
import { prepareAccount, pushAccount, revokeAccount } from '../bus/claims.ts';
import { connectBus, type BusConnection } from '../bus/connection.ts';
import { announceChanged, heldDeclarations, lastDeclaration, publishDeclaration } from '../bus/declarations.ts';
import { meshCredential, systemCredential, type BusIdentity } from '../bus/identity.ts';
import { announceReported, onReported } from '../bus/reported.ts';
import { consumeReports } from '../bus/reports.ts';
import { ensureStreams } from '../bus/streams.ts';
import { anyNode } from '../bus/subjects.ts';
import { controllerQueue, meshNamespace } from '../domain/act/act.ts';
import { nodeName } from '../domain/words/names.ts';
import { controllerKeysAt, type ControllerKeys } from '../foundation/controller-keys.ts';
import { readFoundation, type Foundation } from '../foundation/foundation.ts';
import { actRecords } from '../operations/act/act-records.ts';
import { busCredentialRecords } from '../operations/act/bus-credential-records.ts';
import { credentialRecords } from '../operations/act/credential-records.ts';
import { declarationRecords } from '../operations/act/declaration-records.ts';
import { refusedValueRecords } from '../operations/act/refused-value-records.ts';
import { enrolmentRecords } from '../operations/node/enrol.ts';
import { removeNodeRows } from '../operations/node/remove-node.ts';
import { recordReports, recordUnreadable } from '../operations/report/record-report.ts';
import { base64Of } from '../sealing/base64.ts';
import { seal } from '../sealing/box.ts';
import { sha256Hex } from '../sealing/digest.ts';
import { signEnvelope } from '../sealing/envelope.ts';
import { makeValue, type RandomBytes } from '../sealing/value.ts';
import { openStore, type Store } from '../store/store.ts';
import { beatForShortSteps } from './beats.ts';
import { serveEnrolmentDesk } from './enrolment-desk.ts';
import { sayFailingSteps } from './failing-steps.ts';
import { pointsAroundSteps, withPoints, type Reached } from './points.ts';
import { serveProvisioning } from './provisioning-desk.ts';
import { seatAddresses } from './seat-accounts.ts';
import { serving, startTemporalWorker, workflowBundle } from './temporal-worker.ts';
import { createWakes } from './wakes.ts';

export type ControllerAsked = {
  readonly stateDir: string;
  readonly logger: Logger;
  /** Aborted: what is in hand is finished or left to the next controller, and the process may end. */
  readonly signal: AbortSignal;
  /** The bundle of workflows, where it is not beside the compiled sources. */
  readonly bundle?: string;
  /** Told once all of it is served. */
  readonly onReady?: () => void;
  /** Told at each named point of each step; only a test that ends the process there gives one (A1.2). */
  readonly reached?: Reached;
  /** Where values come from; only a test that must know them gives one (S5, S22). */
  readonly random?: RandomBytes;
};

/** Serves until `signal`. Errors: no mesh was raised in this state folder; a part of the foundation does not answer. */
export async function runController(asked: ControllerAsked): Promise<void> {
  const foundation = await readFoundation(asked.stateDir);
  if (foundation === undefined) throw new Error(`no mesh was raised in ${asked.stateDir}`);
  const keys = await controllerKeysAt(asked.stateDir);
  const ends: (() => Promise<void>)[] = [];
  try {
    await serve(asked, foundation, keys, ends);
  } finally {
    // What was opened last is closed first: nothing is told to a store or a bus that is gone.
    for (const end of ends.toReversed()) await end();
  }
}

async function serve(
  asked: ControllerAsked,
  foundation: Foundation,
  keys: ControllerKeys,
  ends: (() => Promise<void>)[],
): Promise<void> {
  const { logger, reached } = asked;
  const store = openStore({ ...foundation.postgres, connections: 20 });
  ends.push(() => store.close());
  // Whoever is not let in ends here and says so, instead of failing in silence at each thing it is asked for (C88).
  await store.read((view) => view.mark());
  const mesh = await connect(foundation, 'controller', await meshCredential(keys.bus), logger);
  ends.push(() => mesh.close());
  const system = await connect(foundation, 'controller-accounts', await systemCredential(keys.bus), logger);
  ends.push(() => system.close());
  await ensureStreams(mesh);
  const servers = [foundation.nats.url];
  const provisioning = await serveProvisioning({
    stateDir: asked.stateDir,
    store,
    address: foundation.postgres,
    mesh,
    system,
    identity: keys.bus,
    servers,
    logger,
  });
  ends.push(() => provisioning.stop());

  const connection = await Connection.connect({ address: foundation.temporal.address });
  ends.push(() => connection.close());
  const temporal = new Client({ connection, namespace: meshNamespace, identity: 'controller' });

  const wakes = createWakes();
  const deaf = onReported(mesh, anyNode, () => wakes.wake());
  ends.push(async () => deaf());

  const onFault = (fault: unknown): void =>
    logger.error({ err: fault }, 'a message from the bus could not be taken; it comes again');
  const reports = consumeReports(mesh, {
    async onReports(came) {
      for (const { node } of came) await reached?.('reports/record/before', node);
      await recordReports(store, came, Date.now());
      for (const report of came) announceReported(mesh, report);
      for (const { node } of came) await reached?.('reports/record/after', node);
    },
    onUnreadable: (message) => recordUnreadable(store, message),
    onFault,
  });
  ends.push(() => reports.stop());

  const worker = await startTemporalWorker({
    address: foundation.temporal.address,
    taskQueue: controllerQueue,
    bundle: asked.bundle ?? workflowBundle,
    activities: activitiesOver({ store, mesh, system, keys, wakes, random: asked.random, reached }),
    interceptors: [
      beatForShortSteps,
      ...(reached === undefined ? [] : [pointsAroundSteps(reached)]),
      sayFailingSteps(actRecords(store), Date.now),
    ],
    logger,
  });
  ends.push(() => worker.close());

  const desk = serveEnrolmentDesk({
    store,
    mesh,
    temporal,
    servers,
    declarationKey: keys.declarations.publicKey,
    random: asked.random,
    reached,
    onFault,
  });
  ends.push(() => desk.stop());

  const stop = (): void => worker.shutdown();
  if (asked.signal.aborted) stop();
  else asked.signal.addEventListener('abort', stop, { once: true });
  const { postgres, nats, temporal: acts } = foundation;
  logger.info(
    { ...serving(controllerQueue, acts.address), postgres: postgres.port, nats: nats.port },
    'the controller serves',
  );
  asked.onReady?.();
  await worker.ended;
}

function connect(
  foundation: Foundation,
  name: string,
  credential: Parameters<typeof connectBus>[0]['credential'],
  logger: Logger,
): Promise<BusConnection> {
  return connectBus({
    servers: [foundation.nats.url],
    name,
    credential,
    onStatus: (status) =>
      logger[status.kind === 'denied' || status.kind === 'error' ? 'error' : 'info'](
        { bus: name, ...status },
        'the bus',
      ),
  });
}

/** The steps of every act, over the real store, bus and keys. */
export function activitiesOver(of: {
  store: Store;
  mesh: BusConnection;
  system: BusConnection;
  keys: ControllerKeys;
  wakes: ReturnType<typeof createWakes>;
  random: RandomBytes | undefined;
  reached: Reached | undefined;
}) {
  const { store, mesh, keys, wakes, reached } = of;
  const acts = withPoints('acts', actRecords(store), reached);
  const declarations = withPoints('declarations', declarationRecords(store), reached);
  const sending = {
    declarations,
    credentials: withPoints('credentials', credentialRecords(store), reached),
    refusedValues: withPoints('refusedValues', refusedValueRecords(store), reached),
    bus: withPoints('bus', declarationBus(mesh), reached),
    sign: ({ node, number, text }: { node: Parameters<DeclarationBus['last']>[0]; number: number; text: string }) =>
      signEnvelope({ node, number, text, key: keys.declarations }),
    hash: sha256Hex,
    sealNew: sealingFrom(of.random),
  };
  const accounts = withPoints('bus', accountBus(of.system, keys.bus, store), reached);
  return {
    ...createPushActivities({ ...sending, acts, wakes }),
    ...createRotationActivities({ ...sending, acts, wakes, now: Date.now }),
    ...createEnrolmentActivities({
      acts,
      busCredentials: withPoints('busCredentials', busCredentialRecords(store), reached),
      declarations,
      enrolments: withPoints('enrolments', enrolmentRecords(store), reached),
      bus: accounts,
      wakes,
    }),
    ...createRemovalActivities({ acts, bus: accounts, removeRows: (act, node) => removeNodeRows(store, act, node) }),
  };
}

/** The value lives in this call: made, sealed to each key, forgotten (S2, S22). */
function sealingFrom(random: RandomBytes | undefined): SealNew {
  return (publicKeys) => {
    const value = makeValue(random);
    return publicKeys.map((key) => seal(value, base64Of(key)));
  };
}

function declarationBus(mesh: BusConnection): DeclarationBus {
  return {
    publish: (envelope, expected) => publishDeclaration(mesh, envelope, expected),
    async last(node) {
      const last = await lastDeclaration(mesh, node);
      if (last === undefined) return undefined;
      return 'envelope' in last ? last : { sequence: last.sequence, envelope: undefined };
    },
    async announceChanged(node) {
      announceChanged(mesh, node);
    },
    held: (nodes) => heldDeclarations(mesh, nodes),
  };
}

function accountBus(system: BusConnection, identity: BusIdentity, store: Store): AccountBus {
  const meshAccount = identity.accounts.mesh;
  const shapeOf = async (kind: string, name: string): Promise<AccountShape> => {
    if (kind === 'token') return tokenAccount(name, { meshAccount });
    const node = nodeName.parse(name);
    if (kind === 'node') return nodeAccount(node, { meshAccount });
    return clientAccount(node, { meshAccount, seats: await seatAddresses(store) });
  };
  return {
    prepare: async (kind, name, userKey) => prepareAccount(identity, await shapeOf(kind, name), { userKey }),
    push: async ({ kind, name, accountKey }) =>
      pushAccount(system, identity, { accountKey, shape: await shapeOf(kind, name) }),
    revoke: (accountKey) => revokeAccount(system, identity, accountKey),
  };
}
