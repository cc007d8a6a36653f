/**
 * The least that gives a plan, written by hand for just this mesh: find each requirement's provider on the node, put the
 * modules in an order, write every resource out, canonical JSON, SHA-256. Its digests are the product's own to the byte,
 * which the bench checks, so both do the same work.
 */
import { createHash } from 'node:crypto';

export type FloorModule = {
  readonly name: string;
  readonly provides: readonly string[];
  readonly needs: readonly string[];
  readonly directory: string;
  readonly file: { readonly path: string; readonly mode: string; readonly content: string };
  readonly process: { readonly name: string; readonly command: readonly string[] };
};
export type FloorNode = { readonly node: string; readonly address: string; readonly ports: readonly number[] };

export const sha = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Sorted keys, JSON.stringify for leaves. */
export function canon(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canon).join(',')}]`;
  const entries = Object.entries(value);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  let text = '{';
  for (const [key, member] of entries) text += `${text === '{' ? '' : ','}${JSON.stringify(key)}:${canon(member)}`;
  return `${text}}`;
}

/** The text of one node's declaration. */
export function floorText(catalogue: readonly FloorModule[], node: FloorNode): string {
  return floorTexts(catalogue, node).text;
}

/** A node's declaration and each of its resources, as texts. Throws on what has no provider and on a circle. */
export function floorTexts(
  catalogue: readonly FloorModule[],
  node: FloorNode,
): { readonly text: string; readonly resources: readonly string[] } {
  order(catalogue);
  const resources = catalogue.flatMap(({ name, directory, file, process }, index) => [
    {
      id: `${name}/directory${directory}`,
      module: name,
      kind: 'directory',
      path: directory,
      mode: '0755',
      unknown: 'program',
    },
    { id: `${name}/file${file.path}`, module: name, kind: 'file', ...file, encoding: 'utf8' },
    {
      id: `${name}/process/${process.name}`,
      module: name,
      kind: 'process',
      ...process,
      env: {},
      ports: { http: node.ports[index] },
      restartOn: [],
      stop: { signal: 'SIGTERM', waitMs: 10_000 },
    },
  ]);
  resources.sort((a, b) => (a.id < b.id ? -1 : 1));
  const texts = resources.map(canon);
  return {
    text: `{"address":${canon(node.address)},"capabilities":[],"granters":[],"node":${canon(node.node)},"resources":[${texts.join(',')}],"schema":"mesh.declaration","version":1}`,
    resources: texts,
  };
}

function order(catalogue: readonly FloorModule[]): readonly number[] {
  const by = new Map<string, number>();
  for (const [index, module] of catalogue.entries()) for (const provision of module.provides) by.set(provision, index);
  const waiting = new Map<number, number>();
  const unlocks = new Map<number, number[]>();
  for (const [index, module] of catalogue.entries()) {
    const from = new Set<number>();
    for (const need of module.needs) {
      const provider = by.get(need);
      if (provider === undefined) throw new Error(`no provider of ${need}`);
      if (provider !== index) from.add(provider);
    }
    waiting.set(index, from.size);
    for (const provider of from) unlocks.set(provider, [...(unlocks.get(provider) ?? []), index]);
  }
  const ready = [...waiting].filter(([, count]) => count === 0).map(([index]) => index);
  for (const index of ready)
    for (const next of unlocks.get(index) ?? []) {
      const left = (waiting.get(next) ?? 0) - 1;
      waiting.set(next, left);
      if (left === 0) ready.push(next);
    }
  if (ready.length !== catalogue.length) throw new Error('a circle');
  return ready;
}
