/** The controller as `mesh work controller` runs it, but for its random source, which the test knows. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { destination, pino } from 'pino';

import { runController } from '../../src/workers/controller.ts';
import { knownRandom } from './known-values.ts';

const [stateDir = '', readyFile = '', seed = ''] = process.argv.slice(2);
const told = new AbortController();
process.once('SIGTERM', () => told.abort());
await runController({
  stateDir,
  // All that it could ever say, since what is said is searched.
  logger: pino(
    { base: { process: 'controller', pid: process.pid }, level: 'trace' },
    destination({ fd: 1, sync: true }),
  ),
  signal: told.signal,
  bundle: fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url)),
  random: knownRandom(seed),
  onReady: () => writeFileSync(readyFile, `${process.pid}\n`),
});
