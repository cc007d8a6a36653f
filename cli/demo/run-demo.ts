import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { shellOn } from './shell.ts';
import { walk, type Summary } from './tour.ts';

/**
 * Runs the tour in a fresh folder, and takes its mesh down and the folder away afterwards, also when a step failed, unless
 * it is to be kept. The commands and what they print go to stderr, so that stdout holds the summary alone.
 */
export async function runDemo({ keep }: { readonly keep: boolean }): Promise<Summary> {
  const stateFolder = await mkdtemp(path.join(tmpdir(), 'mesh-demo-'));
  const print = (text: string): void => void process.stderr.write(text);
  const shell = shellOn(stateFolder, print);
  try {
    return await walk(shell, stateFolder, (line) => print(`\n# ${line}\n`));
  } finally {
    if (keep)
      print(`\nThe mesh stays. Look: mesh status --state ${stateFolder}   End it: mesh down --state ${stateFolder}\n`);
    else {
      await shell.show(['down']);
      await rm(stateFolder, { recursive: true, force: true });
      print(`\n# ${stateFolder} is removed, with all that was kept in it; --keep leaves the mesh running.\n`);
    }
  }
}
