/** The listed part of a pass: each grant is made so when it, its credential or the connection is new. */
import type { Grant } from '../../domain/declaration/declaration.ts';
import { entryFor, inState } from './entries.ts';
import { again, faultText, GrantFault, PasswordRefused } from './fault.ts';
import { grantAccess } from './grant-access.ts';
import type { Surroundings } from './surroundings.ts';
import type { LoginRow } from './seen-logins.ts';

export type Granting = { keep(grant: Grant): Promise<void> };

/** Keeps grants made. A grant that fails leaves its entry with a fault and is tried again, later each time. */
export function createGranting({ provider, directory, entries, held, retries, changed }: Surroundings): Granting {
  const sayGranted = (grant: Grant, row: LoginRow): void => {
    const before = entries.of(grant.login, grant.generation);
    entries.put({
      ...entryFor(grant, 'granted', before),
      seen: row.seen,
      ...(row.lastSeenAt === null ? {} : { lastSeenAt: row.lastSeenAt }),
    });
    changed();
  };
  const sayFault = (grant: Grant, error: unknown): void => {
    const before = entries.of(grant.login, grant.generation);
    const entry = inState(entryFor(grant, 'fault', before), 'fault', faultText(error));
    entries.put(error instanceof PasswordRefused ? { ...entry, valueRefused: true } : entry);
    changed();
  };
  return {
    async keep(grant) {
      const text = JSON.stringify(grant);
      let about = text;
      try {
        const digest = directory.digest(grant.file);
        const there = held.get(grant.login);
        // A file that goes before its grant leaves the list takes nothing away: the list alone says what is granted.
        if (there !== undefined && (digest ?? there.digest) === there.digest && JSON.stringify(there.grant) === text)
          return;
        about = `${text} ${digest ?? ''}`;
        if (!retries.mayTry(grant.login, about)) return;
        const credential = directory.read(grant.file);
        if (credential === undefined)
          throw new GrantFault(`its credential file ${JSON.stringify(grant.file)} is not there`);
        try {
          if (credential.password.length === 0)
            throw new GrantFault(`its credential file ${JSON.stringify(grant.file)} is empty`);
          // The server would keep it, and no client could ever send it (C43).
          if (credential.password.includes(0))
            throw new GrantFault(`its credential file ${JSON.stringify(grant.file)} holds a NUL byte`);
          const row = await again(() => grantAccess(provider, grant, credential.password));
          held.set(grant.login, { grant, digest: credential.digest, row });
          sayGranted(grant, row);
        } finally {
          credential.password.fill(0);
        }
        retries.succeeded(grant.login);
      } catch (error) {
        if (!provider.main.isOpen()) throw error;
        retries.failed(grant.login, about);
        // What was made sure of is in doubt; an older password of the same login goes on as it was.
        if (held.get(grant.login)?.grant.generation === grant.generation) held.delete(grant.login);
        sayFault(grant, error);
      }
    },
  };
}
