/** Whether a process is what it says it is when it is ready: a port that answers, a file it wrote, a line in its log. */
import { open, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { hasCode } from '../fault.ts';
import type { Ready } from './launch-spec.ts';

/** The part of a log that is searched: what a program says at its start. */
const logSearchBytes = 4 * 1024 * 1024;
/** Files are stamped by the kernel's coarse clock, which runs a little behind. */
const coarseClockMs = 50;

/** One look. `since`: how long the log was, and what the clock said (ms), when the process was started. */
export async function isReady(
  ready: Ready,
  log: string,
  since: { readonly logOffset: number; readonly startedAt: number },
): Promise<boolean> {
  if ('port' in ready) return answers(ready.address, ready.port);
  if ('file' in ready) return wasWrittenSince(ready.file, since.startedAt - coarseClockMs);
  return (await logSince(log, since.logOffset)).includes(ready.log);
}

/** What is awaited, as a failure names it. */
export function awaited(ready: Ready): string {
  if ('port' in ready) return `port ${ready.port} of ${ready.address} to answer`;
  if ('file' in ready) return `${ready.file} to be written`;
  return 'the line in its log that says so';
}

function answers(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, timeout: 1_000 });
    const settle = (does: boolean) => {
      socket.destroy();
      resolve(does);
    };
    socket.once('connect', () => settle(true));
    socket.once('timeout', () => settle(false));
    socket.once('error', () => settle(false));
  });
}

async function wasWrittenSince(file: string, startedAt: number): Promise<boolean> {
  try {
    return (await stat(file)).mtimeMs >= startedAt;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

async function logSince(file: string, offset: number): Promise<string> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    const buffer = Buffer.alloc(Math.max(0, Math.min(size - offset, logSearchBytes)));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, offset);
    return buffer.subarray(0, bytesRead).toString('utf8');
  } finally {
    await handle.close();
  }
}

/** How many lines a process has written since it was started: a report tells that there is something to read, never what. */
export async function linesSince(file: string, offset: number): Promise<number> {
  return (await logSince(file, offset)).split('\n').length - 1;
}
