/**
 * The granter's only input: a directory with a readable grant list and one credential file per consumer and generation
 * (S7). The host replaces files whole, so everything is looked at by name, each time.
 */
import { createHash } from 'node:crypto';
import { readFileSync, statSync, watch, type FSWatcher } from 'node:fs';
import path from 'node:path';
import { grantList, grantListFile, type GrantList } from '../../domain/declaration/declaration.ts';
import { errorCode } from './session.ts';

/** A credential, to be used and cleared at once. */
export type Credential = { readonly password: Buffer; readonly digest: string };
export type ListRead = { readonly list: GrantList; readonly digest: string } | { readonly fault: string };

export type Directory = {
  list(): ListRead;
  /** The digest of a credential file as it is now; undefined while there is none. */
  digest(file: string): string | undefined;
  /** Reads a credential; undefined while there is none. The caller clears it. */
  read(file: string): Credential | undefined;
  /** Calls back when something in the directory may have changed. A hint: it may be blind, and the caller looks anyway. */
  close(): void;
};

// A file that changed twice within the clock's step looks the same by its times: only older ones are trusted to be unread.
const settledMs = 2_000;

/** Looks at a directory. `onHint` is called when the watch saw something; the watch is renewed when the directory is replaced. */
export function lookAt(directory: string, onHint: () => void): Directory {
  let read: { text: string; answer: ListRead } | undefined;
  const digests = new Map<string, { mark: string; digest: string }>();
  const watched = watchAgain(directory, onHint);

  const readCredential = (file: string): Credential | undefined => {
    // Every byte counts: a line's end at its end is part of what the consumer holds as well (C43).
    const password = readOrNothing(path.join(directory, file));
    if (password === undefined) return undefined;
    return { password, digest: createHash('sha256').update(password).digest('hex') };
  };
  return {
    list() {
      watched.renew();
      let text: string;
      try {
        text = readFileSync(path.join(directory, grantListFile), 'utf8');
      } catch (error) {
        return {
          fault: `the grant list cannot be read: ${path.join(directory, grantListFile)} (${errorCode(error) ?? 'unknown'})`,
        };
      }
      // Parsed again only when it changed; the answer of before is as good.
      if (read?.text !== text) read = { text, answer: parseList(text) };
      return read.answer;
    },
    digest(file) {
      const found = statSync(path.join(directory, file), { bigint: true, throwIfNoEntry: false });
      if (found === undefined) return undefined;
      const mark = `${found.ino} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`;
      const known = digests.get(file);
      if (known?.mark === mark) return known.digest;
      const credential = readCredential(file);
      if (credential === undefined) return undefined;
      credential.password.fill(0);
      if (Date.now() - Number(found.ctimeMs) > settledMs) digests.set(file, { mark, digest: credential.digest });
      return credential.digest;
    },
    read: readCredential,
    close: () => watched.close(),
  };
}

function parseList(text: string): ListRead {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { fault: 'the grant list is not JSON; what it said before stays granted' };
  }
  const parsed = grantList.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return {
      fault: `the grant list is not one, at ${JSON.stringify(issue?.path.join('.') ?? '')}: ${issue?.message ?? 'unknown'}; what it said before stays granted`,
    };
  }
  // A credential's file is a file of this directory, never a path that leads out of it.
  const leads = parsed.data.grants.find(
    ({ file }) => path.basename(file) !== file || file === '.' || file === '..' || file.includes('\u0000'),
  );
  if (leads !== undefined)
    return { fault: `${JSON.stringify(leads.file)} in the grant list is not the name of a file in the directory` };
  return { list: parsed.data, digest: createHash('sha256').update(text).digest('hex') };
}

function readOrNothing(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Watches a directory, and the new one when another takes its name. */
function watchAgain(directory: string, onHint: () => void): { renew(): void; close(): void } {
  let watcher: FSWatcher | undefined;
  let inode: bigint | undefined;
  const drop = (): void => {
    watcher?.close();
    watcher = undefined;
  };
  return {
    renew() {
      const now = statSync(directory, { bigint: true, throwIfNoEntry: false })?.ino;
      if (now === inode) return;
      drop();
      inode = now;
      if (now === undefined) return;
      try {
        watcher = watch(directory, { persistent: false }, onHint);
        watcher.on('error', drop);
      } catch {
        // No watch to be had (a limit of the machine): the looking at every interval does without.
        drop();
      }
    },
    close: drop,
  };
}
