/** `mesh serve postgres` in small: serves until TERM, then ends with the server's exit code. */
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { servePostgres } from '../../src/granters/serve-postgres.ts';

const [dataDir = '', passwordFile = '', port = '', address = ''] = process.argv.slice(2);
const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());
const served = await servePostgres({
  dataDir,
  address,
  port: Number(port),
  passwordFile,
  signal: stop.signal,
  env: process.env,
  say: (line) => void process.stdout.write(`${line}\n`),
});
if (isRefusal(served)) process.stdout.write(`refused ${served.kind}\n`);
process.exit(isRefusal(served) ? 3 : served);
