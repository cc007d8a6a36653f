import { readFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { z } from 'zod';

import { raiseForTests, type TestServers } from '../support/foundation.ts';
import { until } from '../support/until.ts';
import {
  ask,
  asSuperuser,
  failure,
  grantDirectory,
  grantOf,
  logIn,
  newPassword,
  startGranter,
  values,
  type GrantDirectory,
  type RunningGranter,
} from './granting.ts';

let servers: TestServers;
let grants: GrantDirectory;
let granter: RunningGranter;

beforeAll(async () => {
  servers = await raiseForTests({ postgres: true });
});
afterAll(async () => {
  await servers.close();
});
beforeEach(async () => {
  grants = await grantDirectory();
  granter = startGranter(servers, grants);
});
afterEach(async () => {
  await granter.stop();
  await grants.remove();
});

const caseFile = (name: string): Promise<string> => readFile(new URL(`../cases/${name}`, import.meta.url), 'utf8');
const one = async (database: string, sql: string): Promise<unknown> =>
  (await asSuperuser(servers, (client) => values(client, sql), database))[0];

test('[C36] a login that came to own objects is dropped; they stay, with what they let others do', async () => {
  const alpha = { grant: grantOf('n1.alpha', 1), password: newPassword() };
  const beta = { grant: grantOf('n1.beta', 1), password: newPassword() };
  await grants.write([alpha, beta]);
  await grants.state(alpha.grant, 'granted');
  await grants.state(beta.grant, 'granted');

  // The case's two years of use, with the mesh's names: alpha's database is the shop, its login is what owned things.
  const names = [
    [/c_alpha/g, '"n1.alpha_a"'],
    [/c_beta/g, '"n1.beta_a"'],
    [/\bshopdb\b/g, '"n1.alpha"'],
  ] as const;
  const setup = (await caseFile('C36-role-with-objects/setup.sql'))
    .split('\n')
    .filter((line) => !/^--|^CREATE DATABASE shopdb|^CREATE ROLE/.test(line))
    .join('\n');
  const parts = names.reduce((text, [from, to]) => text.replace(from, to), setup).split(/^\\connect (\S+)$/m);
  let database = 'postgres';
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 1) database = part.replaceAll('"', '');
    else
      await asSuperuser(
        servers,
        async (client) => {
          for (const statement of part.split(';')) if (statement.trim() !== '') await client.query(statement);
        },
        database,
      );
  }
  await asSuperuser(servers, (client) => client.query('grant connect on database "n1.alpha" to "n1.beta_a"'));
  expect(await one('n1.alpha', "select tableowner from pg_tables where tablename = 'orders'")).toBe('n1.alpha_a');

  await grants.write([beta]);
  await grants.state(alpha.grant, 'withdrawn');
  const expected = z
    .looseObject({ sql: z.array(z.strictObject({ db: z.string(), q: z.string(), is_: z.number() })) })
    .parse(JSON.parse(await caseFile('C36-role-with-objects/expected.json')));
  expect(expected.sql).toHaveLength(6);
  for (const { db, q, is_ } of expected.sql) {
    const asked = q.replace('c_alpha', 'n1.alpha_a');
    expect([asked, Number(await one(db === 'shopdb' ? 'n1.alpha' : db, asked))]).toEqual([asked, is_]);
  }
  expect(await one('n1.alpha', "select tableowner from pg_tables where tablename = 'orders'")).toBe('n1.alpha');
  const reader = await logIn(servers, 'n1.beta_a', beta.password, 'n1.alpha');
  await reader.query('set role none');
  expect(await values(reader, 'select count(*)::int from work.orders')).toEqual([500]);
  await reader.end();

  // Removing a consumer twice is no error.
  await grants.write([beta], 1_234);
  await granter.stop();
  granter = startGranter(servers, grants);
  await grants.state(beta.grant, 'granted');
  expect((await grants.status())?.entries.filter(({ state }) => state === 'fault')).toEqual([]);
});

test('[C36] a database that cannot be entered is named; the login is kept, without login, and goes when it can be', async () => {
  const gamma = { grant: grantOf('n1.gamma', 1), password: newPassword() };
  await grants.write([gamma]);
  await grants.state(gamma.grant, 'granted');
  await asSuperuser(servers, (client) => client.query('create database third'));
  await asSuperuser(
    servers,
    (client) => client.query('create table t (); alter table t owner to "n1.gamma_a"'),
    'third',
  );
  await asSuperuser(servers, (client) => client.query('alter database third allow_connections false'));

  await grants.write([]);
  const told = await grants.state(gamma.grant, 'fault');
  expect(told.fault).toContain('"third"');
  expect(told.fault).toContain('takes no connections');
  expect(await one('postgres', "select rolcanlogin from pg_roles where rolname = 'n1.gamma_a'")).toBe(false);
  expect(await failure(ask(servers, gamma, 'select 1'))).toBe('28P01');

  await asSuperuser(servers, (client) => client.query('alter database third allow_connections true'));
  await grants.state(gamma.grant, 'withdrawn');
  expect(await one('third', "select tableowner from pg_tables where tablename = 't'")).toBe('n1.gamma');
});

test('[C39] twelve consumers at the same moment, three rounds: all work, none is said to before it does, nothing is left', async () => {
  const twelve = Array.from({ length: 12 }, (_, index) => `n1.p${String(index + 1).padStart(2, '0')}`);
  for (const round of [1, 2, 3]) {
    const asked = twelve.map((name) => ({ grant: grantOf(name, round), password: newPassword() }));
    await grants.write(asked);
    await asSuperuser(servers, async (client) => {
      await until(
        async () => {
          const granted = (await grants.status())?.entries.filter(
            (entry) => entry.state === 'granted' && entry.generation === round,
          );
          for (const { login } of granted ?? []) {
            const database = login.slice(0, -2);
            expect(
              await values(client, 'select has_database_privilege($1, $2, $3)', [login, database, 'CONNECT']),
            ).toEqual([true]);
          }
          return granted?.length === 12;
        },
        { withinMs: 30_000, what: `twelve granted in round ${round}` },
      );
    });
    // All log in at once.
    const clients = await Promise.all(
      asked.map(async ({ grant, password }) => {
        const client = await logIn(servers, grant.login, password, grant.database);
        expect(
          await values(client, "select has_database_privilege(session_user, current_database(), 'CONNECT')"),
        ).toEqual([true]);
        return { client, grant };
      }),
    );
    // And all change the row of their database in the catalogue while the granter takes it away.
    const racing = clients.map(async ({ client, grant }) => {
      for (;;) {
        const failed = await failure(client.query(`grant temporary on database "${grant.owner}" to "${grant.owner}"`));
        // Losing the race for the row is the consumer's to repeat; being put out ends it.
        if (failed !== undefined && failed !== 'XX000') return;
      }
    });
    await grants.write([]);
    for (const { grant } of asked) await grants.state(grant, 'withdrawn');
    await Promise.all(racing);
    expect(await one('postgres', String.raw`select count(*)::int from pg_roles where rolname ~ '^n1\.p\d\d_'`)).toBe(0);
    expect(
      await one(
        'postgres',
        "select count(*)::int from pg_database where datname like 'n1.p%' and datacl::text like '%\\_%'",
      ),
    ).toBe(0);
    expect(
      await one(
        'postgres',
        'select count(*)::int from pg_database d, aclexplode(d.datacl) a left join pg_roles r on r.oid = a.grantee where a.grantee <> 0 and r.oid is null',
      ),
    ).toBe(0);
  }
});

const untouched = `select jsonb_build_object(
  'roles', (select jsonb_agg(to_jsonb(a) order by rolname) from pg_authid a where rolname = 'postgres'),
  'databases', (select jsonb_agg(jsonb_build_object('name', datname, 'owner', datdba, 'acl', datacl::text, 'connections', datallowconn) order by datname)
                  from pg_database where datname in ('postgres', 'template0', 'template1', 'mesh')))`;

test('[C40] each of the names works from end to end, or is refused before anything is created', async () => {
  const names = z.array(z.string()).parse(JSON.parse(await caseFile('C40-names-that-need-quoting/names.json')));
  expect(names).toHaveLength(20);
  const before = await one('postgres', untouched);
  const outcomes: Record<string, string> = {};
  for (const [index, name] of names.entries()) {
    const of = (generation: number, password: string) => ({
      grant: grantOf(`n1.c40-${index}`, generation, {
        owner: name,
        login: `${name}_${generation % 2 === 1 ? 'a' : 'b'}`,
        fullName: name,
        database: name,
      }),
      password,
    });
    const [first, second] = [of(1, newPassword()), of(2, newPassword())];
    const rolesBefore = await one('postgres', 'select count(*)::int from pg_roles');
    const databasesBefore = await one('postgres', 'select count(*)::int from pg_database');
    await grants.write([first]);
    const entry = await grants.entry(
      first.grant,
      ({ state }) => state !== 'withdrawn',
      `${JSON.stringify(name)} tried`,
    );
    outcomes[name] = entry.state;
    if (entry.state === 'fault') {
      expect(entry.fault).toContain(JSON.stringify(name));
      expect(await one('postgres', 'select count(*)::int from pg_roles')).toBe(rolesBefore);
      expect(await one('postgres', 'select count(*)::int from pg_database')).toBe(databasesBefore);
    } else {
      await ask(servers, first, 'create table t as select 7 as x');
      await grants.write([first, second]);
      await grants.state(second.grant, 'granted');
      await grants.write([second], 0);
      await grants.state(first.grant, 'withdrawn');
      expect(await ask(servers, second, 'select x from t')).toEqual([7]);
      expect(await ask(servers, second, 'select current_user')).toEqual([name]);
      expect(await failure(ask(servers, first, 'select 1'))).toBe('28P01');
      await grants.write([]);
      await grants.state(second.grant, 'withdrawn');
      expect(
        await asSuperuser(servers, (client) =>
          values(client, 'select rolname from pg_roles where rolname = any ($1)', [
            [first.grant.login, second.grant.login],
          ]),
        ),
      ).toEqual([]);
    }
  }
  expect(Object.keys(outcomes).filter((name) => outcomes[name] === 'fault')).toEqual([
    'public',
    'template1',
    'postgres',
  ]);
  expect(await one('postgres', untouched)).toEqual(before);
});

test('[C40] a name that is no name of a node or module makes no list: it is refused at the border, quoted', async () => {
  const names = z.array(z.string()).parse(JSON.parse(await caseFile('C40-names-that-need-quoting/names.json')));
  const good = { grant: grantOf('n1.good', 1), password: newPassword() };
  await grants.write([good]);
  await grants.state(good.grant, 'granted');
  const rolesBefore = await one('postgres', 'select count(*)::int from pg_roles');
  const bad = names.filter((name) => !/^[a-z0-9-]+$/.test(name) || name.startsWith('-'));
  expect(bad.length).toBeGreaterThan(10);
  for (const name of [...bad, '../grants', 'a/b']) {
    const isPath = name.includes('/');
    const grant = isPath ? { ...grantOf('n1.bad', 1), file: name } : { ...grantOf('n1.bad', 1), module: name };
    await grants.writeText(
      JSON.stringify({
        schema: 'mesh.grants',
        version: 1,
        provision: 'postgres-database',
        drainMs: 0,
        grants: [grant],
      }),
    );
    await until(async () => (await grants.status())?.fault?.includes(JSON.stringify(name)) === true, {
      withinMs: 5_000,
      what: `${JSON.stringify(name)} refused`,
    });
  }
  expect(await one('postgres', 'select count(*)::int from pg_roles')).toBe(rolesBefore);
  expect(await ask(servers, good, 'select 1')).toEqual([1]);
});

test('[C40] a consumer that drops its schema public with all in it harms neither its rotation nor the next consumer', async () => {
  const first = { grant: grantOf('n1.dropper', 1), password: newPassword() };
  const second = { grant: grantOf('n1.dropper', 2), password: newPassword() };
  const other = { grant: grantOf('n1.bystander', 1), password: newPassword() };
  await grants.write([first]);
  await grants.state(first.grant, 'granted');
  await ask(servers, first, 'drop schema public cascade');
  await grants.write([first, second, other]);
  await grants.state(second.grant, 'granted');
  await grants.state(other.grant, 'granted');
  expect(await ask(servers, second, 'select 1')).toEqual([1]);
  await grants.entry(second.grant, ({ seen }) => seen === 1, 'seen');
  await ask(servers, other, 'create table public.t ()');
});

test('[S8] what the granter did not make it does not touch: the name in use is a fault that says it, and others are served', async () => {
  await asSuperuser(servers, async (client) => {
    await client.query(
      `create role "n1.theirs" login password 'theirs'; create role "n1.half_a" login password 'half'`,
    );
    await client.query('create database "n1.data"');
  });
  const before = await one(
    'postgres',
    `select jsonb_agg(to_jsonb(a) order by rolname) from pg_authid a where rolname in ('n1.theirs', 'n1.half_a', 'postgres')`,
  );
  const asked = (name: string, named: Parameters<typeof grantOf>[2] = {}) => ({
    grant: grantOf(name, 1, named),
    password: newPassword(),
  });
  const superuser = asked('n1.clever', { login: 'postgres' });
  const refused = [asked('n1.theirs'), asked('n1.half'), asked('n1.data'), superuser];
  const fine = asked('n1.fine');
  await grants.write([...refused, fine]);
  await grants.state(fine.grant, 'granted');
  for (const [index, name] of ['n1.theirs', 'n1.half_a', 'n1.data', 'postgres'].entries()) {
    const { fault } = await grants.state(refused[index]?.grant ?? fine.grant, 'fault');
    expect(fault).toBe(
      `the ${name === 'n1.data' ? 'database' : 'role'} "${name}" is in use by something the granter did not make`,
    );
  }
  // A second consumer cannot take the first one's roles either, whatever a list says.
  const thief = asked('n1.thief', { owner: 'n1.fine', login: 'n1.thief_a', fullName: 'n1.thief' });
  await grants.write([fine, thief]);
  expect((await grants.state(thief.grant, 'fault')).fault).toContain('stands for "n1.fine"');
  await grants.write([]);
  await grants.state(fine.grant, 'withdrawn');
  expect(
    await one(
      'postgres',
      `select jsonb_agg(to_jsonb(a) order by rolname) from pg_authid a where rolname in ('n1.theirs', 'n1.half_a', 'postgres')`,
    ),
  ).toEqual(before);
  expect(
    await one(
      'postgres',
      "select count(*)::int from pg_roles where rolname in ('n1.half', 'n1.data', 'n1.data_a', 'n1.thief_a', 'n1.clever')",
    ),
  ).toBe(0);
});
