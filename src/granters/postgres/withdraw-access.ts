/**
 * What is not granted any more (S7, S11): no new login at once, then the sessions, then the rights, then the login.
 * Data, database and owner role stay. Safe to cut anywhere and repeat.
 */
import { z } from 'zod';
import { faultText, GrantFault } from './fault.ts';
import type { Provider } from './grant-access.ts';
import { ownerOf } from './marks.ts';
import { quoted } from './role-names.ts';
import { identifier, inDatabase, literal, type Session } from './session.ts';

const unlisted = z.strictObject({
  login: z.string(),
  oid: z.string(),
  comment: z.string(),
  owner: z.string().nullable(),
  mayLogIn: z.boolean(),
  /** Its grace has a limit, which is the role's VALID UNTIL: it is known to whoever runs next, and the server reads its own clock. */
  isDraining: z.boolean(),
  isDue: z.boolean(),
  sessions: z.int(),
});
export type Unlisted = z.infer<typeof unlisted>;

/** The logins that the granter made on this server and that stand in no list. */
export async function unlistedLogins({ main, marks }: Provider, listed: readonly string[]): Promise<Unlisted[]> {
  return await main.rows(
    unlisted,
    `select r.rolname as login, r.oid::text as oid, coalesce(shobj_description(r.oid, 'pg_authid'), '') as comment,
            ${ownerOf('r.oid', '$3')} as owner, r.rolcanlogin as "mayLogIn",
            not r.rolcanlogin and coalesce(isfinite(r.rolvaliduntil), false) as "isDraining",
            coalesce(r.rolvaliduntil <= clock_timestamp(), false) as "isDue",
            (select count(*)::int from pg_stat_activity a where a.usesysid = r.oid) as sessions
       from pg_roles r join pg_auth_members m on m.member = r.oid join pg_roles k on k.oid = m.roleid
      where k.rolname = $2 and r.rolname <> all ($1) order by r.rolname`,
    [listed, marks.logins, marks.owners],
  );
}

/** Lets nobody log in as this role any more, and its open sessions go on for `drainMs`. */
export async function beginDrain(main: Session, login: string, drainMs: number): Promise<void> {
  const [until] = await main.rows(
    z.strictObject({ at: z.string() }),
    `select (clock_timestamp() + $1 * interval '1 millisecond')::text as at`,
    [drainMs],
  );
  if (until === undefined) throw new GrantFault('the server did not tell its time');
  await main.run(`alter role ${identifier(login)} nologin password null valid until ${literal(until.at)}`);
}

/** Ends a login now: nobody enters any more, and whoever is in is put out. Returns how many sessions were ended. */
export async function endLogin(main: Session, { login, oid, mayLogIn }: Unlisted): Promise<number> {
  if (mayLogIn) await main.run(`alter role ${identifier(login)} nologin password null`);
  return await endSessions(main, oid);
}

/**
 * Ends the sessions of a role, of those that began before a moment only when one is given, and waits until they are gone.
 * Returns how many there were. @throws GrantFault when one does not end.
 */
export async function endSessions(main: Session, oid: string, before?: string): Promise<number> {
  let ended = 0;
  for (let round = 0; round < 5; round += 1) {
    // Whoever was let in just before NOLOGIN may show up only now: look until there is nobody.
    const [answer] = await main.rows(
      z.strictObject({ found: z.int(), ended: z.int() }),
      `select count(*)::int as found, (count(*) filter (where pg_terminate_backend(pid, 2000)))::int as ended
         from pg_stat_activity
        where usesysid = $1::oid and backend_type = 'client backend'
          and ($2::timestamptz is null or backend_start < $2::timestamptz)`,
      [oid, before ?? null],
    );
    ended += answer?.ended ?? 0;
    if (answer === undefined || answer.found === 0) return ended;
  }
  throw new GrantFault('a session of the withdrawn login does not end');
}

const place = z.strictObject({ database: z.string().nullable(), enterable: z.boolean() });

/**
 * Drops a login that nobody uses. What it owns although it should not goes to its owner role, what it was granted is
 * revoked, in every database that holds any of it (C36).
 * @throws GrantFault naming the databases that cannot be entered; the role then stays, without login.
 */
export async function dropLogin(provider: Provider, { login, oid, owner }: Unlisted): Promise<void> {
  const { main, server } = provider;
  const places = await main.rows(
    place,
    `select distinct d.datname as database, coalesce(d.datallowconn, true) as enterable
       from pg_shdepend s left join pg_database d on d.oid = s.dbid
      where s.refclassid = 'pg_authid'::regclass and s.refobjid = $1::oid`,
    [oid],
  );
  if (places.length > 0 && owner === null) {
    throw new GrantFault(`the role ${quoted(login)} has no owner role any more that could take over what it holds`);
  }
  const handOver =
    owner === null
      ? []
      : [`reassign owned by ${identifier(login)} to ${identifier(owner)}`, `drop owned by ${identifier(login)}`];
  const closed: string[] = [];
  for (const { database, enterable } of places) {
    if (database === null || database === main.database) continue;
    if (!enterable) {
      closed.push(`${quoted(database)} takes no connections`);
      continue;
    }
    try {
      await inDatabase(server, database, (session) => session.transaction(handOver));
    } catch (error) {
      if (!main.isOpen()) throw error;
      closed.push(`${quoted(database)}: ${faultText(error)}`);
    }
  }
  if (closed.length > 0) {
    throw new GrantFault(
      `the role ${quoted(login)} cannot log in any more, but is not dropped: it holds something in a database that could not be cleared: ${closed.join('; ')}`,
    );
  }
  await main.transaction([...(places.length > 0 ? handOver : []), `drop role ${identifier(login)}`]);
}
