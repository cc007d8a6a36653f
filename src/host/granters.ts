/**
 * The status files of granters, which the host carries in its reports (S8). They are read inside the node's root, as
 * anybody may have written them: what is not a status is said and left out.
 *
 * Writers replace the file, so a watch of its path goes blind: its directory is watched, and it is looked at every
 * 100 ms besides.
 */
import { watch, type FSWatcher } from 'node:fs';
import { constants, open } from 'node:fs/promises';
import path from 'node:path';
import type { Declaration } from '../domain/declaration/declaration.ts';
import { granterStatus, type Report } from '../domain/report/report.ts';
import { errorChain, hasCode } from './fault.ts';
import { folderOf, inFolder, rooted } from './folder.ts';
import type { Say } from './log.ts';

type Granter = Declaration['granters'][number];
export type Carried = Report['granters'];

const lookEveryMs = 100;
const limitBytes = 256 * 1024;

/** Reads the status files as they are now; one that is not there yet is left out. Never rejects. */
export async function readStatuses(root: string, granters: readonly Granter[], say: Say): Promise<Carried> {
  const read = await Promise.all(granters.map((granter) => readStatus(root, granter, say)));
  return read.flat();
}

async function readStatus(root: string, { module, status }: Granter, say: Say): Promise<Carried> {
  try {
    const text = await inFolder(root, folderOf(status), undefined, async (folder) => {
      const handle = await open(
        `${folder.at}/${path.posix.basename(status)}`,
        constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
      );
      try {
        const { size } = await handle.stat();
        if (size > limitBytes) throw new Error(`it has ${size} bytes, more than ${limitBytes}`);
        return await handle.readFile('utf8');
      } finally {
        await handle.close();
      }
    });
    return [{ module, status: granterStatus.parse(JSON.parse(text)) }];
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    say.warn({ module, file: status, error: errorChain(error) }, 'a status file cannot be read');
    return [];
  }
}

export type GranterWatch = {
  /** Watches these from now on, and no others. */
  follow(granters: readonly Granter[]): void;
  /** These were reported: only what differs from them is a change. */
  told(carried: Carried): void;
  close(): void;
};

/** Calls `changed` when the followed status files say something else than what was last told. */
export function watchGranters(root: string, say: Say, changed: () => void): GranterWatch {
  let followed: readonly Granter[] = [];
  let said = '[]';
  let looking = false;
  let again = false;
  let watchers: readonly FSWatcher[] = [];

  async function look(): Promise<void> {
    again = looking;
    if (looking) return;
    looking = true;
    const now = JSON.stringify(await readStatuses(root, followed, quiet));
    looking = false;
    // A change is called once: whoever is called tells what it then reported, which may be newer still.
    if (now !== said) changed();
    said = now;
    if (again) await look();
  }
  const timer = setInterval(() => void look(), lookEveryMs);
  timer.unref();

  return {
    follow(granters) {
      if (JSON.stringify(granters) === JSON.stringify(followed) && watchers.length > 0) return;
      followed = granters;
      for (const watcher of watchers) watcher.close();
      watchers = [...new Set(granters.map(({ status }) => rooted(root, folderOf(status))))].flatMap((folder) =>
        watchFolder(folder, () => void look(), say),
      );
    },
    told(carried) {
      said = JSON.stringify(carried);
    },
    close() {
      clearInterval(timer);
      for (const watcher of watchers) watcher.close();
      followed = [];
    },
  };
}

// Looking ten times a second would say the same fault ten times a second; each pass says it once.
const quiet: Say = { info: () => undefined, warn: () => undefined, error: () => undefined };

function watchFolder(folder: string, heard: () => void, say: Say): readonly FSWatcher[] {
  try {
    const watcher = watch(folder, { persistent: false }, heard);
    // The watch is only the faster of two ways: the other goes on.
    watcher.on('error', (error) => say.warn({ folder, error: errorChain(error) }, 'a folder cannot be watched'));
    return [watcher];
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) say.warn({ folder, error: errorChain(error) }, 'a folder cannot be watched');
    return [];
  }
}
