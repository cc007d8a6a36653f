/**
 * The ledger: what the mesh sent to this node and the host put there (D8). Only what stands in it is ever removed, and
 * only content of which it knows the digest is ever replaced without being kept.
 *
 * It is written ahead: before a file is written the ledger knows the digest of what will be, so that a host that died
 * in between still knows its own content again.
 */
import { z } from 'zod';
import { nodePath } from '../domain/declaration/declaration.ts';
import { readState, statePaths, writeState } from './state.ts';

/** `source` is the digest of the resource it was last made from; absent while its first making is under way. */
const common = { id: z.string(), source: z.string().optional() };
/** `made`: whether the host made the directory. One that was there before is never removed. */
const directoryEntry = z.strictObject({ ...common, kind: z.literal('directory'), path: nodePath, made: z.boolean() });
const fileEntry = z.strictObject({
  ...common,
  kind: z.enum(['file', 'secret']),
  path: nodePath,
  /** Digests of the contents that the host wrote there, or is about to: newest last. */
  wrote: z.array(z.string()),
});
/** `key` is the supervisor's: `<module>.<name>`. */
const processEntry = z.strictObject({
  ...common,
  kind: z.literal('process'),
  key: z.string(),
  ports: z.array(z.int()),
});
const ledgerEntry = z.discriminatedUnion('kind', [directoryEntry, fileEntry, processEntry]);
export type LedgerEntry = z.infer<typeof ledgerEntry>;
export type DirectoryEntry = z.infer<typeof directoryEntry>;
export type FileEntry = z.infer<typeof fileEntry>;
export type ProcessEntry = z.infer<typeof processEntry>;

const ledgerFile = z.strictObject({
  schema: z.literal('mesh.host-ledger'),
  version: z.literal(1),
  /** In the order in which they were first applied. */
  entries: z.array(ledgerEntry),
  /** Folders that were missing above a declared path, made by the host without being declared themselves. */
  parents: z.array(nodePath),
});

export type Ledger = {
  entries(): readonly LedgerEntry[];
  parents(): readonly string[];
  at(path: string): DirectoryEntry | FileEntry | undefined;
  process(key: string): ProcessEntry | undefined;
  /** Notes what is about to happen, durably, before it does. */
  intend(entry: LedgerEntry): Promise<void>;
  /** Notes what has happened; lasting after the next `flush`. */
  settle(entry: LedgerEntry): void;
  /** Notes that it is gone; lasting after the next `flush`. */
  forget(entry: LedgerEntry): void;
  intendParent(path: string): Promise<void>;
  forgetParent(path: string): void;
  /** Writes what is not yet written; does nothing when nothing changed. */
  flush(): Promise<void>;
};

/** One place holds one thing: a path, or a process's key. */
export function placeOf(entry: LedgerEntry): string {
  return entry.kind === 'process' ? `process ${entry.key}` : `path ${entry.path}`;
}

/** Opens the ledger of a state folder; an empty one when the node never applied anything. */
export async function openLedger(stateDir: string): Promise<Ledger> {
  const kept = await readState(stateDir, statePaths.ledger, ledgerFile);
  const entries = new Map((kept?.entries ?? []).map((entry) => [placeOf(entry), entry]));
  const parents = new Set(kept?.parents ?? []);
  let changed = false;

  async function flush(): Promise<void> {
    if (!changed) return;
    const value = { schema: 'mesh.host-ledger', version: 1, entries: [...entries.values()], parents: [...parents] };
    await writeState(stateDir, statePaths.ledger, value);
    changed = false;
  }
  function settle(entry: LedgerEntry): void {
    if (JSON.stringify(entries.get(placeOf(entry))) === JSON.stringify(entry)) return;
    entries.set(placeOf(entry), entry);
    changed = true;
  }
  return {
    entries: () => [...entries.values()],
    parents: () => [...parents],
    at: (path) => {
      const entry = entries.get(`path ${path}`);
      return entry?.kind === 'process' ? undefined : entry;
    },
    process: (key) => {
      const entry = entries.get(`process ${key}`);
      return entry?.kind === 'process' ? entry : undefined;
    },
    settle,
    flush,
    intend: async (entry) => {
      settle(entry);
      await flush();
    },
    forget: (entry) => {
      changed = entries.delete(placeOf(entry)) || changed;
    },
    intendParent: async (path) => {
      if (parents.has(path)) return;
      parents.add(nodePath.parse(path));
      changed = true;
      await flush();
    },
    forgetParent: (path) => {
      changed = parents.delete(path) || changed;
    },
  };
}
