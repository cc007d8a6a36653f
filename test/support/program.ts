/** A TypeScript file run in a process of its own, which a test may kill. */
import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';

import { translated } from './translated.ts';

/** Starts `node <file> <args>` with its output piped. It dies with the test unless it is ended before. */
export function startTypeScript(
  file: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): ChildProcess {
  const child = spawn(process.execPath, ['--no-warnings', translated(file), ...args], {
    env: { ...env, NODE_OPTIONS: '' },
    // A group of its own, so that a test can do what a terminal does: signal all of it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // A test that fails before it ends the program must not keep jest waiting for it.
  child.unref();
  for (const stream of [child.stdout, child.stderr]) if (stream instanceof Socket) stream.unref();
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.removeListener('exit', kill));
  return child;
}
