/**
 * How it becomes known that a login was used, however shortly (S8): a login event trigger in each consumer's database
 * counts in a table. Both are the superuser's, in a schema of its own that the consumer may read (else it could not
 * dump its database) and can neither change nor drop.
 */
import { z } from 'zod';
import type { Grant } from '../../domain/declaration/declaration.ts';
import { faultText, GrantFault, isAgainstARule, PasswordRefused } from './fault.ts';
import { isVerifierOf, makeVerifier } from './scram.ts';
import { identifier, literal, type Session } from './session.ts';

export const loginRow = z.strictObject({
  generation: z.int(),
  /** The generation that this login had before; its sessions are the ones older than `grantedAt`. */
  replaced: z.int().nullable(),
  /** The server's clock with microseconds, as text: a Date would lose them. */
  grantedAt: z.string(),
  seen: z.int(),
  lastSeenAt: z.string().nullable(),
});
export type LoginRow = z.infer<typeof loginRow>;

const columns = `generation, replaced, granted_at::text as "grantedAt", least(seen, 2147483647)::int as seen,
  to_char(last_seen_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "lastSeenAt"`;

const version = 'mesh: counts logins, 1';

// Swallows every error of its own: a trigger that fails would lock the consumer out. A session that began before the
// grant used the password before it, so it does not count. Nothing waits for the disk: a login stays as fast as it was.
const triggerFunction = `create or replace function mesh_granter.note_login() returns event_trigger
  language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $note$
begin
  perform set_config('synchronous_commit', 'off', true);
  update mesh_granter.logins set seen = seen + 1, last_seen_at = clock_timestamp()
   where login = session_user
     and granted_at <= (select backend_start from pg_stat_get_activity(pg_backend_pid()));
exception when others or query_canceled then null;
end $note$`;

/** Makes the schema, table and trigger in a consumer's database where anything of them is missing; whole or not at all. */
export async function ensureSeenLogins(session: Session, owner: string): Promise<void> {
  const [there] = await session.rows(
    z.strictObject({ ours: z.boolean(), whole: z.boolean() }),
    `select r.rolsuper as ours,
            coalesce(obj_description(n.oid, 'pg_namespace') = $1, false)
              and exists (select from pg_event_trigger where evtname = 'mesh_granter_login' and evtenabled = 'A') as whole
       from pg_namespace n join pg_roles r on r.oid = n.nspowner where n.nspname = 'mesh_granter'`,
    [version],
  );
  if (there?.ours === false) {
    throw new GrantFault(
      `the schema "mesh_granter" in the database ${JSON.stringify(session.database)} is not the superuser's`,
    );
  }
  if (there?.whole === true) return;
  await session.transaction([
    'create schema if not exists mesh_granter',
    `create table if not exists mesh_granter.logins (
       login name primary key, generation int not null, replaced int, granted_at timestamptz not null,
       seen bigint not null default 0, last_seen_at timestamptz) with (fillfactor = 50)`,
    'revoke all on schema mesh_granter from public',
    `grant usage on schema mesh_granter to ${identifier(owner)}`,
    `grant select on mesh_granter.logins to ${identifier(owner)}`,
    triggerFunction,
    'drop event trigger if exists mesh_granter_login',
    'create event trigger mesh_granter_login on login execute function mesh_granter.note_login()',
    'alter event trigger mesh_granter_login enable always',
    `comment on schema mesh_granter is ${literal(version)}`,
  ]);
}

/** The count of one login; undefined when there is none. */
export async function readLogin(session: Session, login: string): Promise<LoginRow | undefined> {
  const [row] = await session.rows(loginRow, `select ${columns} from mesh_granter.logins where login = $1`, [login]);
  return row;
}

/**
 * Makes a grant's password and generation the login's, and its count begin at nothing, unless they are so already.
 * The password, the generation in the role's comment and the count change in one transaction. A password that works under
 * another generation's number is left as it is, count included: whoever is in with it stays in.
 * @throws PasswordRefused when a rule of the server does not admit it; then the login is as it was.
 */
export async function setPassword(session: Session, grant: Grant, password: Uint8Array): Promise<LoginRow> {
  const [role] = await session.rows(
    z.strictObject({ verifier: z.string().nullable(), mayLogIn: z.boolean() }),
    `select rolpassword as verifier, rolcanlogin and coalesce(rolvaliduntil = 'infinity', true) as "mayLogIn"
       from pg_authid where rolname = $1`,
    [grant.login],
  );
  if (role === undefined) throw new GrantFault(`the role ${JSON.stringify(grant.login)} went away meanwhile`);
  const row = await readLogin(session, grant.login);
  const isKept = role.verifier !== null && isVerifierOf(role.verifier, password);
  if (isKept && role.mayLogIn && row?.generation === grant.generation) return row;

  const login = identifier(grant.login);
  const comment = `comment on role ${login} is ${literal(loginComment(grant))}`;
  if (isKept && role.mayLogIn && row !== undefined) {
    await session.transaction([
      comment,
      `update mesh_granter.logins set generation = ${grant.generation} where login = ${literal(grant.login)}`,
    ]);
    return { ...row, generation: grant.generation };
  }
  const verifier = isKept && role.verifier !== null ? role.verifier : makeVerifier(password);
  const changes = [
    `alter role ${login} login password ${literal(verifier)} valid until 'infinity'`,
    comment,
    `insert into mesh_granter.logins (login, generation, granted_at)
       values (${literal(grant.login)}, ${grant.generation}, clock_timestamp())
     on conflict (login) do update set generation = excluded.generation, granted_at = excluded.granted_at, seen = 0,
       last_seen_at = null,
       replaced = case when logins.generation <> excluded.generation then logins.generation else logins.replaced end`,
  ];
  await session.transaction(changes).catch((error: unknown) => {
    if (!isAgainstARule(error)) throw error;
    const said = faultText(error).replaceAll(verifier, '…');
    throw new PasswordRefused(`the server refuses the password of ${JSON.stringify(grant.login)}: ${said}`);
  });
  if (!isKept && role.mayLogIn) {
    // A session that began while the transaction ran may still have used the password before: begin to count after it.
    await session.run(
      `update mesh_granter.logins set granted_at = clock_timestamp(), seen = 0, last_seen_at = null
        where login = ${literal(grant.login)}`,
    );
  }
  const made = await readLogin(session, grant.login);
  if (made === undefined) throw new GrantFault(`the count of ${JSON.stringify(grant.login)} went away meanwhile`);
  return made;
}

/** A login's comment: the full name that it stands for (S9), and its generation. */
export const loginComment = (grant: Pick<Grant, 'fullName' | 'generation'>): string =>
  `${grant.fullName}, generation ${grant.generation}`;

/** Reads a login's comment back; undefined when it is not one. */
export function readLoginComment(comment: string): { fullName: string; generation: number } | undefined {
  const parts = /^(.*), generation ([1-9]\d{0,8})$/s.exec(comment);
  const [, fullName, generation] = parts ?? [];
  return fullName === undefined || generation === undefined ? undefined : { fullName, generation: Number(generation) };
}
