/**
 * What an apply does, in which order (D8). Pure: from what the ledger has and what is declared.
 *
 * 1. what is no longer declared and stands in the way of what is: a file where a directory is to be, a port's holder;
 * 2. directories, the higher first; then files and secrets; then processes, each as declared;
 * 3. whatever else is no longer declared, last first: processes, files and secrets, directories, the deeper first.
 *
 * Only what stands in the ledger is ever taken away: what the node carries, and what others wrote, is not in it.
 */
import { grantsDirectory, programFolder } from '../domain/declaration/beside-grants.ts';
import type { Declaration, Resource } from '../domain/declaration/declaration.ts';
import type { LedgerEntry } from './ledger.ts';

export type Operation =
  { readonly does: 'put'; readonly resource: Resource } | { readonly does: 'remove'; readonly entry: LedgerEntry };

/** The operations that take a node from what the ledger has to what the declaration says. */
export function planApply(entries: readonly LedgerEntry[], declaration: Declaration): readonly Operation[] {
  const declared = declaration.resources;
  const gone = entries.filter((entry) => !declared.some((resource) => isSamePlace(entry, resource))).toReversed();
  const inTheWay = gone.filter((entry) => declared.some((resource) => standsInTheWay(entry, resource)));
  const rest = gone.filter((entry) => !inTheWay.includes(entry));
  return [
    ...byRemovalOrder(inTheWay).map((entry) => ({ does: 'remove', entry }) as const),
    ...declared.toSorted(byPuttingOrder).map((resource) => ({ does: 'put', resource }) as const),
    ...byRemovalOrder(rest).map((entry) => ({ does: 'remove', entry }) as const),
  ];
}

/** The supervisor's key of a process: names hold no dot, so no two processes share one. */
export function processKey(process: { readonly module: string; readonly name: string }): string {
  return `${process.module}.${process.name}`;
}

/**
 * The paths that a declaration speaks of: those it puts, those that its processes write for the host to read, and the folder
 * where the host keeps a provider's account on the bus.
 */
export function declaredPaths(declaration: Declaration): ReadonlySet<string> {
  return new Set([
    ...declaration.resources.flatMap((resource) => {
      if (resource.kind !== 'process') return [resource.path];
      return resource.ready !== undefined && 'file' in resource.ready ? [resource.ready.file] : [];
    }),
    ...declaration.granters.flatMap(({ status }) => {
      const directory = grantsDirectory(status);
      return directory === undefined ? [status] : [status, programFolder(directory)];
    }),
  ]);
}

/** Whether a path lies under another. */
export function liesUnder(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}

const rank = { directory: 0, file: 1, secret: 1, process: 2 } as const;

function isSamePlace(entry: LedgerEntry, resource: Resource): boolean {
  if (entry.kind === 'process') return resource.kind === 'process' && processKey(resource) === entry.key;
  return resource.kind !== 'process' && rank[resource.kind] === rank[entry.kind] && resource.path === entry.path;
}

function standsInTheWay(entry: LedgerEntry, resource: Resource): boolean {
  if (entry.kind === 'process') {
    return resource.kind === 'process' && Object.values(resource.ports).some((port) => entry.ports.includes(port));
  }
  if (resource.kind === 'process') return false;
  if (entry.path === resource.path) return true;
  if (entry.kind !== 'directory' && liesUnder(resource.path, entry.path)) return true;
  return resource.kind !== 'directory' && liesUnder(entry.path, resource.path);
}

/** Total but for processes and files among themselves, which stay as declared (the sort is stable): kind, then depth of a directory. */
function byPuttingOrder(one: Resource, other: Resource): number {
  if (rank[one.kind] !== rank[other.kind]) return rank[one.kind] - rank[other.kind];
  return one.kind === 'directory' && other.kind === 'directory' ? depth(one.path) - depth(other.path) : 0;
}

function byRemovalOrder(entries: readonly LedgerEntry[]): readonly LedgerEntry[] {
  return entries.toSorted((one, other) => {
    if (rank[one.kind] !== rank[other.kind]) return rank[other.kind] - rank[one.kind];
    return one.kind === 'directory' && other.kind === 'directory' ? depth(other.path) - depth(one.path) : 0;
  });
}

function depth(path: string): number {
  return path.split('/').length;
}
