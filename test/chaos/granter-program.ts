/**
 * A granter that is killed before its n-th change: of the server, by a statement, or of its own files. Run with: grants
 * directory, the server's host and port, its superuser's password file, n (0: never).
 */
import { countChanges } from './count-changes.ts';

const [directory = '', host = '', port = '', passwordFile = '', killBefore = '0'] = process.argv.slice(2);
const change = await countChanges(Number(killBefore));
const { providePostgres } = await import('../../src/granters/postgres/provide-postgres.ts');

const silent = (): void => undefined;
await providePostgres({
  directory,
  host,
  port: Number(port),
  passwordFile,
  signal: new AbortController().signal,
  logger: { info: silent, warn: silent },
  beforeStatement(_, sql) {
    if (!/^\s*(select|set|show)/i.test(sql) || sql.includes('pg_terminate_backend'))
      change('sql', sql.split('\n')[0]?.replace(/ login password '.*/, ' login password') ?? '');
  },
});
