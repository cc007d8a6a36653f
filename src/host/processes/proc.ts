/**
 * Processes as the kernel knows them. A pid alone names nothing for long: with the start time, and the machine's own
 * start, it names one process for ever.
 */
import { readFile, readdir } from 'node:fs/promises';
import { hasCode } from '../fault.ts';

export type ProcessIdentity = {
  readonly pid: number;
  /** Field 22 of /proc/<pid>/stat: clock ticks since the machine started. */
  readonly start: string;
  /** The kernel's id of this start of the machine. */
  readonly boot: string;
};

type Stat = { readonly state: string; readonly group: number; readonly start: string };

/** Reads the line `<pid> <start> <boot>`; undefined for anything else. */
export function processIdentity(line: string): ProcessIdentity | undefined {
  const found = /^([1-9][0-9]*) ([0-9]+) ([0-9a-f-]+)\n?$/.exec(line);
  const [, pid, start, boot] = found ?? [];
  return pid === undefined || start === undefined || boot === undefined ? undefined : { pid: Number(pid), start, boot };
}

/** Whether the very process lives. One that ended and that nobody waits for (a zombie) does not. */
export async function isAlive(identity: ProcessIdentity): Promise<boolean> {
  const stat = await readStat(identity.pid);
  return (
    stat !== undefined && stat.start === identity.start && !isOver(stat) && identity.boot === (await machineStart())
  );
}

/** The process that asks. */
export async function presentProcess(): Promise<ProcessIdentity> {
  const stat = await readStat(process.pid);
  if (stat === undefined) throw new Error('the host cannot read /proc, which it knows its processes by');
  return { pid: process.pid, start: stat.start, boot: await machineStart() };
}

/** The pids of a process group that still live; a group may outlive its leader. */
export async function groupMembers(group: number): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map(async (pid) => ({ pid, stat: await readStat(pid) })));
  return stats.flatMap(({ pid, stat }) => (stat !== undefined && stat.group === group && !isOver(stat) ? [pid] : []));
}

function isOver(stat: Stat): boolean {
  return stat.state === 'Z' || stat.state === 'X';
}

async function readStat(pid: number): Promise<Stat | undefined> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ESRCH')) return '';
    throw error;
  });
  // The name in parentheses may itself hold spaces and parentheses: what follows the last one is fixed.
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
  const [state, , group] = fields;
  const start = fields[19];
  if (state === undefined || group === undefined || start === undefined) return undefined;
  return { state, group: Number(group), start };
}

async function machineStart(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}
