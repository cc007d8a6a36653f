/** Ending a process with all that it started: its signal, a wait, then KILL of its whole group. */
import { setTimeout as pause } from 'node:timers/promises';
import { hasCode } from '../fault.ts';
import { groupMembers, isAlive, type ProcessIdentity } from './proc.ts';

/** Returns when nothing of the group lives. Throws when even KILL does not end it within ten seconds. */
export async function endGroup(
  identity: ProcessIdentity,
  stop: { readonly signal: NodeJS.Signals; readonly waitMs: number },
): Promise<void> {
  // Asked before every signal: a pid is given again, and a stranger must never be hit.
  if (await isAlive(identity)) {
    signalTo(identity.pid, stop.signal);
    if (await isOverWithin(identity, stop.waitMs)) return;
  }
  if ((await groupMembers(identity.pid)).length > 0 && (await isStillItsGroup(identity)))
    signalTo(-identity.pid, 'SIGKILL');
  if (!(await isOverWithin(identity, 10_000)))
    throw new Error(`process ${identity.pid} cannot be ended, not even by SIGKILL`);
}

/** A pid that names a group is not given again while the group has members: unless the leader is another by now, it is ours. */
async function isStillItsGroup(identity: ProcessIdentity): Promise<boolean> {
  return (await isAlive(identity)) || !(await groupMembers(identity.pid)).includes(identity.pid);
}

async function isOverWithin(identity: ProcessIdentity, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  for (let waitMs = 5; ; waitMs = Math.min(waitMs * 1.5, 50)) {
    if (
      !(await isAlive(identity)) &&
      ((await groupMembers(identity.pid)).length === 0 || !(await isStillItsGroup(identity)))
    )
      return true;
    if (performance.now() > deadline) return false;
    await pause(waitMs);
  }
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It went between the look and the signal, which is what was wanted.
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}
