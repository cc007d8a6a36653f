/**
 * Who is connected. One statement over the server's shared counters says in which databases anything happened; only
 * those are entered to read what their trigger counted, and what somebody waits for before the rest.
 */
import { z } from 'zod';
import { readLogin, type LoginRow } from './seen-logins.ts';
import type { Provider } from './grant-access.ts';
import { inDatabase } from './session.ts';

export type Watched = { readonly login: string; readonly database: string; readonly row: LoginRow };

const glance = z.strictObject({
  login: z.string(),
  /** Null when the role is gone. */
  oid: z.string().nullable(),
  mayLogIn: z.boolean(),
  /** Open sessions in its database that began since the grant, and before it. */
  newer: z.int(),
  older: z.int(),
  /** Whether the grace of the older ones is over. */
  isDue: z.boolean(),
  /** How many sessions this database ever had, our own included; null when it is gone. */
  databaseSessions: z.string().nullable(),
});
export type Glance = z.infer<typeof glance>;

/** One look at all logins that are granted, at the price of one statement. */
export async function glanceAt({ main }: Provider, watched: readonly Watched[], drainMs: number): Promise<Glance[]> {
  return await main.rows(
    glance,
    `select w.login, r.oid::text as oid, coalesce(r.rolcanlogin, false) as "mayLogIn",
            (select count(*)::int from pg_stat_activity a
              where a.usesysid = r.oid and a.datid = d.oid and a.backend_start >= w.granted_at) as newer,
            (select count(*)::int from pg_stat_activity a
              where a.usesysid = r.oid and a.backend_start < w.granted_at) as older,
            clock_timestamp() >= w.granted_at + $4 * interval '1 millisecond' as "isDue",
            case when d.oid is not null then coalesce(pg_stat_get_db_sessions(d.oid), 0)::text end as "databaseSessions"
       from unnest($1::text[], $2::text[], $3::timestamptz[]) w (login, database, granted_at)
       left join pg_roles r on r.rolname = w.login left join pg_database d on d.datname = w.database`,
    [watched.map((w) => w.login), watched.map((w) => w.database), watched.map((w) => w.row.grantedAt), drainMs],
  );
}

/** Reads the counts of these logins in one database, in one session. Missing ones are left out. */
export async function readCounts(
  { server }: Provider,
  database: string,
  logins: readonly string[],
): Promise<Map<string, LoginRow>> {
  return await inDatabase(server, database, async (session) => {
    const counts = new Map<string, LoginRow>();
    for (const login of logins) {
      const row = await readLogin(session, login);
      if (row !== undefined) counts.set(login, row);
    }
    return counts;
  });
}

/** Which databases to enter now, and what their counter will say afterwards if nobody else comes. */
export type Attention = {
  choose(seen: readonly { database: string; sessions: string; isAwaited: boolean }[]): string[];
  entered(database: string, sessionsBefore: string, enteredMs: number): void;
};

/** Remembers what the counter of each database said. Entering one raises its counter by one: our own session. */
export function createAttention(): Attention {
  const known = new Map<string, { sessions: string; enteredMs: number }>();
  return {
    choose(seen) {
      const moved = seen.filter(({ database, sessions }) => known.get(database)?.sessions !== sessions);
      const awaited = moved.filter(({ isAwaited }) => isAwaited).map(({ database }) => database);
      // The rest one at a time, the longest unread first: with many busy consumers the granter must not spend its time on news that nobody waits for.
      const [next] = moved
        .filter(({ isAwaited }) => !isAwaited)
        .toSorted((a, b) => (known.get(a.database)?.enteredMs ?? 0) - (known.get(b.database)?.enteredMs ?? 0));
      return [...new Set(next === undefined ? awaited : [...awaited, next.database])];
    },
    entered(database, sessionsBefore, enteredMs) {
      known.set(database, { sessions: (BigInt(sessionsBefore) + 1n).toString(), enteredMs });
    },
  };
}
