/** Why a module is reached under a name, or under none (M23, M26). */
import { unroutedOn } from '../../domain/provisioning/mesh-routes.ts';
import type { Route } from '../../domain/provisioning/route-names.ts';
import { indexOf } from '../../domain/resolution/inventory-index.ts';
import type { PortRow } from '../../domain/resolution/inventory.ts';
import type { Placed } from '../../domain/words/names.ts';
import { by, factLinks, fails, holds, intentLinks, portText, resolutionLinks, type Facts, type Link } from './links.ts';

/** The names of a module on a node, and what keeps its other routes from having one. */
export function routeLinks({ routes }: Facts, { node, module }: Placed): readonly Link[] {
  return [
    ...routes.routes
      .filter((one) => one.node === node && one.module === module)
      .map(({ name, listens }) => holds('route', `${module} on ${node} is reached as ${name}, at ${listens}`)),
    ...unroutedOn(routes, node)
      .filter((one) => one.module === module)
      .map(({ says, next }) => fails('route', says, ...next)),
  ];
}

/** The chain of a routed name, in whatever letter case it is asked for; undefined where no route has it. */
export function routeChain(
  facts: Facts,
  thing: string,
): { readonly kind: 'route'; readonly links: readonly Link[] } | undefined {
  const route = facts.routes.routes.find(({ name }) => name.toLowerCase() === thing.toLowerCase());
  if (route === undefined) return undefined;
  const { node, module, listens } = route;
  const port = indexOf(facts.inventory)
    .ports({ node, module })
    .find((row) => row.listens === listens);
  const links = [
    ...intentLinks(facts, { node, module }),
    ...nameLinks(facts, route),
    ...resolutionLinks(facts, node),
    ...(port === undefined ? [] : placeLinks(facts, route, port)),
    ...factLinks(facts, node, module),
  ];
  return { kind: 'route', links };
}

/** What the name is put together from, and by whose choice. */
function nameLinks({ inventory, routing, event }: Facts, { node, module, listens, name }: Route): readonly Link[] {
  const written = indexOf(inventory)
    .modules.get(module)
    ?.manifest.routes.find((one) => one.listens === listens);
  if (written?.label === undefined) return [holds('route', `the manifest of ${module} names it ${name} in full`)];
  const set = routing.labels.find((one) => one.node === node && one.module === module && one.listens === listens);
  const domain = routing.publicDomains.get(node) ?? '';
  return [
    set === undefined
      ? holds('route', `its label is ${written.label}, as the manifest of ${module} says`)
      : holds(
          'route',
          `its label is ${set.label}, set instead of ${written.label}${by(event('label-set', `${node}/${module}`))}`,
        ),
    holds('route', `the public domain of ${node} is ${domain}${by(event('node-set', node))}`),
  ];
}

function placeLinks({ inventory }: Facts, { name, node, module }: Route, port: PortRow): readonly Link[] {
  const address = indexOf(inventory).nodes.get(node)?.address ?? '';
  return [
    holds('port', portText(port)),
    holds(
      'collection',
      `the collection route has ${name} at ${address}:${port.port}, contributed by ${module} on ${node}`,
    ),
  ];
}
