/** Counts whatever a process changes on its machine through Node's own functions, and ends it by SIGKILL before the one asked for. */
import childProcess from 'node:child_process';
import fsSync from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';

/**
 * Counts from now on, before anything else is imported: says each change on stdout, a line each, and is gone before the
 * `killBefore`-th (0: never). Answers how to count what does not go through Node's functions.
 */
export async function countChanges(killBefore: number): Promise<(name: string, what: unknown) => void> {
  // As it is before it is counted itself.
  const { writeSync } = fsSync;
  let changes = 0;
  const change = (name: string, what: unknown): void => {
    changes += 1;
    writeSync(1, `${name} ${typeof what === 'string' ? path.basename(what) : ''}\n`);
    if (changes === killBefore) process.kill(process.pid, 'SIGKILL');
  };
  const counted = (target: object, names: readonly string[]): void => {
    for (const name of names) {
      const does: unknown = Reflect.get(target, name);
      if (typeof does !== 'function') throw new Error(`there is no ${name}`);
      Reflect.set(target, name, function (this: unknown, ...args: readonly unknown[]): unknown {
        if (!isHarmless(name, args)) change(name, args[/^(rename|link)/.test(name) ? 1 : 0]);
        const answer: unknown = Reflect.apply(does, this, args);
        return answer;
      });
    }
  };
  const handle = await fs.open(process.execPath);
  const ofHandles: unknown = Object.getPrototypeOf(handle);
  if (typeof ofHandles !== 'object' || ofHandles === null) throw new Error('a file handle has no prototype');
  counted(ofHandles, ['writeFile', 'truncate', 'write']);
  await handle.close();
  counted(fs, ['open', 'writeFile', 'rename', 'link', 'symlink', 'rm', 'rmdir', 'unlink', 'mkdir']);
  counted(fsSync, ['openSync', 'writeSync', 'writeFileSync', 'renameSync', 'rmSync', 'mkdirSync']);
  counted(childProcess, ['spawn']);
  syncBuiltinESMExports();
  counted(process, ['kill']);
  return change;
}

/** Whether a call changes nothing that anybody could see: opening to read, asking whether a process is there, one's own temporary going. */
function isHarmless(name: string, [first, second]: readonly unknown[]): boolean {
  if (name === 'writeSync') return typeof first === 'number' && first <= 2;
  if (name === 'open' || name === 'openSync')
    return second === undefined || second === 'r' || (typeof second === 'number' && (second & 3) === 0);
  if (name === 'kill') return second === 0 || first === process.pid;
  return name === 'rm' && typeof first === 'string' && first.endsWith('.tmp');
}
