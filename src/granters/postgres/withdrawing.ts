/**
 * The unlisted part of a pass (S7, S11). A consumer that is wholly gone loses its login and sessions at once. One of
 * which another generation is listed was rotated: its old login takes nobody new and its sessions have a grace.
 */
import type { Grant } from '../../domain/declaration/declaration.ts';
import type { GranterEntry } from '../../domain/report/report.ts';
import { entryFromComment, inState } from './entries.ts';
import { again, faultText } from './fault.ts';
import type { Surroundings } from './surroundings.ts';
import { readLoginComment } from './seen-logins.ts';
import { beginDrain, dropLogin, endLogin, unlistedLogins, type Unlisted } from './withdraw-access.ts';

/** A login that was dropped: whoever was just being let in may show up a moment later. */
export type Dropped = { readonly oid: string; readonly login: string; readonly generation: number };

export type Withdrawing = {
  /** Returns the logins it dropped. */
  pass(listed: readonly Grant[], digest: string, drainMs: number): Promise<readonly Dropped[]>;
};

/** Withdraws what stands in no list; looks at the server when the list changed or something is under way, and else not. */
export function createWithdrawing({ provider, entries, held, retries, changed }: Surroundings): Withdrawing {
  const { main } = provider;
  let doneFor: string | undefined;

  const entryOf = (role: Unlisted): GranterEntry | undefined => {
    const generation = readLoginComment(role.comment)?.generation;
    const known = generation === undefined ? undefined : entries.of(role.login, generation);
    return known ?? entryFromComment(role.login, role.comment);
  };
  const put = (entry: GranterEntry | undefined): void => {
    if (entry === undefined) return;
    entries.put(entry);
    changed();
  };

  /** Returns the login when it is gone, `under-way` when there is more to do. */
  async function withdraw(role: Unlisted, graceMs: number): Promise<Dropped | 'under-way'> {
    let entry = entryOf(role);
    const { login, oid } = role;
    const name = `withdraw ${login}`;
    try {
      if (graceMs > 0 && role.mayLogIn) {
        await beginDrain(main, login, graceMs);
        put(entry && inState(entry, 'draining'));
        return 'under-way';
      }
      if (graceMs > 0 && role.isDraining && !role.isDue && role.sessions > 0) {
        put(entry && inState(entry, 'draining'));
        return 'under-way';
      }
      // Sessions are ended at every pass, whatever keeps the login from being dropped.
      const ended = role.mayLogIn || role.sessions > 0 ? await endLogin(main, role) : 0;
      entry = entry && { ...entry, sessionsEnded: entry.sessionsEnded + ended };
      if (entry !== undefined && ended > 0) put(entry);
      if (!retries.mayTry(name, oid)) return 'under-way';
      await again(() => dropLogin(provider, role));
      retries.succeeded(name);
      put(entry && inState(entry, 'withdrawn'));
      return { oid, login, generation: entry?.generation ?? 0 };
    } catch (error) {
      if (!main.isOpen()) throw error;
      retries.failed(name, oid);
      put(entry && inState(entry, 'fault', faultText(error)));
      return 'under-way';
    }
  }

  return {
    async pass(listed, digest, drainMs) {
      if (doneFor === digest) return [];
      const logins = listed.map(({ login }) => login);
      const owners = new Set(listed.map(({ owner }) => owner));
      for (const login of held.keys()) if (!logins.includes(login)) held.delete(login);
      const roles = await unlistedLogins(provider, logins);
      const dropped: Dropped[] = [];
      let isDone = true;
      for (const role of roles) {
        const isRotated = role.owner !== null && owners.has(role.owner);
        const answer = await withdraw(role, isRotated ? drainMs : 0);
        if (answer === 'under-way') isDone = false;
        else dropped.push(answer);
      }
      // What is neither listed nor on the server is gone, whoever took it.
      const gone = new Set(dropped.map(({ login }) => login));
      for (const entry of entries.all()) {
        const isThere =
          logins.includes(entry.login) || roles.some(({ login }) => login === entry.login && !gone.has(login));
        if (!isThere && entry.state !== 'withdrawn') put(inState(entry, 'withdrawn'));
      }
      if (isDone) doneFor = digest;
      return dropped;
    },
  };
}
