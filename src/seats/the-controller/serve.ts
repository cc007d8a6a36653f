/** Serves the seat `the-controller`, inside MESH. Who asks is in the subject; each verb answers the asker's own part alone. */
import { controllerSeat } from '../../bus/accounts.ts';
import type { BusConnection } from '../../bus/connection.ts';
import { serveSeat, serving, type Refused, type VerbRefusal } from '../../bus/verbs.ts';
import type { Caller } from '../../bus/subjects.ts';
import { isRefusal, type Refusal } from '../../domain/refusal/refusal.ts';
import { nodeName, partName, type ModuleName, type NodeName, type PartName } from '../../domain/words/names.ts';
import type { InventoryReads } from '../../operations/ports/declaration-rows.ts';
import type { LeaseRows } from '../../operations/ports/provisioner-rows.ts';
import type { EventRows, Reads, Writes } from '../../operations/ports/work.ts';
import { askSecret, listConsumers } from '../../operations/secret/ask-secret.ts';
import { holdSeat, leaveSeat } from '../../operations/seat/hold-seat.ts';
import { healthIn } from './health.ts';
import { admitProgramVerb, consumersVerb, healthVerb, holdSeatVerb, leaveSeatVerb, secretVerb } from './verbs.ts';

export type ControllerSeatPorts = {
  readonly bus: BusConnection;
  readonly store: Reads<InventoryReads> & Writes<LeaseRows & EventRows>;
  /** Lower-case hex SHA-256. */
  readonly hash: (text: string) => string;
  /** Every key of `provisioner_health` as it is. */
  readonly readHealth: () => Promise<ReadonlyMap<string, string>>;
  /** Gives a provider's program on a node its account; a Refusal where no such provider is assigned there. */
  readonly admitProgram: (
    node: NodeName,
    module: ModuleName,
    userKey: string,
  ) => Promise<{ readonly userJwt: string; readonly servers: readonly string[] } | Refusal>;
  readonly onFault: (fault: unknown) => void;
};

/** Serves until `stop`. */
export function serveControllerSeat(ports: ControllerSeatPorts): Promise<{ stop(): Promise<void> }> {
  const { store, hash } = ports;
  const verbs = [
    serving(secretVerb, (request, caller) =>
      asNode(caller, async (node) => orRefused(await askSecret(store, { node, ...withoutAbsent(request) }, hash))),
    ),
    serving(consumersVerb, (request, caller) =>
      asNode(caller, async (node) => ({ consumers: [...(await listConsumers(store, { node, ...request }, hash))] })),
    ),
    serving(holdSeatVerb, ({ leaseMs, ...asker }, caller) =>
      asSeat(caller, async (seat) => {
        const { state, holder, since, forMs } = await holdSeat(store, seat, asker, leaseMs);
        if (state === 'refused') return heldByAnother(seat, holder);
        return { state, holder: { ...holder }, since: since.toISOString(), forMs };
      }),
    ),
    serving(leaveSeatVerb, (asker, caller) =>
      asSeat(caller, async (seat) => {
        await leaveSeat(store, seat, asker);
        return {};
      }),
    ),
    serving(healthVerb, async (request) => healthIn(await ports.readHealth(), request)),
    serving(admitProgramVerb, ({ module, userKey }, caller) =>
      asNode(caller, async (node) => {
        const admitted = orRefused(await ports.admitProgram(node, module, userKey));
        return 'refused' in admitted ? admitted : { ...admitted, servers: [...admitted.servers] };
      }),
    ),
  ];
  return serveSeat(ports.bus, controllerSeat, verbs, ports.onFault);
}

function asNode<T>({ kind, name }: Caller, answer: (node: NodeName) => Promise<T | Refused>): Promise<T | Refused> {
  if (kind === 'client') return answer(nodeName.parse(name));
  return Promise.resolve(
    refused({ kind: 'refused', what: `a node's client asks this for its own node, not a ${kind}` }),
  );
}

function asSeat<T>({ kind, name }: Caller, answer: (seat: PartName) => Promise<T | Refused>): Promise<T | Refused> {
  if (kind === 'seat') return answer(partName.parse(name));
  return Promise.resolve(refused({ kind: 'refused', what: `a seat asks this for itself, not a ${kind}` }));
}

const refused = (refusal: VerbRefusal): Refused => ({ refused: refusal });

function orRefused<T>(answer: T | Refusal): T | Refused {
  if (!isRefusal(answer)) return answer;
  const kind = answer.kind.startsWith('unknown-') ? 'not-found' : 'refused';
  return refused({ kind, what: `${answer.what}: ${answer.why}` });
}

/** P3. A second module is told who has the seat. */
function heldByAnother(seat: PartName, { module, node }: { readonly module: string; readonly node: string }): Refused {
  return refused({
    kind: 'refused',
    what: `the seat ${seat} is held by ${module} on ${node}; one module on one node holds it`,
    facts: { seat, module, node },
  });
}

function withoutAbsent<T extends { readonly local?: unknown }>({ local, ...rest }: T) {
  return local === undefined ? rest : { ...rest, local };
}
