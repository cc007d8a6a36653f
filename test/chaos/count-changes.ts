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
export async function countChanges(killBefore: number): Promise<(name: string, what: string) => void> {
  // As they are before they are counted themselves.
  const { writeSync, readlinkSync } = fsSync;
  let changes = 0;
  const change = (name: string, what: string): void => {
    changes += 1;
    writeSync(1, `${name} ${what}\n`);
    if (changes === killBefore) process.kill(process.pid, 'SIGKILL');
  };
  /** What a call changes: a name, or what a file is opened as. */
  const changedBy = (name: string, of: unknown, [first, second]: readonly unknown[]): string => {
    const isNumber = typeof first === 'number';
    if (name === 'kill') return String(second);
    const file = /^(rename|link|symlink)/.test(name) ? second : first;
    const handle = isNumber ? first : hasDescriptor(of) ? of.fd : undefined;
    if (handle !== undefined) return path.basename(readlinkSync(`/proc/self/fd/${handle}`));
    return typeof file === 'string' ? path.basename(file) : '';
  };
  const counted = (target: object, names: readonly string[]): void => {
    for (const name of names) {
      const does: unknown = Reflect.get(target, name);
      if (typeof does !== 'function') throw new Error(`there is no ${name}`);
      Reflect.set(target, name, function (this: unknown, ...args: readonly unknown[]): unknown {
        if (!isHarmless(name, args)) change(name, changedBy(name, this, args));
        const answer: unknown = Reflect.apply(does, this, args);
        return answer;
      });
    }
  };
  const handle = await fs.open(process.execPath);
  const ofHandles: unknown = Object.getPrototypeOf(handle);
  if (typeof ofHandles !== 'object' || ofHandles === null) throw new Error('a file handle has no prototype');
  counted(ofHandles, ['writeFile', 'appendFile', 'truncate', 'write', 'writev']);
  await handle.close();
  counted(fs, ['open', 'writeFile', 'appendFile', 'copyFile', 'cp', 'truncate', 'rename', 'link', 'symlink']);
  counted(fs, ['rm', 'rmdir', 'unlink', 'mkdir', 'mkdtemp', 'chmod', 'chown', 'lchown', 'utimes']);
  counted(fsSync, [
    'openSync',
    'writeSync',
    'writeFileSync',
    'appendFileSync',
    'renameSync',
    'linkSync',
    'symlinkSync',
  ]);
  counted(fsSync, ['rmSync', 'rmdirSync', 'unlinkSync', 'mkdirSync', 'chmodSync', 'chownSync', 'truncateSync']);
  counted(childProcess, ['spawn', 'spawnSync', 'exec', 'execFile', 'execFileSync', 'fork']);
  syncBuiltinESMExports();
  counted(process, ['kill']);
  return change;
}

function hasDescriptor(of: unknown): of is { readonly fd: number } {
  return typeof of === 'object' && of !== null && 'fd' in of && typeof of.fd === 'number';
}

/** Whether a call changes nothing that anybody could see: opening to read, asking whether a process is there, one's own temporary going. */
function isHarmless(name: string, [first, second]: readonly unknown[]): boolean {
  if (name === 'writeSync') return typeof first === 'number' && first <= 2;
  if (name === 'open' || name === 'openSync')
    return second === undefined || second === 'r' || (typeof second === 'number' && (second & 3) === 0);
  if (name === 'kill') return second === 0 || first === process.pid;
  return name === 'rm' && typeof first === 'string' && first.endsWith('.tmp');
}
