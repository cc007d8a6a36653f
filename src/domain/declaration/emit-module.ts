/** What a module's own manifest puts on a node: directories, files, processes. */
import type { ManifestResource } from '../manifest/manifest.ts';
import { templatesOf, type Template } from '../manifest/templates.ts';
import type { Refusal } from '../refusal/refusal.ts';
import type { CatalogueModule, PortRow } from '../resolution/inventory.ts';
import { present } from '../words/invariant.ts';
import { given } from '../words/given.ts';
import type { ModuleName, Placed } from '../words/names.ts';
import { canonicalJson } from './canonical.ts';
import type { ProcessResource, Resource } from './declaration.ts';

/** A resource and its canonical text, which the declaration's text and the resource's digest are made of. */
export type Emitted = { readonly resource: Resource; readonly text: string };

export function emitted(resource: Resource): Emitted {
  return { resource, text: canonicalJson(resource) };
}

/** `<module>/<kind>/<path or name>`: the same resource keeps it from one declaration to the next. */
export function resourceId(module: ModuleName, kind: Resource['kind'], pathOrName: string): string {
  return `${module}/${kind}${pathOrName.startsWith('/') ? '' : '/'}${pathOrName}`;
}

// Which files are templates is the same on every node.
const templates = new WeakMap<CatalogueModule, readonly Template[]>();

/** The module's files with placeholders in them. */
export function templatesIn(module: CatalogueModule): readonly Template[] {
  const known = templates.get(module);
  if (known !== undefined) return known;
  const found = templatesOf(module.manifest, module.files);
  templates.set(module, found);
  return found;
}

// A module's directories and files are the same on every node, so they are put into words once.
const everywhere = new WeakMap<CatalogueModule, readonly Emitted[]>();

/** What is the same wherever the module runs. */
export function emitFiles(module: CatalogueModule): readonly Emitted[] {
  const known = everywhere.get(module);
  if (known !== undefined) return known;
  const made = module.manifest.resources.flatMap((item) => filesOf(module, item));
  everywhere.set(module, made);
  return made;
}

function filesOf(module: CatalogueModule, item: ManifestResource): readonly Emitted[] {
  const name = module.manifest.module;
  if (item.kind === 'directory') {
    const { owner, ...rest } = item;
    return [emitted({ ...rest, ...given('owner', owner), id: resourceId(name, 'directory', item.path), module: name })];
  }
  // A template is filled with what is only so on one node: `emit-filled.ts`.
  if (item.kind !== 'file' || templatesIn(module).some((template) => template.item === item)) return [];
  const taken =
    item.from === undefined ? undefined : present(module.files.get(item.from), `${item.from} of module ${name}`);
  return [
    emitted({
      kind: 'file',
      id: resourceId(name, 'file', item.path),
      module: name,
      path: item.path,
      mode: item.mode ?? taken?.mode ?? '0644',
      ...given('owner', item.owner),
      content: taken?.content ?? item.content ?? '',
      encoding: taken?.encoding ?? 'utf8',
    }),
  ];
}

/** The module's processes on one node, with the ports that the mesh assigned there; `port-unassigned` when one was not. */
export function emitProcesses(
  module: CatalogueModule,
  placed: Placed,
  rows: readonly PortRow[],
): { readonly emitted: readonly Emitted[]; readonly refusals: readonly Refusal[] } {
  const { listens, resources } = module.manifest;
  const ports: Record<string, number> = {};
  const refusals: Refusal[] = [];
  for (const { name } of listens) {
    const row = rows.find((one) => one.listens === name);
    if (row === undefined) refusals.push(portUnassigned(placed, name));
    else ports[name] = row.port;
  }
  return {
    refusals,
    emitted: resources.flatMap((item) => (item.kind === 'process' ? [emitProcess(placed.module, item, ports)] : [])),
  };
}

type ProcessItem = Extract<ManifestResource, { kind: 'process' }>;
type Ports = Readonly<Record<string, number>>;

// Only its ports are others on another node: the canonical text before and after them is put into words once.
const aroundPorts = new WeakMap<ProcessItem, { readonly before: string; readonly after: string }>();

function emitProcess(module: ModuleName, item: ProcessItem, ports: Ports): Emitted {
  const resource = processOf(module, item, ports);
  const { before, after } = aroundPorts.get(item) ?? wordsAround(item, resource);
  return { resource, text: `${before},"ports":${canonicalJson(ports)},${after}` };
}

function wordsAround(
  item: ProcessItem,
  resource: ProcessResource,
): { readonly before: string; readonly after: string } {
  const part = (isIts: (key: string) => boolean): string =>
    canonicalJson(Object.fromEntries(Object.entries(resource).filter(([key]) => isIts(key))));
  const words = { before: part((key) => key < 'ports').slice(0, -1), after: part((key) => key > 'ports').slice(1) };
  aroundPorts.set(item, words);
  return words;
}

function processOf(module: ModuleName, item: ProcessItem, ports: Ports): ProcessResource {
  return {
    kind: 'process',
    id: resourceId(module, 'process', item.name),
    module,
    name: item.name,
    command: item.command,
    ...given('cwd', item.cwd),
    ...given('user', item.user),
    env: item.env,
    ports,
    restartOn: item.restartOn.toSorted(),
    stop: item.stop,
    ...given('ready', item.ready),
  };
}

export function portUnassigned({ node, module }: Placed, listens: string): Refusal {
  return {
    kind: 'port-unassigned',
    what: `${module} on ${node} listens as ${listens}, and no port of the machine was assigned to it`,
    why: 'a port is assigned when the module is, and whoever connects must be told the same number',
    next: [`mesh assign ${node} ${module}`],
    facts: { node, module, listens },
  };
}
