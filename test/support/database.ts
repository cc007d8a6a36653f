/**
 * A migrated database for a test file: a clone of the mesh's own, into which the migrations run once, owned by the role that
 * the controller logs in as.
 *
 *   const databases = await migratedDatabases(servers);
 *   const address = await databases.create();         // for the store; for pg: new pg.Client(connectionOf(address))
 */
import pg from 'pg';

import { controllerRole } from '../../src/foundation/mesh-database.ts';
import type { StoreAddress } from '../../src/store/address.ts';
import { migrate } from '../../src/store/migrate.ts';
import type { TestServers } from './foundation.ts';

export async function migratedDatabases(
  servers: TestServers,
): Promise<{ readonly create: () => Promise<StoreAddress> }> {
  const { host, port, user, passwordFile, database: template } = servers.foundation.postgres;
  await migrate({ connection: servers.foundation.postgres });
  let made = 0;
  return {
    async create() {
      made += 1;
      const database = `test_${made}`;
      await asSuperuser(servers, `create database ${database} template ${template} owner ${controllerRole}`);
      return { host, port, user, passwordFile, database };
    },
  };
}

async function asSuperuser(servers: TestServers, statement: string): Promise<void> {
  const superuser = new pg.Client(await servers.superuser());
  await superuser.connect();
  try {
    await superuser.query(statement);
  } finally {
    await superuser.end();
  }
}
