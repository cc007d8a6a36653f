/** The controller, but for where its values come from: each line of a file in turn, and chance once that is at its end. */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { destination, pino } from 'pino';
import { runController } from '../../src/workers/controller.ts';

const [stateDir = '', valuesFile = ''] = process.argv.slice(2);

/** What is taken is taken out of the file, so that a test sees what is left, and may write another. */
function nextValue(bytes: number): Uint8Array {
  const [value = '', ...left] = readFileSync(valuesFile, 'utf8').split('\n');
  if (value === '') return randomBytes(bytes);
  writeFileSync(valuesFile, left.join('\n'));
  return Buffer.from(value, 'base64url');
}

await runController({
  stateDir,
  bundle: fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url)),
  logger: pino({ level: 'info' }, destination(path.join(stateDir, 'logs', 'scripted-controller.log'))),
  signal: new AbortController().signal,
  random: nextValue,
});
