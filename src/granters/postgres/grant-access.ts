/** One grant, made so on the server: owner role, database, login, password (S8, S9). Safe to cut anywhere and repeat. */
import { z } from 'zod';
import type { Grant } from '../../domain/declaration/declaration.ts';
import { GrantFault } from './fault.ts';
import { markStatement, rolesNamed, type Marks } from './marks.ts';
import { namesFault, quoted } from './role-names.ts';
import { ensureSeenLogins, setPassword, type LoginRow } from './seen-logins.ts';
import { identifier, inDatabase, literal, type Server, type Session } from './session.ts';

/** The server, the connection that works on its shared parts, and the granter's marks there. */
export type Provider = { readonly server: Server; readonly main: Session; readonly marks: Marks };

/**
 * Makes one grant so: afterwards its login works with the password and acts as the owner role only. What is there
 * already is left alone. Returns the login's count.
 * @throws GrantFault when a name is in use by something the granter did not make; then nothing was created.
 */
export async function grantAccess(provider: Provider, grant: Grant, password: Uint8Array): Promise<LoginRow> {
  const there = await examine(provider, grant);
  const { main, marks, server } = provider;
  const owner = identifier(grant.owner);
  const login = identifier(grant.login);
  const database = identifier(grant.database);

  if (!there.owner) {
    await main.transaction([
      `create role ${owner} nologin`,
      `comment on role ${owner} is ${literal(grant.fullName)}`,
      markStatement(marks.owners, grant.owner),
    ]);
  }
  // From template0: nobody can hold it open, which would stop every new consumer.
  if (!there.database) await main.run(`create database ${database} owner ${owner} template template0`);
  await main.transaction([
    ...(there.login
      ? []
      : [
          `create role ${login} nologin noinherit`,
          `comment on role ${login} is ${literal(grant.fullName)}`,
          markStatement(marks.logins, grant.login),
        ]),
    `revoke all on database ${database} from public`,
    // Without INHERIT FALSE a session that resets its role would own what it makes, and the login could not be dropped.
    `grant ${owner} to ${login} with inherit false, set true, admin false`,
    `alter role ${login} noinherit`,
    `alter role ${login} set role = ${literal(grant.owner)}`,
    `grant connect on database ${database} to ${login}`,
  ]);
  const row = await inDatabase(server, grant.database, async (session) => {
    await ensureSeenLogins(session, grant.owner);
    return await setPassword(session, grant, password);
  });
  await prove(main, grant);
  return row;
}

/** What of the grant is there already. @throws GrantFault for a name that is not free and not the granter's (C40). */
async function examine(
  { main, marks }: Provider,
  grant: Grant,
): Promise<{ owner: boolean; login: boolean; database: boolean }> {
  const names = namesFault(grant);
  if (names !== undefined) throw new GrantFault(names);
  const roles = await rolesNamed(main, marks, [grant.owner, grant.login]);
  const owner = roles.get(grant.owner);
  const login = roles.get(grant.login);
  if (owner !== undefined && !owner.isOwner)
    throw new GrantFault(`the role ${quoted(grant.owner)} is in use by something the granter did not make`);
  if (owner !== undefined && owner.comment !== grant.fullName) {
    throw new GrantFault(
      `the role ${quoted(grant.owner)} stands for ${quoted(owner.comment)}, not for ${quoted(grant.fullName)}`,
    );
  }
  if (login !== undefined && !login.isLogin)
    throw new GrantFault(`the role ${quoted(grant.login)} is in use by something the granter did not make`);
  if (login !== undefined && login.owner !== grant.owner && login.owner !== null) {
    throw new GrantFault(
      `the role ${quoted(grant.login)} acts as ${quoted(login.owner)}, not as ${quoted(grant.owner)}`,
    );
  }
  const [database] = await main.rows(
    z.strictObject({ owner: z.string() }),
    'select r.rolname as owner from pg_database d join pg_roles r on r.oid = d.datdba where d.datname = $1',
    [grant.database],
  );
  if (database !== undefined && (database.owner !== grant.owner || owner === undefined)) {
    throw new GrantFault(`the database ${quoted(grant.database)} is in use by something the granter did not make`);
  }
  return { owner: owner !== undefined, login: login !== undefined, database: database !== undefined };
}

/** Nothing is said to be granted that is not (C39). */
async function prove(main: Session, { login, owner, database }: Grant): Promise<void> {
  const [so] = await main.rows(
    z.strictObject({ connects: z.boolean(), acts: z.boolean(), inherits: z.boolean() }),
    `select has_database_privilege(r.oid, d.oid, 'CONNECT') as connects, pg_has_role(r.oid, o.oid, 'SET') as acts,
            pg_has_role(r.oid, o.oid, 'USAGE') as inherits
       from pg_roles r, pg_roles o, pg_database d where r.rolname = $1 and o.rolname = $2 and d.datname = $3`,
    [login, owner, database],
  );
  if (so === undefined || !so.connects || !so.acts || so.inherits) {
    throw new GrantFault(`the role ${quoted(login)} did not keep its rights on the database ${quoted(database)}`);
  }
}
