/** One command at a time raises or lowers a mesh. */
import { link, readFile, rename, rm } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { z } from 'zod';

import { hasCode, writeWhole } from './files.ts';
import { isAlive, startedMark } from './processes.ts';
import { until } from './until.ts';

const holder = z.object({ pid: z.number().int().positive(), startedMark: z.string() });

/**
 * Holds the lock `file` for this process until the returned function is called, or the process ends, however it does.
 * Waits for another holder. Errors: the wait was in vain.
 */
export async function holdState(file: string, withinMs = 120_000): Promise<() => Promise<void>> {
  const mine = `${file}.${randomBytes(4).toString('hex')}`;
  const mark = await startedMark(process.pid);
  await writeWhole(mine, JSON.stringify({ pid: process.pid, startedMark: mark }), 0o600);
  try {
    await until(() => take(file, mine), { withinMs, what: `another mesh command to let go of ${file}` });
  } finally {
    await rm(mine, { force: true });
  }
  return () => rm(file, { force: true });
}

async function take(file: string, mine: string): Promise<boolean> {
  try {
    // A link is made whole or not at all, so a lock always says who holds it.
    await link(mine, file);
    return true;
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return false;
  const held = holder.safeParse(JSON.parse(text));
  if (held.success && (await isAlive(held.data))) return false;
  // Its holder was killed. Moved aside before it is removed: of two who see this, one moves it, and the other's move fails or is looked at again.
  const aside = `${mine}.stale`;
  await rename(file, aside).catch(() => undefined);
  const moved = await readFile(aside, 'utf8').catch(() => undefined);
  if (moved !== undefined && moved !== text) await link(aside, file).catch(() => undefined);
  await rm(aside, { force: true });
  return false;
}
