import { mayUnassign } from '../../domain/assignment/may-unassign.ts';
import { isRefusal, type Refusal } from '../../domain/refusal/refusal.ts';
import { indexOf } from '../../domain/resolution/inventory-index.ts';
import type { PortRow } from '../../domain/resolution/inventory.ts';
import { resolve } from '../../domain/resolution/resolve.ts';
import type { ModuleName, Placed } from '../../domain/words/names.ts';
import { unknownNode } from '../node/invite-node.ts';
import type { InventoryReads } from '../ports/declaration-rows.ts';
import type { ClaimRow, IntentRows } from '../ports/module-rows.ts';
import type { EventRows, Writes } from '../ports/work.ts';
import { brokenBy } from './broken-by.ts';
import { heldIn, modulesOn, record, settle } from './settle.ts';

export type Unassigned = Placed & {
  /** What left the node: the module, unless another one there requires it, and what only it required. */
  readonly left: readonly ModuleName[];
  readonly releasedPorts: readonly PortRow[];
  readonly releasedClaims: readonly ClaimRow[];
};

/**
 * Takes a module off a node (M14), in one transaction: its row, ports, claims and bindings go, and those of what only it
 * required. Sealed secrets stay, so that it gets the same ones if it comes back. Refusals: `unknown-node`, `unknown-assignment`,
 * `provider-in-use` naming the bindings and pins (M4), and whatever could not be resolved any more.
 */
export function unassign(
  store: Writes<InventoryReads & IntentRows & EventRows>,
  person: string,
  { node, module }: Placed,
): Promise<Unassigned | Refusal> {
  return store.write(
    person,
    async (tx): Promise<Unassigned | Refusal> => {
      const before = await tx.inventory();
      if (!indexOf(before).nodes.has(node)) return unknownNode(node);
      if (indexOf(before).assigned.get(node)?.includes(module) !== true) return unknownAssignment({ node, module });
      const inUse = mayUnassign(before, { node, module });
      if (inUse !== undefined) return inUse;

      const assignments = before.assignments.filter((one) => one.node !== node || one.module !== module);
      const inventory = { ...before, assignments };
      const resolution = resolve(inventory);
      const broken = brokenBy(resolve(before), resolution, node);
      if (broken !== undefined) return broken;
      const settlement = settle({ inventory, resolution, ...(await heldIn(tx)), nodes: [node] });
      if (isRefusal(settlement)) return settlement;

      await tx.deleteAssignment({ node, module });
      await record(tx, settlement);
      const stay = new Set(modulesOn(inventory, node));
      const left = modulesOn(before, node).filter((one) => !stay.has(one));
      await tx.event({ kind: 'unassigned', about: `${node}/${module}`, detail: { left } });
      return { node, module, left, releasedPorts: settlement.ports.dropped, releasedClaims: settlement.claims.dropped };
    },
    'serializable',
  );
}

function unknownAssignment({ node, module }: Placed): Refusal {
  return {
    kind: 'unknown-assignment',
    what: `${module} is not assigned to ${node}`,
    why: 'only what a person assigned can be unassigned; what came along goes with what requires it',
    next: [`mesh node show ${node}`, `mesh plan ${node}`],
    facts: { node, module },
  };
}
