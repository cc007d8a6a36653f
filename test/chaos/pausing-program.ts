/**
 * A controller one step of which falls asleep at a point, without a beat, until a file is there; then it goes on in the middle
 * of that step. Run with: state folder, workflow bundle, plan file, which names the act and the point. Beside it, `<plan>.seen`
 * gets every point that was passed, `<plan>.stopped` the one it sleeps at, and `<plan>.go` wakes it.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pino from 'pino';
import { z } from 'zod';
import { runController } from '../../src/workers/controller.ts';

const [stateDir = '', bundle = '', planFile = ''] = process.argv.slice(2);
const plan = z.strictObject({ of: z.string(), point: z.string() }).parse(JSON.parse(readFileSync(planFile, 'utf8')));
let hasStopped = false;

async function reached(point: string, of: string): Promise<void> {
  appendFileSync(`${planFile}.seen`, `${point}\n`);
  if (hasStopped || plan.of !== of || plan.point !== point) return;
  hasStopped = true;
  appendFileSync(`${planFile}.stopped`, `${point}\n`);
  while (!existsSync(`${planFile}.go`)) await pause(50);
}

await runController({
  stateDir,
  bundle,
  logger: pino({ level: 'info' }, pino.destination(path.join(stateDir, 'logs', 'pausing-controller.log'))),
  signal: new AbortController().signal,
  reached,
});
