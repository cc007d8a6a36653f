/** What the granter knows of each login and generation, as the status tells it. Kept over a lost connection and a restart. */
import { localName, moduleName, nodeName } from '../../domain/words/names.ts';
import type { Grant } from '../../domain/declaration/declaration.ts';
import type { GranterEntry } from '../../domain/report/report.ts';
import { readLoginComment } from './seen-logins.ts';

export type Entries = {
  of(login: string, generation: number): GranterEntry | undefined;
  put(entry: GranterEntry): void;
  /** All of them, in a fixed order. */
  all(): GranterEntry[];
};

// Enough for an act that waits for a withdrawal to see it, however fast the next rotation follows.
const withdrawnKept = 2;

/** Entries, beginning with those of a status that was written before. `onState` is told when one changes its state or fault. */
export function createEntries(
  before: readonly GranterEntry[],
  onState: (entry: GranterEntry) => void,
  nowMs: () => number,
): Entries {
  const entries = new Map(before.map((entry) => [keyOf(entry.login, entry.generation), entry]));
  return {
    of: (login, generation) => entries.get(keyOf(login, generation)),
    put(said) {
      const was = entries.get(keyOf(said.login, said.generation));
      const entry = withSince(said, was, nowMs);
      if (was?.state !== entry.state || was.fault !== entry.fault) onState(entry);
      entries.set(keyOf(entry.login, entry.generation), entry);
      const old = [...entries.values()]
        .filter((other) => other.state === 'withdrawn' && consumerOf(other) === consumerOf(entry))
        .toSorted((a, b) => b.generation - a.generation)
        .slice(withdrawnKept);
      for (const other of old) entries.delete(keyOf(other.login, other.generation));
    },
    all: () =>
      [...entries.values()].toSorted(
        (a, b) => compare(consumerOf(a), consumerOf(b)) || a.generation - b.generation || compare(a.login, b.login),
      ),
  };
}

/** A fault says since when it is there, however its words change; what is no fault says nothing of the kind. */
function withSince(said: GranterEntry, was: GranterEntry | undefined, nowMs: () => number): GranterEntry {
  const { faultSince: _, ...entry } = said;
  if (entry.state !== 'fault') return entry;
  return { ...entry, faultSince: was?.faultSince ?? new Date(nowMs()).toISOString() };
}

/** The entry of a grant in a state; counts of before are kept, a fault of before is not. */
export function entryFor(grant: Grant, state: GranterEntry['state'], before: GranterEntry | undefined): GranterEntry {
  return {
    node: grant.node,
    module: grant.module,
    ...(grant.local === undefined ? {} : { local: grant.local }),
    generation: grant.generation,
    login: grant.login,
    state,
    seen: before?.seen ?? 0,
    ...(before?.lastSeenAt === undefined ? {} : { lastSeenAt: before.lastSeenAt }),
    sessionsEnded: before?.sessionsEnded ?? 0,
  };
}

/** The entry in another state, with or without a fault. */
export function inState(entry: GranterEntry, state: GranterEntry['state'], fault?: string): GranterEntry {
  const { fault: _, valueRefused: __, ...rest } = entry;
  return { ...rest, state, ...(fault === undefined ? {} : { fault }) };
}

/**
 * The entry of a login that stands in no list, from what the role's comment says of it; undefined when it says
 * nothing, as for a login that was never finished.
 */
export function entryFromComment(login: string, comment: string): GranterEntry | undefined {
  const read = readLoginComment(comment);
  if (read === undefined) return undefined;
  const [node, module, local, ...more] = read.fullName.split('.');
  const names = {
    node: nodeName.safeParse(node),
    module: moduleName.safeParse(module),
    local: localName.safeParse(local),
  };
  if (!names.node.success || !names.module.success || more.length > 0) return undefined;
  if (local !== undefined && !names.local.success) return undefined;
  return {
    node: names.node.data,
    module: names.module.data,
    ...(names.local.success ? { local: names.local.data } : {}),
    generation: read.generation,
    login,
    state: 'granted',
    seen: 0,
    sessionsEnded: 0,
  };
}

const keyOf = (login: string, generation: number): string => `${generation} ${login}`;
const consumerOf = ({ node, module, local }: GranterEntry): string => `${node}.${module}.${local ?? ''}`;
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
