/**
 * The controller's mirrors: exactly what the buckets of assignments, settings and compositions hold, worked out of one snapshot of
 * the store. The same snapshot gives the same texts, so that only what differs is written.
 */
import { canonicalJson } from '../declaration/canonical.ts';
import { templatesIn } from '../declaration/emit-module.ts';
import { indexOf, type InventoryIndex } from '../resolution/inventory-index.ts';
import type { CatalogueModule, Inventory } from '../resolution/inventory.ts';
import type { Resolution, ResolvedNode } from '../resolution/resolve.ts';
import { given } from '../words/given.ts';
import { grouped } from '../words/grouped.ts';
import { present } from '../words/invariant.ts';
import type { ModuleName, NodeName, PartName, Placed } from '../words/names.ts';
import { collectionOf, contributorsOf } from './collections.ts';
import { assignmentKeys, compositionKeys, decodeToken, settingKeys } from './keys.ts';
import { routesOf, type RouteLabel } from './mesh-routes.ts';
import { resolutionLines } from './resolution-lines.ts';
import type { ComposedRoutes, Route } from './route-names.ts';
import {
  answers as answersOf,
  assignmentPlan,
  buckets,
  type AssignmentIndex,
  type AssignmentPlan,
  type Composition,
  type Contribution,
  type PendingBuild,
} from './values.ts';

export type MirrorInput = {
  readonly inventory: Inventory;
  /** Of the same inventory. */
  readonly resolution: Resolution;
  readonly settings: readonly (Placed & { readonly name: string; readonly value: unknown })[];
  /** Modules whose present version waits for a build (`pendingBuilds`). */
  readonly pending: ReadonlyMap<ModuleName, PendingBuild>;
  /** Nodes that have a public domain (M23). */
  readonly publicDomains?: ReadonlyMap<NodeName, string>;
  /** Labels that the operator set for an assignment, instead of the manifest's (M23). */
  readonly labels?: readonly RouteLabel[];
};
/** Bucket → key → the value as it is written. */
export type Mirrors = ReadonlyMap<string, ReadonlyMap<string, string>>;

/**
 * What the mirrors hold. `unresolvable` nodes are not in `mirrors`: what is there of them stays (D5), because a client that finds
 * its keys gone retires what it runs. `routes` says which names were composed, and which not and why.
 */
export function mirrorsOf(of: MirrorInput): {
  readonly mirrors: Mirrors;
  readonly unresolvable: ReadonlySet<NodeName>;
  readonly routes: ComposedRoutes;
} {
  const index = indexOf(of.inventory);
  const nodes = [...of.resolution.nodes.values()];
  const resolved = nodes.flatMap((node) => (node.kind === 'resolved' ? [node] : []));
  const { publicDomains = new Map(), labels = [] } = of;
  const routes = routesOf({ inventory: of.inventory, publicDomains, labels });
  const mirroring: Mirroring = {
    ...of,
    index,
    set: grouped(of.settings, placeOf),
    routes: grouped(routes.routes, placeOf),
    seats: holdersOf(index, resolved),
    resolution: { hosts: [...resolutionLines(of.inventory, of.resolution, routes.routes)] },
  };
  const assignments = new Map<string, string>();
  const settings = new Map<string, string>();
  for (const node of resolved) mirrorNode(mirroring, node, assignments, settings);
  return {
    mirrors: new Map([
      [buckets.assignments, assignments],
      [buckets.settings, settings],
      [buckets.compositions, compositionsOf(of)],
    ]),
    unresolvable: new Set(nodes.flatMap((node) => (node.kind === 'resolved' ? [] : [node.node]))),
    routes,
  };
}

type Mirroring = Omit<MirrorInput, 'resolution'> & {
  readonly index: InventoryIndex;
  readonly set: ReadonlyMap<string, MirrorInput['settings']>;
  readonly routes: ReadonlyMap<string, readonly Route[]>;
  readonly seats: ReadonlyMap<string, NodeName>;
  /** By what a module asks for. */
  readonly resolution: NonNullable<AssignmentPlan['resolution']>;
};

const placeOf = ({ node, module }: Placed): string => `${node}/${module}`;

function mirrorNode(
  mirroring: Mirroring,
  resolved: ResolvedNode,
  assignments: Map<string, string>,
  settings: Map<string, string>,
): void {
  const { node } = resolved;
  const modules: AssignmentIndex['modules'] = {};
  for (const { module } of resolved.modules) {
    const placed = { node, module };
    const known = present(mirroring.index.modules.get(module), `module ${module} of a resolved node`);
    const values = settingsOf(mirroring, placed, known);
    for (const [name, value] of values) settings.set(settingKeys.of({ ...placed, name }), canonicalJson(value));
    assignments.set(assignmentKeys.of(placed), canonicalJson(planOf(mirroring, placed, known)));
    modules[module] = {
      version: known.manifest.version,
      settings: [...values.keys()].toSorted(),
      bound: boundOf(resolved, module),
    };
  }
  const held: AssignmentIndex = { modules };
  assignments.set(assignmentKeys.of({ node }), canonicalJson(held));
}

/** Each setting that the manifest declares: as it was set, or else its default; one that is neither has no key. */
function settingsOf({ set }: Mirroring, placed: Placed, { manifest }: CatalogueModule): ReadonlyMap<PartName, unknown> {
  const rows = new Map(set.get(placeOf(placed))?.map((row) => [row.name, row.value]));
  const values = manifest.settings.map(({ name, default: standard }): readonly [PartName, unknown] => [
    name,
    rows.has(name) ? rows.get(name) : standard,
  ]);
  return new Map(values.filter(([, value]) => value !== undefined));
}

function boundOf(resolved: ResolvedNode, module: ModuleName): AssignmentIndex['modules'][ModuleName]['bound'] {
  const bindings = resolved.bindings.filter(({ consumer }) => consumer.module === module);
  const locals = resolved.needs.filter(({ key }) => key.consumerModule === module && key.local !== undefined);
  return [
    ...bindings.map(({ provision, provider }) => ({ provision, provider: provider.module })),
    ...locals.map(({ key }) => ({
      provision: key.provision,
      ...given('local', key.local),
      provider: key.providerModule,
    })),
  ].toSorted((a, b) => (boundName(a) < boundName(b) ? -1 : 1));
}

const boundName = (one: { readonly provision: string; readonly local?: string }): string =>
  `${one.provision}.${one.local ?? ''}`;

function planOf(mirroring: Mirroring, placed: Placed, known: CatalogueModule): AssignmentPlan {
  const { index, pending, seats } = mirroring;
  const { manifest } = known;
  const host = present(index.nodes.get(placed.node), `node ${placed.node}`);
  const ports = index.ports(placed).map(({ listens, port }) => [listens, port] as const);
  const placeholders = templatesIn(known).flatMap((template) => template.placeholders);
  const asked = placeholders.flatMap(({ of, name }) => (of === 'seat' ? name : []));
  return assignmentPlan.parse({
    version: manifest.version,
    ...given('build', pending.get(placed.module)),
    dirs: directoriesOf(known),
    access: Object.fromEntries(ports.map(([listens, port]) => [listens, { host: host.address, port }])),
    ports: Object.fromEntries(ports),
    seats: Object.fromEntries([...manifest.seats, ...asked].map((seat) => [seat, seats.get(seat) ?? null])),
    machine: Object.fromEntries(
      (host.capabilities ?? []).flatMap((one) => (one.present ? [[one.name, one.detail] as const] : [])),
    ),
    ...(placeholders.some(({ of }) => of === 'resolution') ? { resolution: mirroring.resolution } : {}),
    contributes: contributionsOf(mirroring, placed, known),
  });
}

/** `${dir:state}` is the directory whose path ends in `state`; where two do, neither is. */
function directoriesOf({ manifest }: CatalogueModule): Readonly<Record<string, string>> {
  const paths = manifest.resources.flatMap((item) => (item.kind === 'directory' ? [item.path] : []));
  const named = [...grouped(paths, (path) => path.slice(path.lastIndexOf('/') + 1))];
  return Object.fromEntries(
    named.flatMap(([name, [path, other]]) => (path !== undefined && other === undefined ? [[name, path]] : [])),
  );
}

/** What the module puts into collections on this node: what its manifest says, and its routes (M23). */
function contributionsOf(
  { index, routes }: Mirroring,
  placed: Placed,
  { manifest }: CatalogueModule,
): readonly Contribution[] {
  const address = present(index.nodes.get(placed.node), `node ${placed.node}`).address;
  const routed = (routes.get(placeOf(placed)) ?? []).flatMap(({ name, listens }) =>
    index
      .ports(placed)
      .filter((row) => row.listens === listens)
      .slice(0, 1)
      .map(({ port }) => ({ collection: 'route', item: { name, host: address, port, ...placed } })),
  );
  return named(placed.module, [...manifest.contributes, ...routed]);
}

function named<Item extends { readonly collection: string }>(
  module: ModuleName,
  items: readonly Item[],
): readonly (Item & { readonly contributor: string })[] {
  return [...grouped(items, (one) => one.collection)].flatMap(([, those]) => {
    const names = contributorsOf(module, those.length);
    return those.map((one, n) => ({ ...one, contributor: names[n] ?? module }));
  });
}

function holdersOf(index: InventoryIndex, resolved: readonly ResolvedNode[]): ReadonlyMap<string, NodeName> {
  const holders = new Map<string, NodeName>();
  for (const { node, modules } of resolved)
    for (const { module } of modules)
      for (const seat of index.modules.get(module)?.manifest.seats ?? [])
        // A seat is held once (M13); while it moves, the first of two is as good as the other.
        if (!holders.has(seat)) holders.set(seat, node);
  return holders;
}

/** Published are the modules of the catalogue whose present version waits for no build. */
function compositionsOf({ inventory, pending }: MirrorInput): ReadonlyMap<string, string> {
  const published = inventory.modules.filter(({ manifest }) => !pending.has(manifest.module));
  return new Map(
    published.map((known) => [
      compositionKeys.of({ module: known.manifest.module }),
      canonicalJson(compositionOf(known)),
    ]),
  );
}

function compositionOf(known: CatalogueModule): Composition {
  const { module, version, answers, contributes, routes } = known.manifest;
  const collects = templatesIn(known).flatMap(({ placeholders }) =>
    placeholders.flatMap((one) => collectionOf(one) ?? []),
  );
  const items = [...contributes, ...routes.map(() => ({ collection: 'route' }))];
  return {
    version,
    answers: answersOf.array().parse(answers),
    collects: [...new Set(collects)].toSorted(),
    contributes: named(module, items).map(({ collection, contributor }) => ({ collection, contributor })),
  };
}

/** Which modules wait for builds: their present version has artifacts that are not recorded. `since`: when that version was added, RFC 3339. */
export function pendingBuilds(
  modules: readonly CatalogueModule[],
  builds: readonly { readonly module: ModuleName; readonly version: string; readonly artifact: PartName }[],
  since: (module: ModuleName) => string,
): ReadonlyMap<ModuleName, PendingBuild> {
  const recorded = new Set(builds.map(({ module, version, artifact }) => `${module}/${artifact}/${version}`));
  return new Map(
    modules.flatMap(({ manifest: { module }, next }) => {
      const waitsFor = (next?.artifacts ?? []).filter(
        (artifact) => !recorded.has(`${module}/${artifact}/${next?.version}`),
      );
      return next === undefined ? [] : [[module, { version: next.version, waitsFor, since: since(module) }] as const];
    }),
  );
}

export type Difference = {
  readonly puts: readonly { readonly key: string; readonly value: string }[];
  readonly deletes: readonly string[];
};

/** What makes a bucket that holds `have` hold `want`, sorted by key. Keys that `isKept` names are not deleted. */
export function differenceOf(
  have: ReadonlyMap<string, string>,
  want: ReadonlyMap<string, string>,
  isKept: (key: string) => boolean = () => false,
): Difference {
  return {
    puts: [...want]
      .filter(([key, value]) => have.get(key) !== value)
      .map(([key, value]) => ({ key, value }))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1)),
    deletes: [...have.keys()].filter((key) => !want.has(key) && !isKept(key)).toSorted(),
  };
}

/** Whether a key of a bucket whose keys begin with a node is of one of these (D5: what is there of an unresolvable node stays). */
export function isOfNodes(nodes: ReadonlySet<string>): (key: string) => boolean {
  return (key) => {
    const read = decodeToken(key.split('.')[0] ?? '');
    return read.kind === 'text' && nodes.has(read.text);
  };
}
