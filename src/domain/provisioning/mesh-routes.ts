/**
 * The routes of a whole mesh: what its modules declare on its nodes, with the labels that the operator set (M23), and whether a
 * change of intent would have a name lead to two places (M26). It decides names alone; who serves them is no matter of it.
 */
import type { Refusal } from '../refusal/refusal.ts';
import { indexOf } from '../resolution/inventory-index.ts';
import type { Inventory } from '../resolution/inventory.ts';
import { walk } from '../resolution/walk.ts';
import { given } from '../words/given.ts';
import type { NodeName, PartName, Placed } from '../words/names.ts';
import { composeRoutes, nameOf, type ComposedRoutes, type DeclaredRoute, type Route } from './route-names.ts';

/** A label that the operator set for one assignment, instead of the manifest's. */
export type RouteLabel = Placed & { readonly listens: PartName; readonly label: string };
/** All that routed names are made of. */
export type RouteIntent = {
  readonly inventory: Inventory;
  /** Nodes that have a public domain (M23). */
  readonly publicDomains: ReadonlyMap<NodeName, string>;
  readonly labels: readonly RouteLabel[];
};

/** The names of all routes, by node and module. A node that cannot be resolved keeps its names: what is there of it goes on (D5). */
export function routesOf(intent: RouteIntent): ComposedRoutes {
  return composeRoutes(declaredRoutes(intent), intent.publicDomains);
}

/**
 * `route-held` or `invalid-name`, where a change would compose a name that another route has, in any letter case (M26), or one that
 * is none. The route that had the name before is named as its holder; what was so before the change does not stop it.
 */
export function routeRefusal(before: RouteIntent, after: RouteIntent): Refusal | undefined {
  const earlier = routesOf(before);
  const stood = new Set(earlier.routes.map(routeText));
  const stands = (one: DeclaredRoute): boolean => {
    const name = nameOf(one, after.publicDomains);
    return name !== undefined && stood.has(routeText({ ...one, name }));
  };
  const declared = declaredRoutes(after).toSorted((a, b) => Number(stands(b)) - Number(stands(a)));
  const known = new Set(earlier.refusals.map(sameness));
  return composeRoutes(declared, after.publicDomains).refusals.find((refusal) => !known.has(sameness(refusal)));
}

/** A route that comes to no name: whose, why, and what to do. */
export type Unrouted = { readonly module: string; readonly says: string; readonly next: readonly string[] };

/** Routes of a node that come to no name: a label where there is no public domain (M23), or a name that another has (M26). */
export function unroutedOn({ unnamed, refusals }: ComposedRoutes, node: NodeName): readonly Unrouted[] {
  return [
    ...unnamed
      .filter((one) => one.node === node)
      .map(({ module, says }) => ({ module, says, next: [`mesh node set ${node} public-domain=DOMAIN`] })),
    ...refusals
      .filter(({ facts }) => facts?.['node'] === node)
      .map(({ what, next, facts }) => ({ module: String(facts?.['module']), says: what, next })),
  ];
}

/** Every route that a module declares on a node, in the order of nodes and modules. */
export function declaredRoutes({ inventory, labels }: RouteIntent): readonly DeclaredRoute[] {
  const index = indexOf(inventory);
  const set = new Map(labels.map((one) => [placeText(one), one.label]));
  return inventory.nodes
    .map(({ name }) => name)
    .toSorted()
    .flatMap((node) =>
      walk(index, node).modules.flatMap(({ module }) =>
        (index.modules.get(module)?.manifest.routes ?? []).map((route): DeclaredRoute => {
          const own = { node, module, ...route };
          // Where there is a full name too, that is the name (M23).
          return { ...own, ...given('label', set.get(placeText(own))) };
        }),
      ),
    );
}

const placeText = ({ node, module, listens }: Placed & { readonly listens: PartName }): string =>
  `${node}/${module}/${listens}`;
const routeText = (route: Route): string => `${placeText(route)} ${route.name.toLowerCase()}`;
const sameness = ({ kind, facts }: Refusal): string =>
  JSON.stringify([kind, facts?.['name'], facts?.['node'], facts?.['module']]);
