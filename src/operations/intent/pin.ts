import { pinRefusal } from '../../domain/assignment/pin-refusal.ts';
import { isRefusal, type Refusal } from '../../domain/refusal/refusal.ts';
import { indexOf } from '../../domain/resolution/inventory-index.ts';
import type { BindingRow, Pin } from '../../domain/resolution/inventory.ts';
import { resolve } from '../../domain/resolution/resolve.ts';
import type { NodeName, ProvisionName } from '../../domain/words/names.ts';
import { unknownNode } from '../node/invite-node.ts';
import type { InventoryReads } from '../ports/declaration-rows.ts';
import type { IntentRows } from '../ports/module-rows.ts';
import type { EventRows, Writes } from '../ports/work.ts';
import { brokenBy } from './broken-by.ts';
import { heldIn, record, settle } from './settle.ts';

type Tx = InventoryReads & IntentRows & EventRows;

export type Pinned = {
  readonly pin: Pin;
  readonly change: 'pinned' | 'same';
  /** Bindings of the node that go elsewhere from now on; their data does not move along. */
  readonly moved: readonly BindingRow[];
};

/**
 * Says where a node takes a provision from (M4): an order, never a preference. The one thing that moves a binding. Refusals:
 * `unknown-node`, `pin-at-nothing`, `ambiguous-provider`, and whatever could not be resolved any more.
 */
export function pin(store: Writes<Tx>, person: string, wanted: Pin): Promise<Pinned | Refusal> {
  const { node, provision, provider } = wanted;
  return store.write(
    person,
    async (tx): Promise<Pinned | Refusal> => {
      const before = await tx.inventory();
      const refusal = pinRefusal(before, wanted);
      if (refusal !== undefined) return refusal;
      const known = indexOf(before).pin(node, provision);
      if (known?.provider.node === provider.node && known.provider.module === provider.module)
        return { pin: known, change: 'same', moved: [] };

      const others = before.pins.filter((one) => one.node !== node || one.provision !== provision);
      const inventory = { ...before, pins: [...others, wanted] };
      const resolution = resolve(inventory);
      const broken = brokenBy(resolve(before), resolution, node);
      if (broken !== undefined) return broken;
      const settlement = settle({ inventory, resolution, ...(await heldIn(tx)), nodes: [node] });
      if (isRefusal(settlement)) return settlement;

      await tx.putPin(wanted);
      await record(tx, settlement);
      const moved = settlement.bindings.added.filter((row) => row.node === node && row.provision === provision);
      await tx.event({ kind: 'pinned', about: `${node}/${provision}`, detail: { provider: placeOf(provider) } });
      return { pin: wanted, change: 'pinned', moved };
    },
    'serializable',
  );
}

/** Takes a pin away; bindings stay where they are. Refusals: `unknown-node`, `unknown-pin`. */
export function unpin(
  store: Writes<Tx>,
  person: string,
  { node, provision }: { readonly node: NodeName; readonly provision: ProvisionName },
): Promise<Pin | Refusal> {
  return store.write(
    person,
    async (tx): Promise<Pin | Refusal> => {
      if (!indexOf(await tx.inventory()).nodes.has(node)) return unknownNode(node);
      const gone = await tx.deletePin(node, provision);
      if (gone === undefined) return unknownPin(node, provision);
      await tx.event({ kind: 'unpinned', about: `${node}/${provision}`, detail: { provider: placeOf(gone.provider) } });
      return gone;
    },
    'serializable',
  );
}

const placeOf = ({ node, module }: Pin['provider']): string => (module === undefined ? node : `${node}/${module}`);

function unknownPin(node: NodeName, provision: ProvisionName): Refusal {
  return {
    kind: 'unknown-pin',
    what: `${node} is not pinned for ${provision}`,
    why: 'there is nothing to take away',
    next: [`mesh node show ${node}`],
    facts: { node, provision },
  };
}
