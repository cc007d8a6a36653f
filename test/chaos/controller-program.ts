/**
 * A controller that ends itself by SIGKILL: every act has one point at which it stops dead, and once each has come to its
 * own, so does the process. Run with: state folder, workflow bundle, plan file. The plan says which act (or node) stops
 * where; beside it, `<plan>.seen` gets every point that was passed and `<plan>.stopped` those that were stopped at.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Context } from '@temporalio/activity';
import pino from 'pino';
import { z } from 'zod';
import { runController } from '../../src/workers/controller.ts';

const [stateDir = '', bundle = '', planFile = ''] = process.argv.slice(2);
const plan = new Map(
  Object.entries(z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(planFile, 'utf8')))),
);
const seen = new Set<string>();

/** While a step stands still it must not seem dead, or the same controller would be given it once more. */
function beatWhileStanding(): void {
  const context = contextOfStep();
  if (context !== undefined) setInterval(() => context.heartbeat(), 500);
}
function contextOfStep(): Context | undefined {
  try {
    return Context.current();
  } catch {
    // What is not a step of an act beats for nobody.
    return undefined;
  }
}

async function reached(point: string, of: string): Promise<void> {
  if (!seen.has(point)) {
    seen.add(point);
    appendFileSync(`${planFile}.seen`, `${point}\n`);
  }
  if (plan.get(of) !== point) return;
  plan.delete(of);
  appendFileSync(`${planFile}.stopped`, `${of} ${point}\n`);
  if (plan.size === 0) process.kill(process.pid, 'SIGKILL');
  beatWhileStanding();
  await new Promise(() => undefined);
}

await runController({
  stateDir,
  bundle,
  logger: pino({ level: 'info' }, pino.destination(path.join(stateDir, 'logs', 'doomed-controller.log'))),
  signal: new AbortController().signal,
  reached,
});
