import { capabilityRefusal } from '../../domain/assignment/capability-refusal.ts';
import { nothingToRun } from '../../domain/assignment/nothing-to-run.ts';
import { isRefusal, type Refusal } from '../../domain/refusal/refusal.ts';
import { indexOf } from '../../domain/resolution/inventory-index.ts';
import type { BindingRow, Inventory, PortRow } from '../../domain/resolution/inventory.ts';
import { resolve } from '../../domain/resolution/resolve.ts';
import type { ModuleName, NodeName, Placed } from '../../domain/words/names.ts';
import { unknownModule } from '../module/list-modules.ts';
import { unknownNode } from '../node/invite-node.ts';
import type { InventoryReads } from '../ports/declaration-rows.ts';
import type { IntentRows } from '../ports/module-rows.ts';
import type { RouteReads } from '../ports/route-rows.ts';
import type { EventRows, Writes } from '../ports/work.ts';
import { brokenBy } from './broken-by.ts';
import { routeHeldBy } from './route-held.ts';
import { heldIn, modulesOn, record, settle } from './settle.ts';

export type Assigned = Placed & {
  /** same: it was assigned already, also when somebody else did it a moment ago (M22). */
  readonly change: 'assigned' | 'same';
  /** Modules that came along because it requires something of the node (M2). */
  readonly broughtAlong: readonly ModuleName[];
  /** The module's ports on the machine, and those of what came along. */
  readonly ports: readonly PortRow[];
  /** What they take from which provider. */
  readonly bindings: readonly BindingRow[];
};

/**
 * Puts a module on a node (M2, M11–M13, M17–M19), in one transaction: the row, ports, claims, bindings and the event, for the
 * module and for what it brings along. Raced by another, it looks again (M22). Refusals: `unknown-node`, `unknown-module`,
 * `nothing-to-run`, `capability-missing`, whatever could not be resolved any more, `route-held` (M26), `claim-held`, `port-held`, `port-carried`,
 * `ports-exhausted`; nothing is written then.
 */
export function assign(
  store: Writes<InventoryReads & IntentRows & RouteReads & EventRows>,
  person: string,
  placed: Placed,
): Promise<Assigned | Refusal> {
  return store.write(person, async (tx) => assignIn(tx, placed), 'serializable');
}

async function assignIn(
  tx: InventoryReads & IntentRows & RouteReads & EventRows,
  { node, module }: Placed,
): Promise<Assigned | Refusal> {
  const before = await tx.inventory();
  if (!indexOf(before).nodes.has(node)) return unknownNode(node);
  if (!indexOf(before).modules.has(module)) return unknownModule(module);
  if (indexOf(before).assigned.get(node)?.includes(module) === true) return asItIs(before, { node, module });

  const inventory = { ...before, assignments: [...before.assignments, { node, module }] };
  const unfit = unfitFor(before, inventory, node);
  if (unfit !== undefined) return unfit;
  const resolution = resolve(inventory);
  const broken = brokenBy(resolve(before), resolution, node);
  if (broken !== undefined) return broken;
  const held = await routeHeldBy(tx, before, { inventory });
  if (held !== undefined) return held;
  const settlement = settle({ inventory, resolution, ...(await heldIn(tx)), nodes: [node] });
  if (isRefusal(settlement)) return settlement;

  await tx.insertAssignment({ node, module });
  await record(tx, settlement);
  const broughtAlong = cameAlong(before, inventory, { node, module });
  const { added: ports } = settlement.ports;
  const bindings = settlement.bindings.added.filter((row) => row.node === node);
  await tx.event({
    kind: 'assigned',
    about: `${node}/${module}`,
    detail: {
      ...(broughtAlong.length > 0 && { broughtAlong }),
      ...(ports.length > 0 && {
        ports: ports.map((row) => `${row.module} ${row.listens} ${row.protocol} ${row.port}`),
      }),
      ...(bindings.length > 0 && {
        bindings: bindings.map((row) => `${row.module} ${row.provision} ${row.provider.node}/${row.provider.module}`),
      }),
    },
  });
  return { node, module, change: 'assigned', broughtAlong, ports, bindings };
}

/** What the node cannot do of all that would be new on it (M11), or has nothing to run (M12). */
function unfitFor(before: Inventory, after: Inventory, node: NodeName): Refusal | undefined {
  const { nodes, modules } = indexOf(after);
  const facts = nodes.get(node);
  const was = new Set(modulesOn(before, node));
  const fresh = modulesOn(after, node).filter((module) => !was.has(module));
  for (const manifest of fresh.flatMap((module) => modules.get(module)?.manifest ?? [])) {
    const refusal = nothingToRun(manifest) ?? (facts && capabilityRefusal(facts, manifest));
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}

function cameAlong(before: Inventory, after: Inventory, { node, module }: Placed): readonly ModuleName[] {
  const was = new Set([...modulesOn(before, node), module]);
  return modulesOn(after, node).filter((one) => !was.has(one));
}

function asItIs({ ports, bindings }: Inventory, { node, module }: Placed): Assigned {
  const isIts = (row: Placed): boolean => row.node === node && row.module === module;
  return {
    node,
    module,
    change: 'same',
    broughtAlong: [],
    ports: ports.filter(isIts),
    bindings: bindings.filter(isIts),
  };
}
