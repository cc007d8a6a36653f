/**
 * What one composition was made of, written down as it is read: a composition is good as long as each of these is the same value
 * in the inventory of now. Whatever emits resources reads the world through `Emitting` alone, and so nothing is forgotten here.
 */
import { indexOver, type InventoryIndex, type Lookup } from '../resolution/inventory-index.ts';
import type { NodeRecord } from '../resolution/node-record.ts';
import type { Need, ResolvedNode, UnresolvableNode } from '../resolution/resolve.ts';
import type { NodeName } from '../words/names.ts';

/** What may be asked of a resolution while composing: of one node at a time. */
export type ResolutionLookup = {
  readonly nodes: Pick<Lookup<NodeName, ResolvedNode | UnresolvableNode>, 'get'>;
  readonly asked: Pick<Lookup<NodeName, readonly Need[]>, 'get'>;
};
export type World = { readonly index: InventoryIndex; readonly resolution: ResolutionLookup };

/** Node → what was read of it; the catalogue is one value, and counts as read. */
export type Reads = {
  readonly catalogue: InventoryIndex['catalogue'];
  readonly records: ReadonlyMap<NodeName, NodeRecord | undefined>;
  readonly resolved: ReadonlyMap<NodeName, ResolvedNode | UnresolvableNode | undefined>;
  readonly asked: ReadonlyMap<NodeName, readonly Need[] | undefined>;
};

/** The same world, and what is read of it from now on. */
export function watching({ index, resolution }: World): { readonly world: World; readonly reads: Reads } {
  const records = new Map<NodeName, NodeRecord | undefined>();
  const resolved = new Map<NodeName, ResolvedNode | UnresolvableNode | undefined>();
  const asked = new Map<NodeName, readonly Need[] | undefined>();
  const world = {
    index: indexOver(index.catalogue, noted(records, index.record)),
    resolution: {
      nodes: { get: noted(resolved, (node) => resolution.nodes.get(node)) },
      asked: { get: noted(asked, (node) => resolution.asked.get(node)) },
    },
  };
  return { world, reads: { catalogue: index.catalogue, records, resolved, asked } };
}

/** Whether all that was read is the same in this world. */
export function areStill({ catalogue, records, resolved, asked }: Reads, { index, resolution }: World): boolean {
  return (
    catalogue === index.catalogue &&
    isEach(records, index.record) &&
    isEach(resolved, (node) => resolution.nodes.get(node)) &&
    isEach(asked, (node) => resolution.asked.get(node))
  );
}

function noted<Value>(reads: Map<NodeName, Value>, read: (node: NodeName) => Value): (node: NodeName) => Value {
  return (node) => {
    const value = read(node);
    reads.set(node, value);
    return value;
  };
}

function isEach<Value>(reads: ReadonlyMap<NodeName, Value>, read: (node: NodeName) => Value): boolean {
  for (const [node, value] of reads) if (read(node) !== value) return false;
  return true;
}
