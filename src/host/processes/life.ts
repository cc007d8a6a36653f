/** One run of a process, as this host knows it. Times are of the monotonic clock, ms. */
import type { ChildProcess } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { isAlive, type ProcessIdentity } from './proc.ts';

export type Life = {
  /** Absent until its shell has said who it is. */
  identity?: ProcessIdentity;
  /** Absent when an earlier host started it. */
  readonly child?: ChildProcess;
  readonly startedAt?: number;
  endedAt?: number;
  /** How it ended, as one says it: "with exit code 1". */
  ended: string;
  /** Whether its ending has been counted. */
  counted: boolean;
};

/** What is said of an ending that nobody saw. */
export const unseenEnding = 'while no host was looking';

export async function isRunning(life: Life): Promise<boolean> {
  if (life.endedAt !== undefined) return false;
  return life.identity === undefined ? life.child !== undefined : isAlive(life.identity);
}

/** How long it has run, or ran; Infinity when an earlier host started it. */
export function ranMs(life: Life): number {
  return life.startedAt === undefined ? Infinity : (life.endedAt ?? performance.now()) - life.startedAt;
}

/** The kernel knows of an ending before the host is told with which code: waits for that word, but not for long. */
export async function untilToldOfEnding(life: Life): Promise<void> {
  const deadline = performance.now() + 1_000;
  while (life.child !== undefined && life.endedAt === undefined && performance.now() < deadline) await pause(5);
}
