/**
 * Which names may become roles and databases (S9, C40). The server cuts a name at 63 bytes without a word, and then
 * speaks of another consumer's role: nothing that does not fit is ever sent to it.
 */
import type { Grant } from '../../domain/declaration/declaration.ts';

const limitBytes = 63;

/** Why the names in a grant cannot be used, as a sentence that quotes the one; undefined when they can. Pure. */
export function namesFault(grant: Pick<Grant, 'login' | 'owner' | 'database'>): string | undefined {
  if (grant.login === grant.owner) return `${quoted(grant.login)} is named both as login and as owner`;
  return roleNameFault(grant.owner) ?? roleNameFault(grant.login) ?? nameFault(grant.database, 'database');
}

/** A name as it is shown to people: one line, whatever stands in it. */
export const quoted = (name: string): string => JSON.stringify(name);

function roleNameFault(name: string): string | undefined {
  if (name.startsWith('pg_')) return `${quoted(name)} cannot be a role: names that begin with pg_ are the server's own`;
  if (name === 'public' || name === 'none') return `${quoted(name)} cannot be a role: the word is the server's own`;
  return nameFault(name, 'role');
}

function nameFault(name: string, what: string): string | undefined {
  if (name === '') return `the name of a ${what} is empty`;
  if (name.includes('\u0000')) return `${quoted(name)} cannot be a ${what}: it holds a zero byte`;
  const bytes = Buffer.byteLength(name);
  return bytes > limitBytes
    ? `${quoted(name)} cannot be a ${what}: it has ${bytes} bytes, the server keeps ${limitBytes}`
    : undefined;
}
