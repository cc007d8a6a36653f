/**
 * How the granter knows its own: every role it makes is a member of one of two marker roles, and it never changes a
 * role that is not. The membership gives the member nothing (no inheritance, no SET ROLE), and only a superuser can
 * take it away.
 */
import { z } from 'zod';
import { GrantFault } from './fault.ts';
import { quoted } from './role-names.ts';
import { identifier, literal, type Session } from './session.ts';

/** The marker roles: one for owner roles, one for logins. Granters of two meshes on one server need different ones. */
export type Marks = { readonly owners: string; readonly logins: string };

export const marksNamed = (marker: string): Marks => ({ owners: `${marker}_owners`, logins: `${marker}_logins` });

const comment = 'mesh: marks the roles that a granter made';

/** Makes the marker roles where they are missing. @throws GrantFault when a role of that name is somebody else's. */
export async function ensureMarks(main: Session, marks: Marks): Promise<void> {
  const there = await main.rows(
    z.strictObject({ name: z.string(), comment: z.string() }),
    `select rolname as name, coalesce(shobj_description(oid, 'pg_authid'), '') as comment
       from pg_roles where rolname = any ($1)`,
    [[marks.owners, marks.logins]],
  );
  const foreign = there.find((role) => role.comment !== comment);
  if (foreign !== undefined)
    throw new GrantFault(`the role ${quoted(foreign.name)} is there and is not a granter's mark`);
  for (const name of [marks.owners, marks.logins]) {
    if (there.some((role) => role.name === name)) continue;
    await main.transaction([
      `create role ${identifier(name)} nologin noinherit`,
      `comment on role ${identifier(name)} is ${literal(comment)}`,
    ]);
  }
}

/** The statement that marks a role as the granter's. */
export const markStatement = (mark: string, role: string): string =>
  `grant ${identifier(mark)} to ${identifier(role)} with inherit false, set false, admin false`;

export const roleFacts = z.strictObject({
  name: z.string(),
  oid: z.string(),
  comment: z.string(),
  isOwner: z.boolean(),
  isLogin: z.boolean(),
  /** The owner role that a login acts as. */
  owner: z.string().nullable(),
});
export type RoleFacts = z.infer<typeof roleFacts>;

/** What the server knows of the roles of these names, by name. */
export async function rolesNamed(
  main: Session,
  marks: Marks,
  names: readonly string[],
): Promise<Map<string, RoleFacts>> {
  const roles = await main.rows(
    roleFacts,
    `select r.rolname as name, r.oid::text as oid, coalesce(shobj_description(r.oid, 'pg_authid'), '') as comment,
            exists (select from pg_auth_members m join pg_roles k on k.oid = m.roleid
                     where m.member = r.oid and k.rolname = $2) as "isOwner",
            exists (select from pg_auth_members m join pg_roles k on k.oid = m.roleid
                     where m.member = r.oid and k.rolname = $3) as "isLogin",
            ${ownerOf('r.oid', '$2')} as owner
       from pg_roles r where r.rolname = any ($1)`,
    [names, marks.owners, marks.logins],
  );
  return new Map(roles.map((role) => [role.name, role]));
}

/** SQL: the name of the marked owner role that a login is a member of. */
export const ownerOf = (loginOid: string, ownersMark: string): string => `(
  select o.rolname from pg_auth_members m join pg_roles o on o.oid = m.roleid
    join pg_auth_members marked on marked.member = o.oid join pg_roles k on k.oid = marked.roleid
   where m.member = ${loginOid} and k.rolname = ${ownersMark} limit 1)`;
