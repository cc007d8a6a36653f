/**
 * Facts of bindings that are no more go from their provider's bucket. Its program took them away where it still might; it loses
 * its right to a key with the binding, and may be gone itself.
 */
import { isOfNodes } from '../../domain/provisioning/mirrors.ts';
import { boundBucket } from '../../domain/provisioning/values.ts';
import type { Inventory } from '../../domain/resolution/inventory.ts';
import { keysOfBindings } from '../../operations/provisioning/bound-keys.ts';
import { meshProviders } from '../../operations/provisioning/program-bindings.ts';
import type { MirrorBus } from './mirrors.ts';

/**
 * Answers what takes them away, to be called with each inventory once the programs' accounts are as it says: then nobody puts them
 * there again. A bucket is read when its bindings are others than before, and once in the beginning. What is there of a node that
 * cannot be resolved stays (D5). Throws what the bus throws; the next call goes on.
 */
export function takingFactsAway(bus: Pick<MirrorBus, 'read' | 'delete'>): (inventory: Inventory) => Promise<void> {
  const done = new Map<string, string>();
  return async (inventory) => {
    const { keys, unresolvable } = keysOfBindings(inventory);
    const isKept = isOfNodes(unresolvable);
    for (const provider of meshProviders(inventory)) {
      const bound = keys.get(provider) ?? new Set<string>();
      const about = [...bound, ...unresolvable].toSorted().join(' ');
      if (done.get(provider) === about) continue;
      const bucket = boundBucket(provider);
      const { entries } = await bus.read(bucket);
      for (const key of entries.keys()) if (!bound.has(key) && !isKept(key)) await bus.delete(bucket, key);
      done.set(provider, about);
    }
  };
}
