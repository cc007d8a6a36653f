/** What a mesh on this machine weighs: the memory of every process that belongs to its state folder, shared pages counted once. */
import { readFile, readdir } from 'node:fs/promises';

type Seen = { readonly pid: number; readonly parent: number; readonly belongs: boolean };

/** Samples until stopped; answers the highest sum, MiB. Linux only: elsewhere there is no /proc, and the answer is 0. */
export function watchMemory(stateDir: string, everyMs: number): { stop(): Promise<number> } {
  let peakKiB = 0;
  let going = true;
  const run = (async (): Promise<void> => {
    while (going) {
      peakKiB = Math.max(peakKiB, await weigh(stateDir));
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  })();
  return {
    async stop() {
      going = false;
      await run;
      return Math.ceil(peakKiB / 1024);
    },
  };
}

/** KiB of all processes whose command names the state folder, and of all that they started. */
async function weigh(stateDir: string): Promise<number> {
  const names = await readdir('/proc').catch(() => []);
  const seen = (
    await Promise.all(names.filter((name) => /^\d+$/.test(name)).map((pid) => look(Number(pid), stateDir)))
  ).flat();
  const ours = new Set(seen.filter((process) => process.belongs).map((process) => process.pid));
  for (let grew = true; grew;) {
    const before = ours.size;
    for (const process of seen) if (ours.has(process.parent)) ours.add(process.pid);
    grew = ours.size > before;
  }
  const sizes = await Promise.all([...ours].map(proportionalKiB));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function look(pid: number, stateDir: string): Promise<readonly Seen[]> {
  try {
    const [command, stat] = await Promise.all([
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
      readFile(`/proc/${pid}/stat`, 'utf8'),
    ]);
    const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [{ pid, parent: Number(parent), belongs: command.includes(stateDir) }];
  } catch {
    // It ended between the listing and the look.
    return [];
  }
}

async function proportionalKiB(pid: number): Promise<number> {
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0);
}
