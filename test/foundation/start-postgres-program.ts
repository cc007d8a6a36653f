/** Starts a server and stays, so that a test can kill it at any moment. */
import { findPostgres } from '../../src/foundation/postgres-programs.ts';
import { startPostgres } from '../../src/foundation/postgres.ts';

const [dataDir = '', passwordFile = '', port = ''] = process.argv.slice(2);
const programs = await findPostgres(process.env);
await startPostgres({
  programs,
  dataDir,
  address: '127.0.0.1',
  port: Number(port),
  passwordFile,
  maxConnections: 20,
  log: `${dataDir}.log`,
});
setInterval(() => undefined, 60_000);
