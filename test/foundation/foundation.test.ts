import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';

import { migratedDatabases } from '../support/database.ts';
import { raiseForTests, type TestServers } from '../support/foundation.ts';

let servers: TestServers;
beforeAll(async () => {
  const t = performance.now();
  servers = await raiseForTests({ postgres: true, nats: true, temporal: true });
  process.stderr.write(`raised ${performance.now() - t}\n`);
});
afterAll(async () => {
  const t = performance.now();
  await servers.close();
  process.stderr.write(`closed ${performance.now() - t}\n`);
});

test('[U11] first', async () => {
  const databases = await migratedDatabases(servers);
  const client = new pg.Client(await databases.create());
  await client.connect();
  expect((await client.query('select count(*)::int as n from mesh.nodes')).rows).toEqual([{ n: 0 }]);
  await client.end();
});
