/**
 * M25. Internal resolution: every routed name with the address of the node whose proxy serves it, and `<node>.internal` for every
 * node, as lines of a hosts file. It decides addresses alone; the names are composed elsewhere.
 */
import { indexOf, type InventoryIndex } from '../resolution/inventory-index.ts';
import type { Inventory } from '../resolution/inventory.ts';
import type { Resolution } from '../resolution/resolve.ts';
import { walk } from '../resolution/walk.ts';
import type { NodeName } from '../words/names.ts';
import type { Route } from './route-names.ts';

/** The provision by which a module asks for a proxy, and the claim of a module that is one. */
const proxied = { provision: 'route', claim: 'reverse-proxy' };

/**
 * One line a name: some resolvers read no line longer than 512 letters. Nodes first, then routed names in lower case, each by name. A
 * route is served by the proxy that its module is bound to, or else the one of its own node, or else the first by its node's name; a
 * name that nobody serves has no line, and nor has a node that has not joined.
 */
export function resolutionLines(
  inventory: Inventory,
  resolution: Resolution,
  routes: readonly Route[],
): readonly string[] {
  const index = indexOf(inventory);
  const nodes = inventory.nodes
    .filter(({ address }) => address !== '')
    .map(({ name }) => name)
    .toSorted();
  const proxies = nodes.filter((node) => hasProxy(index, node));
  const line = (node: NodeName, name: string): readonly string[] => {
    const address = index.nodes.get(node)?.address ?? '';
    return address === '' ? [] : [`${address} ${name}`];
  };
  const served = routes.flatMap((route) => {
    const server = boundTo(resolution, route) ?? (proxies.includes(route.node) ? route.node : proxies[0]);
    return server === undefined ? [] : [{ server, name: route.name.toLowerCase() }];
  });
  return [
    ...nodes.flatMap((node) => line(node, `${node}.internal`)),
    ...served.toSorted((a, b) => (a.name < b.name ? -1 : 1)).flatMap(({ server, name }) => line(server, name)),
  ];
}

function hasProxy(index: InventoryIndex, node: NodeName): boolean {
  return walk(index, node).modules.some(({ module }) => {
    const manifest = index.modules.get(module)?.manifest;
    return (
      manifest?.claims.some(({ name }) => name === proxied.claim) === true ||
      manifest?.provides.some(({ name }) => name === proxied.provision) === true
    );
  });
}

function boundTo(resolution: Resolution, { node, module }: Route): NodeName | undefined {
  return resolution.nodes
    .get(node)
    ?.bindings.find(({ consumer, provision }) => consumer.module === module && provision === proxied.provision)
    ?.provider.node;
}
