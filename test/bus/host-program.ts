/** A real host that a test may stop and let go on. Run with: state folder, root, interval in ms. Each thing it says is a line of JSON. */
import { runHost } from '../../src/host/loop.ts';
import { patience } from '../host/node.ts';

const [stateDir = '', root = '', intervalMs = ''] = process.argv.slice(2);
const line = (fields: object, text: string): void =>
  void process.stdout.write(`${JSON.stringify({ ...fields, text })}\n`);
await runHost({
  stateDir,
  root,
  intervalMs: Number(intervalMs),
  bin: '/nowhere',
  say: { info: line, warn: line, error: line },
  signal: new AbortController().signal,
  patience,
});
