/** Which nodes read what: whom to tell when a key of a bucket moved. */
import { encodeToken } from '../../domain/provisioning/keys.ts';
import { composition } from '../../domain/provisioning/values.ts';
import { resolve } from '../../domain/resolution/resolve.ts';
import type { Inventory } from '../../domain/resolution/inventory.ts';
import type { NodeName } from '../../domain/words/names.ts';

export type Concerned = {
  readonly nodes: readonly NodeName[];
  /** Module → the nodes that it runs on. */
  readonly running: ReadonlyMap<string, readonly NodeName[]>;
  /** Collection, as one token of a key → the nodes that a module runs on which collects it. */
  readonly collecting: ReadonlyMap<string, readonly NodeName[]>;
};

/** `compositions`: the mirror, as it is written. */
export function concerned(inventory: Inventory, compositions: ReadonlyMap<string, string>): Concerned {
  const running = new Map<string, NodeName[]>();
  for (const node of resolve(inventory).nodes.values())
    if (node.kind === 'resolved') for (const { module } of node.modules) add(running, module, node.node);
  const collecting = new Map<string, NodeName[]>();
  for (const [key, text] of compositions) {
    const read = composition.safeParse(JSON.parse(text));
    for (const collection of read.data?.collects ?? [])
      for (const node of running.get(key) ?? []) add(collecting, encodeToken(collection), node);
  }
  return { nodes: inventory.nodes.map(({ name }) => name), running, collecting };
}

function add(to: Map<string, NodeName[]>, name: string, node: NodeName): void {
  const there = to.get(name) ?? [];
  if (!there.includes(node)) to.set(name, [...there, node]);
}
