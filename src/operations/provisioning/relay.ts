/** What the mirrors are made from, in one snapshot, and which events it has seen: those the bus need not be told of again. */
import type { RouteLabel } from '../../domain/provisioning/mesh-routes.ts';
import type { Inventory } from '../../domain/resolution/inventory.ts';
import type { NodeName } from '../../domain/words/names.ts';
import type { InventoryReads } from '../ports/declaration-rows.ts';
import type { IntentReads, ModuleReads, ModuleRow, SettingRow } from '../ports/module-rows.ts';
import type { BuildReads, BuildRow, RelayReads, RelayRows } from '../ports/provisioner-rows.ts';
import type { RouteReads } from '../ports/route-rows.ts';
import { controller, type EventRows, type MarkReads, type NewEvent, type Reads, type Writes } from '../ports/work.ts';

export type MirrorSnapshot = {
  readonly inventory: Inventory;
  readonly settings: readonly SettingRow[];
  readonly publicDomains: ReadonlyMap<NodeName, string>;
  readonly labels: readonly RouteLabel[];
  readonly builds: readonly BuildRow[];
  readonly modules: readonly ModuleRow[];
  /** Ids of the events that this snapshot has seen and the bus has not heard of. */
  readonly unrelayed: readonly number[];
  /** Another text after anything was written. */
  readonly mark: string;
};
type View = InventoryReads &
  Pick<IntentReads, 'settingRows'> &
  RouteReads &
  BuildReads &
  Pick<ModuleReads, 'moduleRows'> &
  RelayReads &
  MarkReads;

/** The records behind the mirrors, over a store. */
export function relayRecords(store: Reads<View> & Writes<RelayRows & EventRows>) {
  return {
    snapshot: (): Promise<MirrorSnapshot> =>
      store.read(async (view) => {
        const [mark, unrelayed, inventory, settings, publicDomains, labels, builds, modules] = await Promise.all([
          view.mark(),
          view.unrelayedEvents(),
          view.inventory(),
          view.settingRows(),
          view.publicDomains(),
          view.routeLabels(),
          view.buildRows(),
          view.moduleRows(),
        ]);
        const ids = unrelayed.map(({ id }) => id);
        return { mark, unrelayed: ids, inventory, settings, publicDomains, labels, builds, modules };
      }),

    mark: (): Promise<string> => store.read((view) => view.mark()),

    /** These are on the bus now. */
    relayed: (ids: readonly number[]): Promise<void> =>
      ids.length === 0 ? Promise.resolve() : store.write(controller, (tx) => tx.setRelayed(ids)),

    say: (event: NewEvent): Promise<void> => store.write(controller, (tx) => tx.event(event)),
  };
}
export type RelayRecords = ReturnType<typeof relayRecords>;
