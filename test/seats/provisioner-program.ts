/** A provisioner in a process of its own. Run with: state folder, module, node, lease in ms. */
import path from 'node:path';
import pino from 'pino';
import { moduleName } from '../../src/domain/words/names.ts';
import { runProvisioner } from '../../src/workers/provisioner.ts';

const [stateDir = '', module = '', node = '', leaseMs = ''] = process.argv.slice(2);
const told = new AbortController();
process.once('SIGTERM', () => told.abort());
const refusal = await runProvisioner({
  stateDir,
  module: moduleName.parse(module),
  node,
  leaseMs: Number(leaseMs),
  bundle: path.resolve(import.meta.dirname, '../../dist/workflow-bundle.js'),
  logger: pino(),
  signal: told.signal,
});
process.stdout.write(refusal === undefined ? 'ended\n' : `${JSON.stringify(refusal)}\n`);
