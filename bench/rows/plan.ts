/** Planning: resolve, compose, digest. Pure, so that nothing but the processor is measured. */
import { compose } from '../../src/domain/declaration/compose.ts';
import type { Inventory } from '../../src/domain/resolution/inventory.ts';
import { inventoryOf, recordsOf } from '../../src/domain/resolution/node-record.ts';
import { resolve } from '../../src/domain/resolution/resolve.ts';
import { present } from '../../src/domain/words/invariant.ts';
import { nodeName } from '../../src/domain/words/names.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { floorText, sha, type FloorModule, type FloorNode } from '../floor/plan.ts';
import { alternately, loadNow } from '../measure.ts';
import { atMost, type Row } from '../table.ts';
import { nodeAt, wideMesh } from '../wide-mesh.ts';

/** The same mesh as the floor's own values. */
export function floorMesh(inventory: Inventory): { catalogue: readonly FloorModule[]; nodes: readonly FloorNode[] } {
  const each = inventory.modules.length;
  return {
    catalogue: inventory.modules.map(({ manifest }) => floorModule(manifest)),
    nodes: inventory.nodes.map(({ name, address }, at) => ({
      node: name,
      address,
      ports: inventory.ports.slice(at * each, (at + 1) * each).map(({ port }) => port),
    })),
  };
}

export function floorModule(manifest: Inventory['modules'][number]['manifest']): FloorModule {
  const [directory, file, process] = manifest.resources;
  if (directory?.kind !== 'directory' || file?.kind !== 'file' || process?.kind !== 'process')
    throw new Error(`${manifest.module} is not as the floor knows it`);
  return {
    name: manifest.module,
    provides: manifest.provides.map(({ name }) => name),
    needs: manifest.requires,
    directory: directory.path,
    file: { path: file.path, mode: file.mode ?? '', content: file.content ?? '' },
    process: { name: process.name, command: process.command },
  };
}

/** Every node's digest, as plan, push and status come to it. */
export function digestsOf(inventory: Inventory): readonly string[] {
  const resolution = resolve(inventory);
  return inventory.nodes.map(({ name }) => {
    const composed = compose({ inventory, resolution, node: name, hash: sha256Hex });
    if (composed.kind === 'unresolvable') throw new Error(JSON.stringify(composed.refusals));
    return composed.digest;
  });
}

export async function planRows(): Promise<readonly Row[]> {
  const thousand = planning(1_000);
  const small = { ...(await alternately(thousand, { rounds: 11 })), load: loadNow() };
  const one = {
    ...(await alternately({ floor: thousand.product, product: changedOnce() }, { rounds: 7 })),
    load: loadNow(),
  };
  const both = { floor: thousand.product, product: planning(5_000).product };
  const large = { ...(await alternately(both, { rounds: 5 })), load: loadNow() };
  return [
    row('plan 1,000 nodes × 20 modules', small, atMost(2, small)),
    row('plan again, one value of one node changed; floor: the whole plan', one, {
      says: '≤ 5% of the whole',
      met: one.product.p50 <= 0.05 * one.floor.p50,
    }),
    row('plan 5,000 × 20; floor: the product with 1,000', large, atMost(5.5, large)),
  ];
}

/**
 * A plan of a mesh of which another plan was just made, with one port of one node changed since: as the store reads it again, which
 * gives the nodes of which nothing changed as they were.
 */
function changedOnce(): () => void {
  const { modules, ...lists } = wideMesh(1_000, 20);
  let records = recordsOf({ modules, ...lists });
  let round = 0;
  return () => {
    round += 1;
    const name = nodeName.parse(nodeAt(round));
    const before = present(records.get(name), 'the node that changes');
    const ports = before.ports.map((one, at) => (at === 0 ? { ...one, port: 29_000 + round } : one));
    records = new Map([...records, [name, { ...before, ports }]]);
    digestsOf(inventoryOf(modules, records));
  };
}

/** Planning so many nodes, by hand and by the product; both come to the same digests. */
function planning(count: number) {
  const inventory = wideMesh(count, 20);
  const { catalogue, nodes } = floorMesh(inventory);
  const byHand = (): readonly string[] => nodes.map((node) => `sha256:${sha(floorText(catalogue, node))}`);
  const [ours, theirs] = [digestsOf(inventory), byHand()];
  if (ours.some((digest, at) => digest !== theirs[at])) throw new Error('floor and product do not compose the same');
  return {
    floor: () => void byHand(),
    // A snapshot is a new value each time: nothing may be remembered of the last one.
    product: () => void digestsOf({ ...inventory }),
  };
}

function row(work: string, measured: Omit<Row, 'work' | 'unit' | 'target'>, target: Row['target']): Row {
  return { work, unit: 'ms', ...measured, ...(target && { target }) };
}
