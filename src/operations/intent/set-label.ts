import type { Manifest } from '../../domain/manifest/manifest.ts';
import type { RouteLabel } from '../../domain/provisioning/mesh-routes.ts';
import type { Refusal } from '../../domain/refusal/refusal.ts';
import { indexOf } from '../../domain/resolution/inventory-index.ts';
import type { NodeName, PartName, Placed } from '../../domain/words/names.ts';
import { unknownModule } from '../module/list-modules.ts';
import { unknownNode } from '../node/invite-node.ts';
import type { InventoryReads } from '../ports/declaration-rows.ts';
import type { RouteReads, RouteRows } from '../ports/route-rows.ts';
import type { EventRows, Reads, Writes } from '../ports/work.ts';
import { routeHeldBy } from './route-held.ts';

type Tx = InventoryReads & RouteRows & EventRows;

/**
 * Sets the label that a module's route has on one node, instead of the manifest's (M23); the module need not run there yet. Refusals:
 * `unknown-node`, `unknown-module`, `unknown-route`, and `route-held` or `invalid-name` for the name that comes of it (M26).
 */
export function setLabel(store: Writes<Tx>, person: string, label: RouteLabel): Promise<RouteLabel | Refusal> {
  const { node, module, listens } = label;
  return store.write(
    person,
    async (tx) => {
      const inventory = await tx.inventory();
      const index = indexOf(inventory);
      if (!index.nodes.has(node)) return unknownNode(node);
      const manifest = index.modules.get(module)?.manifest;
      if (manifest === undefined) return unknownModule(module);
      const labelled = labelledRoutes(manifest);
      if (!labelled.includes(listens)) return unknownRoute(label, labelled);
      const held = await routeHeldBy(tx, inventory, { labels: (labels) => [...labels.filter(isNot(label)), label] });
      if (held !== undefined) return held;
      await tx.putRouteLabel(label);
      await tx.event({ kind: 'label-set', about: `${node}/${module}`, detail: { listens, label: label.label } });
      return label;
    },
    'serializable',
  );
}

/** Takes a label back, so that the manifest's counts again. Refusals: `unknown-route` where none is set, and those of that name. */
export function unsetLabel(
  store: Writes<Tx>,
  person: string,
  route: Placed & { readonly listens: PartName },
): Promise<Placed | Refusal> {
  const { node, module, listens } = route;
  return store.write(
    person,
    async (tx) => {
      const inventory = await tx.inventory();
      const held = await routeHeldBy(tx, inventory, { labels: (labels) => labels.filter(isNot(route)) });
      if (held !== undefined) return held;
      if (!(await tx.deleteRouteLabel({ node, module }, listens))) return unknownRoute(route, []);
      await tx.event({ kind: 'label-unset', about: `${node}/${module}`, detail: { listens } });
      return { node, module };
    },
    'serializable',
  );
}

/** Labels that the operator set, on one node or on all. */
export function listLabels(store: Reads<RouteReads>, node?: NodeName): Promise<readonly RouteLabel[]> {
  return store.read((view) => view.routeLabels(node));
}

const isNot =
  (route: Placed & { readonly listens: PartName }) =>
  (one: RouteLabel): boolean =>
    one.node !== route.node || one.module !== route.module || one.listens !== route.listens;

/** Where a route of it has a label that another one may stand for: a full name is what it is. */
const labelledRoutes = ({ routes }: Manifest): readonly PartName[] =>
  routes.flatMap(({ listens, label }) => (label === undefined ? [] : [listens]));

function unknownRoute(
  { node, module, listens }: Placed & { readonly listens: PartName },
  labelled: readonly PartName[],
): Refusal {
  return {
    kind: 'unknown-route',
    what: `${module} on ${node} has no label for ${listens}`,
    why:
      labelled.length === 0
        ? 'none is set, or its manifest has no route with a label there'
        : `its manifest has routes with a label for ${labelled.join(', ')}`,
    next: [`mesh module show ${module}`],
    facts: { node, module, listens, routes: labelled },
  };
}
