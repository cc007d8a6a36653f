import { refuseUnbuilt } from '../../domain/manifest/unbuilt.ts';
import { isRefusal, type Refusal } from '../../domain/refusal/refusal.ts';
import type { Inventory } from '../../domain/resolution/inventory.ts';
import { resolve } from '../../domain/resolution/resolve.ts';
import type { ModuleName, NodeName } from '../../domain/words/names.ts';
import { routeHeldBy } from '../intent/route-held.ts';
import { heldIn, modulesOn, record, settle } from '../intent/settle.ts';
import type { InventoryReads } from '../ports/declaration-rows.ts';
import type { IntentRows, ModuleRows, NewModule } from '../ports/module-rows.ts';
import type { RouteReads } from '../ports/route-rows.ts';
import type { EventRows, Writes } from '../ports/work.ts';

export type AddedModule = {
  readonly module: ModuleName;
  readonly version: string;
  readonly digest: string;
  readonly change: 'added' | 'changed' | 'same';
  /** The nodes it runs on: what a push would now change. */
  readonly nodes: readonly NodeName[];
};

/**
 * Adds a module to the catalogue, or changes the one of that name (M15): settings, secrets, ports and assignments stay where they
 * were, and where it runs it gets the ports and claims that are new in its manifest. Refused as `not-built-yet` or
 * `placeholder-unfilled` for what this mesh cannot do, and when a new claim, fixed port or routed name (M26) of it is held on a node it runs on.
 * A node that it can no longer be resolved on is not refused here: `plan` says why (D5).
 */
export function addModule(
  store: Writes<InventoryReads & ModuleRows & IntentRows & RouteReads & EventRows>,
  person: string,
  added: NewModule,
): Promise<AddedModule | Refusal> {
  const { module, version } = added.manifest;
  const { digest } = added;
  return store.write(
    person,
    async (tx): Promise<AddedModule | Refusal> => {
      const before = await tx.inventory();
      const answered = before.modules.flatMap(({ manifest }) => manifest.answers.map(({ kind }) => kind));
      const unbuilt = refuseUnbuilt(added.manifest, added.files, answered);
      if (unbuilt !== undefined) return unbuilt;
      const inventory = { ...before, modules: withModule(before.modules, added) };
      const nodes = nodesWith(before, inventory, module);
      const known = (await tx.moduleRows()).find((row) => row.module === module);
      if (known?.digest === digest && known.version === version)
        return { module, version, digest, change: 'same', nodes };

      const held = await routeHeldBy(tx, before, { inventory });
      if (held !== undefined) return held;
      const settlement = settle({ inventory, resolution: resolve(inventory), ...(await heldIn(tx)), nodes });
      if (isRefusal(settlement)) return settlement;
      await tx.putModule(added);
      await record(tx, settlement);
      const change = known === undefined ? 'added' : 'changed';
      await tx.event({ kind: `module-${change}`, about: module, detail: { version, digest } });
      return { module, version, digest, change, nodes };
    },
    'serializable',
  );
}

function withModule(modules: Inventory['modules'], { manifest, files }: NewModule): Inventory['modules'] {
  return [...modules.filter((one) => one.manifest.module !== manifest.module), { manifest, files }];
}

/** Nodes on which the module runs, or comes to run because another there requires what it now provides. */
function nodesWith(before: Inventory, after: Inventory, module: ModuleName): readonly NodeName[] {
  return after.nodes
    .map(({ name }) => name)
    .filter((node) => modulesOn(before, node).includes(module) || modulesOn(after, node).includes(module));
}
