/**
 * Resolution: from what is assigned to what each node runs, takes from others and is asked for. Two passes (M5): the first
 * only learns what every node offers; bindings are made in the second, and credentials fan out after it, in one place (M7).
 */
import { pairPath, type OwnKey, type PairKey } from '../credential/credential.ts';
import type { SecretForm } from '../declaration/declaration.ts';
import { isRefusal, type Refusal } from '../refusal/refusal.ts';
import type { ModuleName, NodeName, Placed, ProvisionName } from '../words/names.ts';
import { bind, offersIt, type Offers } from './bind.ts';
import { indexOf, type InventoryIndex } from './inventory-index.ts';
import type { Inventory } from './inventory.ts';
import { walk, type ResolvedModule, type Walk } from './walk.ts';

/** A mesh-scoped requirement matched to its provider. */
export type Binding = { readonly consumer: Placed; readonly provision: ProvisionName; readonly provider: Placed };
/** One credential that a consumer needs (M7): for whom, in which form, into which file. */
export type Need = { readonly key: PairKey; readonly form: SecretForm; readonly file: string; readonly owner?: string };
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
  const walks = inventory.nodes.map(({ name }) => ({ node: name, walked: walk(index, name) }));
  const offers = offersOf(index, walks);
  const nodes = new Map(walks.map(({ node, walked }) => [node, resolveNode(index, offers, node, walked)]));
  return { nodes, asked: askedOf(nodes.values()) };
}

function offersOf(
  index: InventoryIndex,
  walks: readonly { readonly node: NodeName; readonly walked: Walk }[],
): ReadonlyMap<ProvisionName, Offers> {
  const offers = new Map<ProvisionName, Map<NodeName, ModuleName[]>>();
  for (const { node, walked } of walks)
    for (const { module } of walked.modules)
      for (const provided of index.modules.get(module)?.manifest.provides ?? []) {
        if (provided.scope !== 'mesh') continue;
        const byNode = offers.get(provided.name) ?? new Map<NodeName, ModuleName[]>();
        offers.set(provided.name, byNode.set(node, [...(byNode.get(node) ?? []), module]));
      }
  return offers;
}

const noOffers: Offers = new Map();

function resolveNode(
  index: InventoryIndex,
  offers: ReadonlyMap<ProvisionName, Offers>,
  node: NodeName,
  walked: Walk,
): ResolvedNode | UnresolvableNode {
  const refusals: Refusal[] = [...walked.refusals];
  const bindings: Binding[] = [];
  for (const { module, provision } of walked.asks) {
    const consumer = { node, module };
    const offered = offers.get(provision) ?? noOffers;
    const bound = index.bound(consumer, provision);
    const answer = bind({
      consumer,
      provision,
      offers: offered,
      bound,
      pin: index.pin(node, provision),
      couldProvide: index.meshProviders.get(provision) ?? [],
    });
    if (!isRefusal(answer)) bindings.push({ consumer, provision, provider: answer });
    else {
      refusals.push(answer);
      // It keeps the access it has: taking that away would be this node's failure breaking a running program.
      if (bound !== undefined && offersIt(offered, bound)) bindings.push({ consumer, provision, provider: bound });
    }
  }
  const needs = fanOut(index, bindings);
  refusals.push(...needs.flatMap((need) => ungranted(index, need)));
  if (refusals.length > 0) return { kind: 'unresolvable', node, refusals, bindings, needs };
  return { kind: 'resolved', node, modules: walked.modules, bindings, needs, holds: holdsOf(index, node, walked) };
}

/** M7: the one place where credentials come from: one need per provision, consumer module and local. */
function fanOut(index: InventoryIndex, bindings: readonly Binding[]): readonly Need[] {
  return bindings.flatMap(({ consumer, provision, provider }) =>
    (index.modules.get(consumer.module)?.manifest.secrets ?? [])
      .filter((delivery) => delivery.requirement === provision)
      .map(({ local, file, as, owner }) => ({
        key: {
          provision,
          providerNode: provider.node,
          providerModule: provider.module,
          consumerNode: consumer.node,
          consumerModule: consumer.module,
          ...(local === undefined ? {} : { local }),
        },
        form: as,
        file,
        ...(owner === undefined ? {} : { owner }),
      })),
  );
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

function holdsOf(index: InventoryIndex, node: NodeName, walked: Walk): readonly Hold[] {
  return walked.modules.flatMap(({ module }) =>
    (index.modules.get(module)?.manifest.holds ?? []).map(({ name, file, owner }) => ({
      key: { node, module, name },
      file,
      ...(owner === undefined ? {} : { owner }),
    })),
  );
}

function askedOf(nodes: Iterable<ResolvedNode | UnresolvableNode>): ReadonlyMap<NodeName, readonly Need[]> {
  const asked = new Map<NodeName, Need[]>();
  for (const node of nodes)
    for (const need of node.needs) {
      const there = asked.get(need.key.providerNode);
      if (there === undefined) asked.set(need.key.providerNode, [need]);
      else there.push(need);
    }
  return new Map(
    [...asked].map(([node, needs]) => [node, needs.toSorted((a, b) => (pairPath(a.key) < pairPath(b.key) ? -1 : 1))]),
  );
}
