import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { connectionOf, type StoreAddress } from '../../src/store/address.ts';
import { migrate } from '../../src/store/migrate.ts';
import { raiseForTests, type TestServers } from '../support/foundation.ts';

let servers: TestServers;
let folder: string;
beforeAll(async () => {
  servers = await raiseForTests({ postgres: true });
  folder = await mkdtemp(path.join(tmpdir(), 'mesh-migrations-'));
});
afterAll(async () => {
  await servers.close();
  await rm(folder, { recursive: true, force: true });
});

async function newDatabase(name: string): Promise<StoreAddress> {
  const superuser = new pg.Client(await servers.superuser());
  await superuser.connect();
  await superuser.query(`create database ${name} owner ${servers.foundation.postgres.user}`);
  await superuser.end();
  return { ...servers.foundation.postgres, database: name };
}

async function ask(address: StoreAddress, sql: string): Promise<readonly unknown[]> {
  const client = new pg.Client(connectionOf(address));
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

test('migrating makes the schema once, and again changes nothing', async () => {
  const connection = await newDatabase('fresh');
  expect(await migrate({ connection })).toEqual(['0001-foundation', '0002-provisioner']);
  expect(await migrate({ connection })).toEqual([]);
  expect(await ask(connection, `select name from mesh.migrations`)).toEqual([
    { name: '0001-foundation' },
    { name: '0002-provisioner' },
  ]);
});

test('two that migrate at once run one after the other', async () => {
  const connection = await newDatabase('at_once');
  const ran = await Promise.all([migrate({ connection }), migrate({ connection })]);
  expect(ran.flat()).toEqual(['0001-foundation', '0002-provisioner']);
});

test('a database of a newer version is refused, and stays as it is', async () => {
  const connection = await newDatabase('newer');
  await migrate({ connection });
  await ask(connection, `insert into mesh.migrations (name, run_on) values ('0900-from-the-future', now())`);
  await expect(migrate({ connection })).rejects.toThrow(/newer version of mesh: it has 0900-from-the-future/);
});

test('a migration that fails half way leaves nothing of it', async () => {
  const connection = await newDatabase('half');
  await writeFile(path.join(folder, '0001-first.sql'), 'create table mesh.kept (id int);');
  await migrate({ connection, folder });
  await writeFile(path.join(folder, '0002-second.sql'), 'create table mesh.lost (id int); select 1/0;');
  await expect(migrate({ connection, folder })).rejects.toThrow(/division by zero/);
  expect(
    await ask(connection, `select table_name from information_schema.tables where table_schema = 'mesh' order by 1`),
  ).toEqual([{ table_name: 'kept' }, { table_name: 'migrations' }]);
});
