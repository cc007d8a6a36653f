/**
 * The walk of one node: from what is assigned to all that runs there, because a node-scoped requirement is answered by
 * installing its provider (M2). It learns what the node offers and what it asks of others; it declares nothing (M5).
 */
import type { Refusal } from '../refusal/refusal.ts';
import type { ModuleName, NodeName, ProvisionName } from '../words/names.ts';
import type { Catalogue } from './catalogue.ts';
import { circlesIn, type Circle } from './cycles.ts';
import type { InventoryIndex } from './inventory-index.ts';
import type { NodeRecord } from './node-record.ts';

/** Why a module is on a node: a person assigned it, or a module there needs a provision of it. */
export type Why =
  | { readonly kind: 'assigned' }
  | { readonly kind: 'required'; readonly by: ModuleName; readonly provision: ProvisionName };
export type ResolvedModule = { readonly module: ModuleName; readonly why: readonly Why[] };

export type Walk = {
  /** Sorted by name. */
  readonly modules: readonly ResolvedModule[];
  /** Requirements that only another node's (or this node's) mesh-scoped provider can answer. */
  readonly asks: readonly { readonly module: ModuleName; readonly provision: ProvisionName }[];
  /** What it provides to the whole mesh. */
  readonly offers: readonly { readonly module: ModuleName; readonly provision: ProvisionName }[];
  readonly refusals: readonly Refusal[];
};

type Answer = 'mesh' | { readonly local: ModuleName } | { readonly candidates: readonly ModuleName[] };

// A walk reads the node's own record and the catalogue: of the same two it is the same walk.
const walks = new WeakMap<Catalogue, WeakMap<NodeRecord, Walk>>();

/** Walks one node. Refusals: `unknown-module`, `ambiguous-local-provider`, `provider-cycle`. */
export function walk(index: InventoryIndex, node: NodeName): Walk {
  const record = index.record(node);
  if (record === undefined) return walkAnew(index, node);
  const ofCatalogue = walks.get(index.catalogue) ?? new WeakMap<NodeRecord, Walk>();
  walks.set(index.catalogue, ofCatalogue);
  const known = ofCatalogue.get(record);
  if (known !== undefined) return known;
  const walked = walkAnew(index, node);
  ofCatalogue.set(record, walked);
  return walked;
}

function walkAnew(index: InventoryIndex, node: NodeName): Walk {
  const assigned = index.assigned.get(node) ?? [];
  const placed = closureOf(index, node, assigned);
  const why = new Map<ModuleName, Why[]>([...placed].map((module) => [module, []]));
  for (const module of assigned) why.get(module)?.push({ kind: 'assigned' });
  const asks: { module: ModuleName; provision: ProvisionName }[] = [];
  const offers: { module: ModuleName; provision: ProvisionName }[] = [];
  const refusals: Refusal[] = [];
  const edges = new Map<ModuleName, { to: ModuleName; provision: ProvisionName }[]>();
  for (const module of placed) {
    const known = index.modules.get(module);
    if (known === undefined) refusals.push(unknown(node, module));
    for (const { name, scope } of known?.manifest.provides ?? [])
      if (scope === 'mesh') offers.push({ module, provision: name });
    for (const provision of known?.manifest.requires ?? []) {
      const answer = answerOf(index, { node, module }, provision, placed);
      if (answer === 'mesh') asks.push({ module, provision });
      else if ('candidates' in answer) refusals.push(ambiguous(node, module, provision, answer.candidates, index));
      else {
        why.get(answer.local)?.push({ kind: 'required', by: module, provision });
        edges.set(module, [...(edges.get(module) ?? []), { to: answer.local, provision }]);
      }
    }
  }
  refusals.push(...circlesIn(placed, edges).map((circle) => cycle(node, circle)));
  const modules = [...placed].map((module) => ({ module, why: why.get(module) ?? [] }));
  return { modules, asks, offers, refusals };
}

/**
 * All modules that end up on the node, sorted. Only a requirement with a single possible answer installs anything, so the
 * set does not depend on the order in which requirements are looked at.
 */
function closureOf(index: InventoryIndex, node: NodeName, assigned: readonly ModuleName[]): ReadonlySet<ModuleName> {
  const placed = new Set(assigned);
  for (const module of placed)
    for (const provision of index.modules.get(module)?.manifest.requires ?? []) {
      const [only, second] = index.localProviders.get(provision) ?? [];
      if (only === undefined || second !== undefined) continue;
      if (answeredByMesh(index, { node, module }, provision) || index.meshProviders.has(provision)) continue;
      placed.add(only);
    }
  return new Set([...placed].toSorted());
}

/** A pin, or a binding that was made, is to another node's provider: a module added to the catalogue later does not move it (M4). */
function answeredByMesh(
  index: InventoryIndex,
  at: { node: NodeName; module: ModuleName },
  provision: ProvisionName,
): boolean {
  return index.pin(at.node, provision) !== undefined || index.bound(at, provision) !== undefined;
}

function answerOf(
  index: InventoryIndex,
  at: { node: NodeName; module: ModuleName },
  provision: ProvisionName,
  placed: ReadonlySet<ModuleName>,
): Answer {
  const local = index.localProviders.get(provision) ?? [];
  if (local.length === 0 || answeredByMesh(index, at, provision)) return 'mesh';
  const here = local.filter((module) => placed.has(module));
  const [only, second] = here;
  if (only !== undefined && second === undefined) return { local: only };
  return { candidates: here.length > 0 ? here : [...local, ...(index.meshProviders.get(provision) ?? [])] };
}

function unknown(node: NodeName, module: ModuleName): Refusal {
  return {
    kind: 'unknown-module',
    what: `${module} is assigned to ${node} and is not in the catalogue`,
    why: 'what it needs and holds is not known',
    next: [`mesh module add <folder of ${module}>`, `mesh unassign ${node} ${module}`],
    facts: { node, module },
  };
}

function ambiguous(
  node: NodeName,
  module: ModuleName,
  provision: ProvisionName,
  candidates: readonly ModuleName[],
  index: InventoryIndex,
): Refusal {
  const assigned = index.assigned.get(node) ?? [];
  const here = candidates.filter((one) => assigned.includes(one));
  return {
    kind: 'ambiguous-local-provider',
    what: `${module} on ${node} requires ${provision}, and ${candidates.join(' and ')} could answer it`,
    why: 'which one a node gets is not chosen in silence',
    next:
      here.length > 1
        ? here.map((one) => `mesh unassign ${node} ${one}`)
        : candidates
            .filter((one) => index.localProviders.get(provision)?.includes(one))
            .map((one) => `mesh assign ${node} ${one}`),
    facts: { node, module, provision, candidates },
  };
}

function cycle(node: NodeName, { modules, steps }: Circle): Refusal {
  return {
    kind: 'provider-cycle',
    what: `on ${node}, ${steps.join(', and ')}`,
    why: 'modules of one node that need each other in a circle have no order in which they could be set up',
    next: [`take one of these requirements out: ${steps.join('; ')}`],
    facts: { node, modules },
  };
}
