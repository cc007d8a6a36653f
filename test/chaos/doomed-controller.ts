/** Starts the controller that ends itself, and waits for its end. */
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ActingMesh } from '../acts/acting-mesh.ts';
import { startTypeScript } from '../support/program.ts';

const program = fileURLToPath(new URL('controller-program.ts', import.meta.url));
const bundle = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));
/** Longer than the longest act takes to come to its last point. */
const withinMs = 60_000;

let runs = 0;

/**
 * Runs a controller until every act of `plan` (or node) stands at its point and it was killed there, while `world` goes on.
 * Answers every point that any act passed. Errors: it did not come to that; the message names who did not get where.
 */
export async function killAtPoints(
  mesh: ActingMesh,
  plan: ReadonlyMap<string, string>,
  world: () => Promise<unknown>,
): Promise<readonly string[]> {
  runs += 1;
  const planFile = path.join(mesh.stateDir, `plan-${runs}.json`);
  await writeFile(planFile, JSON.stringify(Object.fromEntries(plan)));
  const doomed = startTypeScript(program, [mesh.stateDir, bundle, planFile]);
  let said = '';
  doomed.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(doomed, 'exit');
  const late = setTimeout(() => doomed.kill('SIGKILL'), withinMs);
  await world();
  await ended;
  clearTimeout(late);
  const stopped = (await linesOf(`${planFile}.stopped`)).map((line) => line.split(' ')[0]);
  const missing = [...plan].filter(([of]) => !stopped.includes(of)).map(([of, point]) => `${of} at ${point}`);
  if (missing.length > 0) throw new Error(`the controller was not killed everywhere: ${missing.join(', ')} ${said}`);
  return linesOf(`${planFile}.seen`);
}

async function linesOf(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}
