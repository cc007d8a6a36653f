/**
 * Resolution: from what is assigned to what each node runs, takes from others and is asked for. Two passes (M5): the first
 * only learns what every node offers; bindings are made in the second, and credentials fan out after it, in one place (M7).
 */
import { pairPath, type OwnKey, type PairKey } from '../credential/credential.ts';
import type { FilledForm } from '../credential/overlaps.ts';
import type { SecretForm } from '../declaration/declaration.ts';
import { isRefusal, type Refusal } from '../refusal/refusal.ts';
import type { LocalName, ModuleName, NodeName, Placed, ProvisionName } from '../words/names.ts';
import { bind, offersIt, type Offers } from './bind.ts';
import { indexOf, type InventoryIndex } from './inventory-index.ts';
import type { Inventory } from './inventory.ts';
import { recordsOf, type NodeRecord } from './node-record.ts';
import { factsAsked, tellsFacts, untold } from './told-facts.ts';
import { walk, type ResolvedModule, type Walk } from './walk.ts';

/** A mesh-scoped requirement matched to its provider. */
export type Binding = { readonly consumer: Placed; readonly provision: ProvisionName; readonly provider: Placed };
/** One credential that a consumer needs (M7): for whom, and in which form into which file, or in files that placeholders fill. */
export type Need = { readonly key: PairKey } & (
  { readonly form: SecretForm; readonly file: string; readonly owner?: string } | { readonly form: FilledForm }
);
/** One own secret that a module on the node holds (S10). */
export type Hold = { readonly key: OwnKey; readonly file: string; readonly owner?: string };

export type ResolvedNode = {
  readonly kind: 'resolved';
  readonly node: NodeName;
  readonly modules: readonly ResolvedModule[];
  readonly bindings: readonly Binding[];
  readonly needs: readonly Need[];
  readonly holds: readonly Hold[];
};
/** Not sent anything, and not called behind (D5). What could be told of it stays granted: its providers are other nodes. */
export type UnresolvableNode = {
  readonly kind: 'unresolvable';
  readonly node: NodeName;
  readonly refusals: readonly Refusal[];
  readonly bindings: readonly Binding[];
  readonly needs: readonly Need[];
};
export type Resolution = {
  readonly nodes: ReadonlyMap<NodeName, ResolvedNode | UnresolvableNode>;
  /** What a provider node is asked for, by all consumers; sorted by credential. */
  readonly asked: ReadonlyMap<NodeName, readonly Need[]>;
};

/** Resolves every node in two passes (M5): what each offers, then what each takes. One node's failure stays its own (D5). */
export function resolve(inventory: Inventory): Resolution {
  const index = indexOf(inventory);
  const walks = new Map<NodeName, Walk>();
  for (const [node, { facts }] of recordsOf(inventory)) if (facts !== undefined) walks.set(node, walk(index, node));
  const offers = offersOf(walks);
  const nodes = new Map([...walks].map(([node, walked]) => [node, resolveNode(index, offers, node, walked)]));
  return { nodes, asked: askedOf(index, nodes.values()) };
}

/** What is offered of one provision; `places` is the same text for the same offers. */
type Offered = { readonly offers: Offers; readonly places: string };
type AllOffers = ReadonlyMap<ProvisionName, Offered>;

function offersOf(walks: ReadonlyMap<NodeName, Walk>): AllOffers {
  const all = new Map<ProvisionName, { offers: Map<NodeName, ModuleName[]>; places: string }>();
  for (const [node, walked] of walks)
    for (const { module, provision } of walked.offers) {
      const offered = all.get(provision) ?? { offers: new Map<NodeName, ModuleName[]>(), places: '' };
      offered.offers.set(node, [...(offered.offers.get(node) ?? []), module]);
      offered.places += ` ${node}/${module}`;
      all.set(provision, offered);
    }
  return all;
}

const nothingOffered: Offered = { offers: new Map(), places: '' };

// Beside its walk, and what that was made of, a node's resolution reads who offers what it asks for.
const resolvedNodes = new WeakMap<
  Walk,
  { readonly places: readonly string[]; readonly resolved: ResolvedNode | UnresolvableNode }
>();

function resolveNode(
  index: InventoryIndex,
  all: AllOffers,
  node: NodeName,
  walked: Walk,
): ResolvedNode | UnresolvableNode {
  const places = walked.asks.map(({ provision }) => (all.get(provision) ?? nothingOffered).places);
  const known = resolvedNodes.get(walked);
  if (known?.places.every((text, at) => text === places[at]) === true) return known.resolved;
  const resolved = resolveAnew(index, all, node, walked);
  resolvedNodes.set(walked, { places, resolved });
  return resolved;
}

function resolveAnew(
  index: InventoryIndex,
  all: AllOffers,
  node: NodeName,
  walked: Walk,
): ResolvedNode | UnresolvableNode {
  const refusals: Refusal[] = [...walked.refusals];
  const bindings: Binding[] = [];
  for (const { module, provision } of walked.asks) {
    const consumer = { node, module };
    const { offers } = all.get(provision) ?? nothingOffered;
    const bound = index.bound(consumer, provision);
    const answer = bind({
      consumer,
      provision,
      offers,
      bound,
      pin: index.pin(node, provision),
      couldProvide: index.meshProviders.get(provision) ?? [],
    });
    if (!isRefusal(answer)) bindings.push({ consumer, provision, provider: answer });
    else {
      refusals.push(answer);
      // It keeps the access it has: taking that away would be this node's failure breaking a running program.
      if (bound !== undefined && offersIt(offers, bound)) bindings.push({ consumer, provision, provider: bound });
    }
  }
  const needs = fanOut(index, bindings);
  refusals.push(...needs.flatMap((need) => ungranted(index, need)));
  refusals.push(...bindings.flatMap((binding) => factless(index, binding)));
  if (refusals.length > 0) return { kind: 'unresolvable', node, refusals, bindings, needs };
  return { kind: 'resolved', node, modules: walked.modules, bindings, needs, holds: holdsOf(index, node, walked) };
}

/** M7: the one place where credentials come from: one need per provision, consumer module and local. */
function fanOut(index: InventoryIndex, bindings: readonly Binding[]): readonly Need[] {
  return bindings.flatMap(({ consumer, provision, provider }): readonly Need[] => {
    const manifest = index.modules.get(consumer.module)?.manifest;
    const keyOf = (local: LocalName | undefined): PairKey => ({
      provision,
      providerNode: provider.node,
      providerModule: provider.module,
      consumerNode: consumer.node,
      consumerModule: consumer.module,
      ...(local === undefined ? {} : { local }),
    });
    return [
      ...(manifest?.secrets ?? [])
        .filter((delivery) => delivery.requirement === provision)
        .map(({ local, file, as, owner }) => ({
          key: keyOf(local),
          form: as,
          file,
          ...(owner === undefined ? {} : { owner }),
        })),
      ...(manifest?.filled ?? [])
        .filter((credential) => credential.requirement === provision)
        .map(({ local, as }) => ({ key: keyOf(local), form: as })),
    ];
  });
}

function ungranted(index: InventoryIndex, { key }: Need): readonly Refusal[] {
  const provided = index.modules.get(key.providerModule)?.manifest.provides.find((one) => one.name === key.provision);
  if (provided?.grants !== undefined) return [];
  return [
    {
      kind: 'secret-cannot-be-made',
      what: `${key.consumerModule} on ${key.consumerNode} wants a credential for ${key.provision}, and ${key.providerModule} takes none`,
      why: `${key.providerModule} names no directory in which it is told whom it grants what`,
      next: [
        `write grants: <directory> at ${key.provision} in the manifest of ${key.providerModule}`,
        `take ${key.provision} out of secrets in the manifest of ${key.consumerModule}`,
      ],
      facts: { provision: key.provision, provider: key.providerModule, consumer: key.consumerModule },
    },
  ];
}

/** A file that asks for facts of this binding, where its provider tells none: it would wait for ever (P12). */
function factless(index: InventoryIndex, { consumer, provision, provider }: Binding): readonly Refusal[] {
  const module = index.modules.get(consumer.module);
  const asked = module && factsAsked(module).find(({ requirement }) => requirement === provision);
  if (asked === undefined || tellsFacts(index.modules.get(provider.module)?.manifest, provision)) return [];
  return [untold(asked, provision, consumer, provider.module)];
}

function holdsOf(index: InventoryIndex, node: NodeName, walked: Walk): readonly Hold[] {
  return walked.modules.flatMap(({ module }) =>
    (index.modules.get(module)?.manifest.holds ?? []).map(({ name, file, owner }) => ({
      key: { node, module, name },
      file,
      ...(owner === undefined ? {} : { owner }),
    })),
  );
}

// What a provider is asked for is the same list as long as its consumers need the same: their lists are looked at one by one.
const askedOfProviders = new WeakMap<
  NodeRecord,
  { readonly by: readonly (readonly Need[])[]; readonly needs: readonly Need[] }
>();

function askedOf(
  index: InventoryIndex,
  nodes: Iterable<ResolvedNode | UnresolvableNode>,
): ReadonlyMap<NodeName, readonly Need[]> {
  const by = new Map<NodeName, (readonly Need[])[]>();
  for (const { needs } of nodes)
    for (const provider of new Set(needs.map((need) => need.key.providerNode))) {
      const lists = by.get(provider);
      if (lists === undefined) by.set(provider, [needs]);
      else lists.push(needs);
    }
  return new Map([...by].map(([provider, lists]) => [provider, askedOfProvider(index, provider, lists)]));
}

/** `by`: the needs of each consumer's node that needs anything of it. */
function askedOfProvider(index: InventoryIndex, provider: NodeName, by: readonly (readonly Need[])[]): readonly Need[] {
  const record = index.record(provider);
  const known = record && askedOfProviders.get(record);
  if (known?.by.length === by.length && known.by.every((needs, at) => needs === by[at])) return known.needs;
  const needs = by
    .flatMap((list) => list.filter((need) => need.key.providerNode === provider))
    .map((need) => ({ need, path: pairPath(need.key) }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ need }) => need);
  if (record !== undefined) askedOfProviders.set(record, { by, needs });
  return needs;
}
