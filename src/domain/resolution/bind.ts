import type { Refusal } from '../refusal/refusal.ts';
import type { ModuleName, NodeName, Placed, ProvisionName } from '../words/names.ts';
import type { Pin } from './inventory.ts';

/** Who offers one provision to the mesh: node → its modules that do, sorted by name. */
export type Offers = ReadonlyMap<NodeName, readonly ModuleName[]>;

export type BindRequest = {
  readonly consumer: Placed;
  readonly provision: ProvisionName;
  readonly offers: Offers;
  readonly pin?: Pin | undefined;
  /** Where it was bound before. */
  readonly bound?: Placed | undefined;
  /** Modules of the catalogue that would provide it if they were assigned somewhere. */
  readonly couldProvide: readonly ModuleName[];
};

/**
 * Matches one mesh-scoped requirement to its provider. A pin is an order, not a preference, and a binding once made moves
 * only by a pin: falling back would move a consumer's data the day someone drains a node (M3, M4). A consumer is never its
 * own provider. Refusals: `no-provider`, `ambiguous-provider`, `pin-unanswered`, `binding-broken`.
 */
export function bind(request: BindRequest): Placed | Refusal {
  const { offers, pin, bound } = request;
  if (pin !== undefined) return atPin(request, pin);
  if (bound !== undefined) return offersIt(offers, bound) ? bound : broken(request, bound);
  const candidates = candidatesOf(request);
  const [only, second] = candidates;
  if (only === undefined) return nobody(request);
  return second === undefined ? only : ambiguous(request, candidates);
}

export function offersIt(offers: Offers, { node, module }: Placed): boolean {
  return offers.get(node)?.includes(module) === true;
}

function atPin(request: BindRequest, pin: Pin): Placed | Refusal {
  const { node, module } = pin.provider;
  const there = candidatesOf(request, new Map([[node, request.offers.get(node) ?? []]])).filter(
    (one) => module === undefined || one.module === module,
  );
  const [only, second] = there;
  if (only === undefined) return unanswered(request, pin);
  if (second === undefined) return only;
  // The pin names the node; which of two modules there was settled when it was bound.
  return (
    there.find((one) => one.node === request.bound?.node && one.module === request.bound.module) ??
    ambiguous(request, there)
  );
}

function candidatesOf({ offers, consumer }: BindRequest, among: Offers = offers): readonly Placed[] {
  return [...among]
    .flatMap(([node, modules]) => modules.map((module) => ({ node, module })))
    .filter((one) => !(one.node === consumer.node && one.module === consumer.module))
    .toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
}

const placeOf = (placed: Placed): string => `${placed.node}/${placed.module}`;
const wanted = ({ consumer, provision }: BindRequest): string =>
  `${consumer.module} on ${consumer.node} requires ${provision}`;
const factsOf = ({ consumer, provision }: BindRequest) => ({ node: consumer.node, module: consumer.module, provision });

/** One command a candidate; the module is written only where its node has more than one (M3). */
export function pinCommands(
  node: NodeName,
  provision: ProvisionName,
  candidates: readonly Placed[],
): readonly string[] {
  const perNode = new Map<NodeName, number>();
  for (const one of candidates) perNode.set(one.node, (perNode.get(one.node) ?? 0) + 1);
  return candidates.map(
    (one) => `mesh pin ${node} ${provision} ${(perNode.get(one.node) ?? 0) > 1 ? placeOf(one) : one.node}`,
  );
}

function assignCommands({ couldProvide, provision, consumer }: BindRequest): readonly string[] {
  const others = couldProvide.filter((module) => module !== consumer.module);
  if (others.length === 0) return [`add a module that provides ${provision} with scope mesh: mesh module add <folder>`];
  return others.map((module) => `mesh assign <node> ${module}`);
}

function nobody(request: BindRequest): Refusal {
  const { couldProvide } = request;
  return {
    kind: 'no-provider',
    what: `${wanted(request)}, and no node provides it`,
    why:
      couldProvide.length === 0
        ? 'no module of the catalogue provides it to the mesh'
        : `a provider for the whole mesh is never installed by itself; ${couldProvide.join(' or ')} would provide it`,
    next: assignCommands(request),
    facts: { ...factsOf(request), modules: couldProvide },
  };
}

function ambiguous(request: BindRequest, candidates: readonly Placed[]): Refusal {
  const named = candidates.map((one) => `${one.module} on ${one.node}`);
  return {
    kind: 'ambiguous-provider',
    what: `${wanted(request)}, and ${named.join(' and ')} provide it`,
    why: 'choosing one is choosing where its data lives, and that is not chosen in silence',
    next: pinCommands(request.consumer.node, request.provision, candidates),
    facts: { ...factsOf(request), candidates: candidates.map(placeOf) },
  };
}

function unanswered(request: BindRequest, pin: Pin): Refusal {
  const { node, module } = pin.provider;
  const at = module === undefined ? node : `${node}/${module}`;
  const candidates = candidatesOf(request);
  return {
    kind: 'pin-unanswered',
    what: `${wanted(request)}, pinned to ${at}, which does not provide it`,
    why: 'a pin is an order: another provider is never taken in its place',
    next: [
      ...pinCommands(request.consumer.node, request.provision, candidates),
      `mesh unpin ${request.consumer.node} ${request.provision}`,
    ],
    facts: { ...factsOf(request), pinnedTo: at },
  };
}

function broken(request: BindRequest, bound: Placed): Refusal {
  const candidates = candidatesOf(request);
  return {
    kind: 'binding-broken',
    what: `${wanted(request)}, bound to ${bound.module} on ${bound.node}, which no longer provides it`,
    why: 'a binding once made moves only by a pin, since its data does not move along',
    next:
      candidates.length > 0
        ? pinCommands(request.consumer.node, request.provision, candidates)
        : [`mesh assign ${bound.node} ${bound.module}`],
    facts: { ...factsOf(request), boundTo: placeOf(bound) },
  };
}
