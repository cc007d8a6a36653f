/** The controller, but for where its values come from: each line of a file in turn, and chance once that is at its end. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { destination, pino } from 'pino';
import { runController } from '../../src/workers/controller.ts';

const [stateDir = '', valuesFile = ''] = process.argv.slice(2);
let taken = 0;

/** The file may be written on while this runs: only what was taken stays taken. */
function nextValue(bytes: number): Uint8Array {
  const values = readFileSync(valuesFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  const value = values[taken];
  if (value === undefined) return randomBytes(bytes);
  taken += 1;
  return Buffer.from(value, 'base64url');
}

await runController({
  stateDir,
  bundle: fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url)),
  logger: pino({ level: 'info' }, destination(path.join(stateDir, 'logs', 'scripted-controller.log'))),
  signal: new AbortController().signal,
  random: nextValue,
});
