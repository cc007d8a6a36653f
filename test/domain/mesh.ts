import { createHash } from 'node:crypto';
import type { PairKey, PairSecret, OwnSecret, Stage } from '../../src/domain/credential/credential.ts';
import { compose, type Composition } from '../../src/domain/declaration/compose.ts';
import { parseManifest, readTemplates } from '../../src/domain/manifest/parse-manifest.ts';
import { isRefusal, type Refusal } from '../../src/domain/refusal/refusal.ts';
import type { CatalogueModule, Inventory, NodeFacts, Pin, PortRow } from '../../src/domain/resolution/inventory.ts';
import { resolve, type ResolvedNode, type Resolution } from '../../src/domain/resolution/resolve.ts';
import { localName, moduleName, nodeName, partName, provisionName, type Placed } from '../../src/domain/words/names.ts';

export const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
export const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** `alpha/notes` as a module on a node. */
export function at(text: string): Placed {
  const [node, module] = text.split('/');
  return { node: nodeName.parse(node), module: moduleName.parse(module) };
}

export function module(name: string, part: object = {}, files: CatalogueModule['files'] = new Map()): CatalogueModule {
  const parsed = parseManifest({ module: name, version: '1', ...part }, name);
  const manifest = isRefusal(parsed) ? parsed : readTemplates(parsed, files, name);
  if (isRefusal(manifest)) throw new Error(manifest.what);
  return { manifest, files };
}

/** A server that grants credentials for `provision`, listening inside on 5432. */
export function provider(name: string, provision = 'postgres-database', part: object = {}): CatalogueModule {
  return module(name, {
    listens: { sql: 5432 },
    provides: [{ name: provision, scope: 'mesh', listens: 'sql', grants: `/var/lib/${name}-grants` }],
    ...part,
  });
}

/** A module with one credential for `provision`. */
export function consumer(
  name: string,
  to: unknown = { file: `/etc/${name}/db.json`, as: 'json' },
  provision = 'postgres-database',
): CatalogueModule {
  return module(name, { requires: [provision], secrets: { [provision]: to } });
}

export function node(name: string, part: Partial<NodeFacts> = {}): NodeFacts {
  return {
    name: nodeName.parse(name),
    address: `${name}.test`,
    sealingFingerprint: `key-of-${name}`,
    carriedPorts: [],
    ...part,
  };
}

export function pin(from: string, provision: string, to: string): Pin {
  const [at, module] = to.split('/');
  return {
    node: nodeName.parse(from),
    provision: provisionName.parse(provision),
    provider: { node: nodeName.parse(at), ...(module === undefined ? {} : { module: moduleName.parse(module) }) },
  };
}

export const binding = (from: string, provision: string, to: string) => ({
  ...at(from),
  provision: provisionName.parse(provision),
  provider: at(to),
});

export function port(placed: string, listens: string, number: number, part: Partial<PortRow> = {}): PortRow {
  return { ...at(placed), listens: partName.parse(listens), protocol: 'tcp', port: number, fixed: false, ...part };
}

export function pairKey(
  consumerAt: string,
  providerAt: string,
  provision = 'postgres-database',
  local?: string,
): PairKey {
  const from = at(consumerAt);
  const to = at(providerAt);
  return {
    provision: provisionName.parse(provision),
    providerNode: to.node,
    providerModule: to.module,
    consumerNode: from.node,
    consumerModule: from.module,
    ...(local === undefined ? {} : { local: localName.parse(local) }),
  };
}

/** A sealed pair secret; its blobs only say for whom they would be. */
export function pair(
  key: PairKey,
  generation = 1,
  stage: Stage = 'current',
  part: Partial<PairSecret> = {},
): PairSecret {
  const sealed = (end: string) => ({ sealed: base64(`${generation} for ${end}`), fingerprint: `key-of-${end}` });
  return {
    key,
    generation,
    stage,
    origin: 'made',
    consumer: sealed(key.consumerNode),
    provider: sealed(key.providerNode),
    ...part,
  };
}

export function own(placed: string, name: string, part: Partial<OwnSecret> = {}): OwnSecret {
  const key = { ...at(placed), name: partName.parse(name) };
  return {
    key,
    origin: 'made',
    node: { sealed: base64(`own for ${placed}`), fingerprint: `key-of-${key.node}` },
    ...part,
  };
}

type Parts = Partial<Omit<Inventory, 'nodes' | 'assignments'>> & {
  readonly nodes?: readonly (string | NodeFacts)[];
  readonly assigned?: readonly string[];
};

export function mesh({ nodes = ['alpha', 'beta', 'gamma'], assigned = [], ...rest }: Parts = {}): Inventory {
  return {
    modules: [],
    pins: [],
    bindings: [],
    ports: [],
    ownSecrets: [],
    pairSecrets: [],
    ...rest,
    nodes: nodes.map((one) => (typeof one === 'string' ? node(one) : one)),
    assignments: assigned.map(at),
  };
}

export function resolved(
  inventory: Inventory,
  name: string,
  resolution: Resolution = resolve(inventory),
): ResolvedNode {
  const found = resolution.nodes.get(nodeName.parse(name));
  if (found?.kind !== 'resolved') throw new Error(`not resolved: ${found?.refusals.map((one) => one.what).join('; ')}`);
  return found;
}

export function refused(inventory: Inventory, name: string): readonly Refusal[] {
  const found = resolve(inventory).nodes.get(nodeName.parse(name));
  return found?.kind === 'unresolvable' ? found.refusals : [];
}

export function composing(inventory: Inventory, name: string): Composition {
  return compose({ inventory, resolution: resolve(inventory), node: nodeName.parse(name), hash });
}

export function composed(inventory: Inventory, name: string): Extract<Composition, { kind: 'composed' }> {
  const found = composing(inventory, name);
  if (found.kind !== 'composed') throw new Error(`not composed: ${found.refusals.map((one) => one.what).join('; ')}`);
  return found;
}
