/** The watching part of a pass: which logins were used (S8), and which sessions of an earlier password are still open (S11). */
import { inState } from './entries.ts';
import { faultText } from './fault.ts';
import { createAttention, glanceAt, readCounts, type Glance } from './observe.ts';
import type { Held, Surroundings } from './surroundings.ts';
import type { LoginRow } from './seen-logins.ts';
import { endSessions } from './withdraw-access.ts';
import type { Dropped } from './withdrawing.ts';

export type Watching = { pass(dropped: readonly Dropped[], drainMs: number): Promise<void> };

// While nobody waits for an answer a look a second is enough.
const restMs = 1_000;
// How long a session may take from the server's yes to its place in the list of sessions.
const lingerMs = 2_000;

/** Watches the logins that are held. */
export function createWatching({ provider, entries, held, changed, nowMs }: Surroundings): Watching {
  const attention = createAttention();
  /** Grants of which no session of an earlier password is left. */
  const settled = new WeakSet<Held>();
  let lingering: { readonly of: Dropped; readonly untilMs: number }[] = [];
  let glancedMs = -Infinity;

  const isAwaited = ({ row, grant }: Held): boolean =>
    row.seen === 0 && (entries.of(grant.login, grant.generation)?.seen ?? 0) === 0;

  function note(holding: Held, row: LoginRow, isConnected: boolean): void {
    const entry = entries.of(holding.grant.login, holding.grant.generation);
    if (entry === undefined) return;
    // Where the trigger could not count (a database that is read-only by default) an open session is still a use.
    const seen = Math.max(row.seen, entry.seen, isConnected ? 1 : 0);
    const lastSeenAt = row.lastSeenAt ?? entry.lastSeenAt ?? (seen > 0 ? new Date(nowMs()).toISOString() : undefined);
    entries.put({ ...entry, seen, ...(lastSeenAt === undefined ? {} : { lastSeenAt }) });
    changed();
  }

  /** Sessions that began with the password before this grant's: they have the grace of a rotated login. */
  async function settle(holding: Held, { older, isDue, oid }: Glance): Promise<void> {
    const { grant, row } = holding;
    // A generation of this login that was passed over is not granted by anybody.
    for (const entry of entries.all()) {
      const isPassedOver =
        entry.login === grant.login && entry.generation !== grant.generation && entry.generation !== row.replaced;
      if (isPassedOver && entry.state !== 'withdrawn') entries.put(inState(entry, 'withdrawn'));
    }
    if (row.replaced === null || oid === null) return void settled.add(holding);
    const before = entries.of(grant.login, row.replaced);
    const isOver = older === 0 || isDue;
    const ended = older > 0 && isDue ? await endSessions(provider.main, oid, row.grantedAt) : 0;
    if (isOver) settled.add(holding);
    if (before === undefined) return;
    entries.put({ ...inState(before, isOver ? 'withdrawn' : 'draining'), sessionsEnded: before.sessionsEnded + ended });
    changed();
  }

  async function endLingering(): Promise<void> {
    for (const { of } of lingering) {
      const ended = await endSessions(provider.main, of.oid);
      const entry = entries.of(of.login, of.generation);
      if (ended > 0 && entry !== undefined) entries.put({ ...entry, sessionsEnded: entry.sessionsEnded + ended });
      if (ended > 0) changed();
    }
    lingering = lingering.filter(({ untilMs }) => nowMs() < untilMs);
  }

  async function look(glances: readonly Glance[]): Promise<void> {
    const seen = glances.flatMap((glance) => {
      const holding = held.get(glance.login);
      if (holding === undefined || glance.databaseSessions === null) return [];
      return [
        {
          holding,
          glance,
          database: holding.grant.database,
          sessions: glance.databaseSessions,
          isAwaited: isAwaited(holding),
        },
      ];
    });
    for (const database of attention.choose(seen)) {
      const here = seen.filter((one) => one.database === database);
      let counts: Map<string, LoginRow>;
      try {
        counts = await readCounts(
          provider,
          database,
          here.map(({ glance }) => glance.login),
        );
      } catch (error) {
        if (!provider.main.isOpen()) throw error;
        for (const { holding } of here) fault(holding, `its database cannot be looked at: ${faultText(error)}`);
        continue;
      }
      for (const { holding, glance, sessions } of here) {
        attention.entered(database, sessions, nowMs());
        const row = counts.get(glance.login);
        // Its count is gone: somebody put another database in its place. Make sure of the grant anew.
        if (row === undefined) held.delete(glance.login);
        else note(holding, row, glance.newer > 0);
      }
    }
  }

  function fault({ grant }: Held, text: string): void {
    held.delete(grant.login);
    const entry = entries.of(grant.login, grant.generation);
    if (entry !== undefined) entries.put(inState(entry, 'fault', text));
    changed();
  }

  return {
    async pass(dropped, drainMs) {
      lingering.push(...dropped.map((of) => ({ of, untilMs: nowMs() + lingerMs })));
      await endLingering();
      const holdings = [...held.values()];
      const isPressing = holdings.some((holding) => isAwaited(holding) || !settled.has(holding));
      if (holdings.length === 0 || (!isPressing && nowMs() - glancedMs < restMs)) return;
      glancedMs = nowMs();
      const watched = holdings.map(({ grant, row }) => ({ login: grant.login, database: grant.database, row }));
      const glances = await glanceAt(provider, watched, drainMs);
      for (const glance of glances) {
        const holding = held.get(glance.login);
        if (holding === undefined) continue;
        // Somebody took the role, its right to log in, or its database away: the next pass makes the grant again.
        if (!glance.mayLogIn || glance.databaseSessions === null) held.delete(glance.login);
        else if (!settled.has(holding)) await settle(holding, glance);
      }
      await look(glances);
    },
  };
}
