// Lets a plain `node --import` run the sources: for tests that need a process of its own to kill. What was translated once is
// kept in the run's own temporary folder, if there is one (scripts/test.mjs): some tests start hundreds of processes.
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) register(import.meta.url);

const isRunsOwn = path.basename(tmpdir()).startsWith('mesh-test-');
const kept = path.join(tmpdir(), 'translated');

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const file = fileURLToPath(url);
  const written = await readFile(file, 'utf8');
  const known = path.join(kept, `${createHash('sha256').update(file).update('\0').update(written).digest('hex')}.mjs`);
  const source =
    (isRunsOwn && (await readFile(known, 'utf8').catch(() => undefined))) || (await translate(written, file, known));
  return { format: 'module', source, shortCircuit: true };
}

async function translate(written, file, known) {
  const { transform } = await import('@swc/core');
  const { code } = await transform(written, {
    filename: file,
    jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    module: { type: 'es6' },
    sourceMaps: 'inline',
  });
  if (!isRunsOwn) return code;
  await mkdir(kept, { recursive: true, mode: 0o700 });
  // Whole or not at all: another process may be reading it.
  const next = `${known}.${process.pid}`;
  await writeFile(next, code);
  await rename(next, known);
  return code;
}
