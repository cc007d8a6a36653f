/**
 * A migrated database for a test file: the migrations run once into a template, and each database is a clone of it, owned
 * by the role that the controller logs in as.
 *
 *   const databases = await migratedDatabases(servers);
 *   const connection = await databases.create();         // a pg.ClientConfig
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';

import { controllerRole } from '../../src/foundation/mesh-database.ts';
import type { TestServers } from './foundation.ts';

const migrations = path.join(import.meta.dirname, '../../migrations');
const template = 'migrated';

export async function migratedDatabases(
  servers: TestServers,
): Promise<{ readonly create: () => Promise<pg.ClientConfig> }> {
  await asSuperuser(servers, `create database ${template} owner ${controllerRole}`);
  const owner = new pg.Client({ ...(await servers.controller()), database: template });
  await owner.connect();
  try {
    for (const file of (await readdir(migrations)).filter((each) => each.endsWith('.sql')).toSorted()) {
      await owner.query(await readFile(path.join(migrations, file), 'utf8'));
    }
  } finally {
    await owner.end();
  }
  let made = 0;
  return {
    async create() {
      made += 1;
      const database = `test_${made}`;
      await asSuperuser(servers, `create database ${database} template ${template} owner ${controllerRole}`);
      return { ...(await servers.controller()), database };
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
