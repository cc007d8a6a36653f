/** Runs the built command as a child process, as a person would. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const mesh = fileURLToPath(new URL('../../bin/mesh', import.meta.url));

export type Ran = { readonly code: number | null; readonly stdout: string; readonly stderr: string };
export type How = {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Uint8Array;
  /** What has to be seen on stdout before `input` is given, which then stays open: somebody who waits to be asked. */
  readonly after?: string;
};

/** Where whoever runs the tests has the foundation's programs: in a home of its own each `mesh up` would fetch them anew. */
const cache = { XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache') };

/** A new folder that nothing else uses. */
export function emptyFolder(): string {
  return mkdtempSync(path.join(os.tmpdir(), 'mesh-cli-'));
}

/** What the command says with nothing configured but what is given: no colours asked for, no state, no terminal. */
export function runMesh(args: readonly string[], how: How = {}): Promise<Ran> {
  return run(process.execPath, [mesh, ...args], how);
}

/** The same on a terminal: both streams come back as one, as the person sees them. `input` is typed. */
export function runMeshOnTerminal(args: readonly string[], how: How = {}): Promise<Ran> {
  const line = [process.execPath, mesh, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  return run('script', ['-qec', line, '/dev/null'], how);
}

/** A whole line of a shell on a terminal, as the person sees it. */
export function runLineOnTerminal(line: string, how: How = {}): Promise<Ran> {
  return run('script', ['-qec', `sh -c '${line}'`, '/dev/null'], how);
}

/** `mesh`, for a line of a shell. */
export const meshInShell = `${process.execPath} ${mesh}`;

async function run(program: string, args: readonly string[], { cwd, env, input, after }: How): Promise<Ran> {
  const home = emptyFolder();
  const child = spawn(program, args, {
    cwd: cwd ?? home,
    env: { PATH: process.env['PATH'] ?? '', HOME: home, SHELL: '/bin/sh', TERM: 'xterm', ...cache, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  let isAsked = after === undefined;
  // What never asks, or goes on asking, would wait for ever: it is ended, and the test sees how far it came.
  const deadline = after === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), 20_000);
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk;
    if (isAsked || after === undefined || !stdout.includes(after)) return;
    isAsked = true;
    child.stdin.write(input ?? '');
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  child.stdin.on('error', () => undefined);
  if (after === undefined) child.stdin.end(input ?? '');
  await once(child, 'close');
  clearTimeout(deadline);
  return { code: child.exitCode, stdout, stderr };
}

/** Starts the command and leaves it running; `ended` answers its exit code. */
export function startMesh(args: readonly string[]) {
  const home = emptyFolder();
  const child = spawn(process.execPath, [mesh, ...args], {
    cwd: home,
    env: { PATH: process.env['PATH'] ?? '', HOME: home, ...cache },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const ended = once(child, 'close').then(() => child.exitCode);
  return { child, ended, stdout: () => stdout, stderr: () => stderr };
}

/** The one object that an answer in JSON is. */
export function asJson(text: string): Record<string, unknown> {
  return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
}
