import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type pg from 'pg';

import { raiseForTests, type TestServers } from '../support/foundation.ts';
import { until } from '../support/until.ts';
import {
  ask,
  asSuperuser,
  endingOf,
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

/** The generations of one consumer, each with a password of its own. */
function consumer(name: string) {
  const passwords = new Map<number, string>();
  return (generation: number, login?: string) => {
    const password = passwords.get(generation) ?? newPassword();
    passwords.set(generation, password);
    return { grant: grantOf(name, generation, login === undefined ? {} : { login }), password };
  };
}

test('[S9] owner and logins are named and commented; the owner role owns all; a login may act only as it', async () => {
  const of = consumer('web-1.shop.orders');
  await grants.write([of(1)]);
  await grants.state(of(1).grant, 'granted');
  expect(await ask(servers, of(1), "select session_user || ' as ' || current_user")).toEqual([
    'web-1.shop.orders_a as web-1.shop.orders',
  ]);
  await ask(servers, of(1), 'create table t (x int)');
  const facts = await asSuperuser(
    servers,
    async (client) =>
      (
        await client.query<Record<string, unknown>>(
          `select r.rolname, r.rolcanlogin, r.rolinherit, r.rolsuper or r.rolcreatedb or r.rolcreaterole or r.rolbypassrls or r.rolreplication as more,
              shobj_description(r.oid, 'pg_authid') as comment, pg_has_role(r.oid, 'web-1.shop.orders', 'USAGE') as inherits
         from pg_roles r where r.rolname like 'web-1.shop.orders%' order by 1`,
        )
      ).rows,
    'web-1.shop.orders',
  );
  expect(facts).toEqual([
    {
      rolname: 'web-1.shop.orders',
      rolcanlogin: false,
      rolinherit: true,
      more: false,
      comment: 'web-1.shop.orders',
      inherits: true,
    },
    {
      rolname: 'web-1.shop.orders_a',
      rolcanlogin: true,
      rolinherit: false,
      more: false,
      comment: 'web-1.shop.orders, generation 1',
      inherits: false,
    },
  ]);
  const owner = await asSuperuser(
    servers,
    (client) => values(client, "select tableowner from pg_tables where tablename = 't'"),
    'web-1.shop.orders',
  );
  expect(owner).toEqual(['web-1.shop.orders']);
  const stranger = consumer('n1.stranger');
  await grants.write([of(1), stranger(1)]);
  await grants.state(stranger(1).grant, 'granted');
  expect(await failure(logIn(servers, 'n1.stranger_a', stranger(1).password, 'web-1.shop.orders'))).toBe('42501');
});

test('[S9] two names of which the first 63 bytes are one are refused, never shortened to one role; at 63 bytes they work', async () => {
  const long = 'n'.repeat(61);
  const fits = {
    grant: grantOf('n1.long-a', 1, { owner: long, login: `${long}_a`, fullName: `n1.${'x'.repeat(80)}` }),
    password: newPassword(),
  };
  const tooLong = {
    grant: grantOf('n1.long-b', 1, { owner: `${long}yy`, login: `${long}yy_a` }),
    password: newPassword(),
  };
  await grants.write([fits, tooLong]);
  await grants.state(fits.grant, 'granted');
  const refused = await grants.state(tooLong.grant, 'fault');
  expect(refused.fault).toContain('65 bytes');
  expect(await ask(servers, fits, 'select session_user')).toEqual([`${long}_a`]);
  expect(
    await asSuperuser(servers, (client) => values(client, "select rolname from pg_roles where rolname like '%yy%'")),
  ).toEqual([]);
  expect(
    await asSuperuser(servers, (client) =>
      values(client, `select shobj_description(oid, 'pg_authid') from pg_roles where rolname = '${long}'`),
    ),
  ).toEqual([`n1.${'x'.repeat(80)}`]);
});

test('[S9] [S11] logins in turn: rotated three times under load, no login and no statement fails', async () => {
  const of = consumer('n1.load');
  await grants.write([of(1)]);
  await grants.state(of(1).grant, 'granted');
  await ask(servers, of(1), 'create table entries (login name)');

  // The consumer reads its file anew before each login, as a file changes: what it read just before still has to work.
  let file = of(1);
  const failures: string[] = [];
  const logins = new Map<number, number>();
  const inFlight = new Map<number, number>();
  let isOver = false;
  const client = async (): Promise<void> => {
    while (!isOver) {
      const read = file;
      const { generation } = read.grant;
      inFlight.set(generation, (inFlight.get(generation) ?? 0) + 1);
      const failed = await failure(ask(servers, read, 'insert into entries values (session_user)'));
      inFlight.set(generation, (inFlight.get(generation) ?? 0) - 1);
      logins.set(generation, (logins.get(generation) ?? 0) + 1);
      if (failed !== undefined) failures.push(failed);
    }
  };
  const clients = [client(), client(), client()];
  for (const generation of [2, 3, 4]) {
    await grants.write([of(generation - 1), of(generation)]);
    await grants.state(of(generation).grant, 'granted');
    file = of(generation);
    await grants.entry(of(generation).grant, ({ seen }) => seen > 0, `generation ${generation} seen`);
    await until(() => inFlight.get(generation - 1) === 0, {
      withinMs: 5_000,
      what: 'nobody reads the old file any more',
    });
    await grants.write([of(generation)]);
    await grants.state(of(generation - 1).grant, 'withdrawn');
    expect(await failure(ask(servers, of(generation - 1), 'select 1'))).toBe('28P01');
  }
  isOver = true;
  await Promise.all(clients);
  expect(failures).toEqual([]);
  const total = [...logins.values()].reduce((sum, count) => sum + count, 0);
  expect([...logins.keys()]).toEqual([1, 2, 3, 4]);
  expect(await ask(servers, of(4), 'select count(*)::int from entries')).toEqual([total]);
  // One role of each consumer is left beside the owner.
  expect(
    await asSuperuser(servers, (one) =>
      values(one, "select rolname from pg_roles where rolname like 'n1.load%' order by 1"),
    ),
  ).toEqual(['n1.load', 'n1.load_b']);
});

test('[S8] a connection of a few milliseconds is seen within 250 ms, and exactly; the consumer cannot forge or delete the count', async () => {
  const of = consumer('n1.seen');
  await grants.write([of(1)]);
  const granted = await grants.state(of(1).grant, 'granted');
  expect(granted.seen).toBe(0);
  // The quickest of a few: what the granter takes, not what else this machine does.
  const tookMs: number[] = [];
  for (const name of ['n1.seen-b', 'n1.seen-c', 'n1.seen-d']) {
    const other = consumer(name);
    await grants.write([of(1), other(1)]);
    await grants.state(other(1).grant, 'granted');
    await ask(servers, other(1), 'select 1');
    const startedMs = performance.now();
    await grants.entry(other(1).grant, ({ seen }) => seen === 1, 'seen');
    tookMs.push(performance.now() - startedMs);
  }
  expect(Math.min(...tookMs)).toBeLessThan(250);
  await ask(servers, of(1), 'select 1');
  const once = await grants.entry(of(1).grant, ({ seen }) => seen > 0, 'seen');
  expect(once.seen).toBe(1);
  expect(once.lastSeenAt).toMatch(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

  const session = await logIn(servers, of(1).grant.login, of(1).password, 'n1.seen');
  for (const role of ['set role "n1.seen"', 'set role none']) {
    await session.query(role);
    for (const attempt of [
      'update mesh_granter.logins set seen = 99',
      'delete from mesh_granter.logins',
      'truncate mesh_granter.logins',
      'drop table mesh_granter.logins',
      'drop schema mesh_granter cascade',
      'alter schema mesh_granter rename to mine',
      'drop event trigger mesh_granter_login',
      'alter event trigger mesh_granter_login disable',
      'alter function mesh_granter.note_login() owner to current_user',
      'create or replace function mesh_granter.note_login() returns event_trigger language plpgsql as $$ begin end $$',
      'select mesh_granter.note_login()',
      'alter database "n1.seen" set event_triggers = off',
      'set role mesh_granted_logins',
      'revoke mesh_granted_logins from "n1.seen_a"',
      'comment on role "n1.seen_a" is \'n1.other, generation 7\'',
      'alter role "n1.seen_a" rename to "n1.free_a"',
    ]) {
      expect([attempt, await failure(session.query(attempt))]).not.toEqual([attempt, undefined]);
    }
  }
  // What an owner may do to its database, and does: none of it stops the count, or the granter.
  await session.query('set role "n1.seen"');
  for (const sabotage of [
    'drop owned by current_user',
    'drop schema public cascade',
    'create schema evil',
    'create function evil.count(text) returns bigint language sql as $$ select 1::bigint $$',
    'create function evil.obj_description(oid, text) returns text language sql as $$ select null::text $$',
    'alter database "n1.seen" set search_path = evil',
    'alter database "n1.seen" set role = \'n1.seen\'',
    'alter database "n1.seen" set statement_timeout = \'1ms\'',
    'alter database "n1.seen" set lock_timeout = \'1ms\'',
    'alter database "n1.seen" set default_transaction_isolation = serializable',
  ]) {
    await session.query(sabotage);
  }
  await session.end();
  await ask(servers, of(1), 'select 1');
  await grants.entry(of(1).grant, ({ seen }) => seen === 3, 'seen again');
  await grants.write([of(1), of(2)]);
  await grants.state(of(2).grant, 'granted');
  expect(await ask(servers, of(2), 'select current_user')).toEqual(['n1.seen']);
  await grants.entry(of(2).grant, ({ seen }) => seen === 1, 'the next login seen');
});

test('[S8] a use is seen where the trigger may not write: a database that is read-only by default', async () => {
  const of = consumer('n1.reader');
  await grants.write([of(1)]);
  await grants.state(of(1).grant, 'granted');
  await ask(servers, of(1), 'alter database "n1.reader" set default_transaction_read_only = on');
  await grants.entry(of(1).grant, ({ seen }) => seen === 1, 'the first seen');
  await grants.write([of(1), of(2)]);
  await grants.state(of(2).grant, 'granted');
  const session = await logIn(servers, of(2).grant.login, of(2).password, 'n1.reader');
  await grants.entry(of(2).grant, ({ seen }) => seen === 1, 'the second seen');
  await session.end();
});

test('[C37] the open session of a removed consumer ends at once and its transaction is undone; that of a rotated one goes on', async () => {
  const alpha = consumer('n1.alpha');
  const beta = consumer('n1.beta');
  await grants.write([alpha(1), beta(1)]);
  await grants.state(alpha(1).grant, 'granted');
  await grants.state(beta(1).grant, 'granted');
  await ask(servers, alpha(1), 'create table t (x int)');
  const s = await logIn(servers, alpha(1).grant.login, alpha(1).password, 'n1.alpha');
  await s.query('begin');
  await s.query('insert into t values (1)');

  await grants.write([beta(1)]);
  const gone = await grants.state(alpha(1).grant, 'withdrawn');
  expect(gone.sessionsEnded).toBe(1);
  expect(await endingOf(s)).toBe('57P01');
  expect(await asSuperuser(servers, (client) => values(client, 'select count(*)::int from t'), 'n1.alpha')).toEqual([
    0,
  ]);

  const t = await logIn(servers, beta(1).grant.login, beta(1).password, 'n1.beta');
  await grants.write([beta(1), beta(2)]);
  await grants.state(beta(2).grant, 'granted');
  await grants.write([beta(2)]);
  await grants.state(beta(1).grant, 'draining');
  expect(await values(t, 'select 1')).toEqual([1]);
  expect(await failure(ask(servers, beta(1), 'select 1'))).toBe('28P01');
  expect(await ask(servers, beta(2), 'select 1')).toEqual([1]);
  // The session leaves by itself: nobody was cut off.
  await t.end();
  expect((await grants.state(beta(1).grant, 'withdrawn')).sessionsEnded).toBe(0);
});

test('[S11] a rotated login whose grace runs out loses its sessions, counted; the grace is kept over a restart of the granter', async () => {
  const of = consumer('n1.slow');
  const open: pg.Client[] = [];
  await grants.write([of(1), of(2)], 1_500);
  await grants.state(of(1).grant, 'granted');
  await grants.state(of(2).grant, 'granted');
  for (let count = 0; count < 3; count += 1)
    open.push(await logIn(servers, of(1).grant.login, of(1).password, 'n1.slow'));
  const startedMs = performance.now();
  await grants.write([of(2)], 1_500);
  await grants.state(of(1).grant, 'draining');
  await granter.stop();
  granter = startGranter(servers, grants);
  const gone = await grants.state(of(1).grant, 'withdrawn');
  expect(gone.sessionsEnded).toBe(3);
  expect(performance.now() - startedMs).toBeGreaterThan(1_400);
  for (const client of open) expect(await endingOf(client)).toBe('57P01');
});

test('[S11] a login whose turn comes again while its earlier sessions drain does not end them before their grace', async () => {
  const of = consumer('n1.hasty');
  await grants.write([of(1), of(2)]);
  await grants.state(of(1).grant, 'granted');
  await grants.state(of(2).grant, 'granted');
  const old = await logIn(servers, of(1).grant.login, of(1).password, 'n1.hasty');
  await grants.write([of(2)]);
  await grants.state(of(1).grant, 'draining');
  await grants.write([of(2), of(3)]);
  const third = await grants.state(of(3).grant, 'granted');
  expect(third.seen).toBe(0);
  expect(await failure(ask(servers, of(1), 'select 1'))).toBe('28P01');
  expect(await ask(servers, of(3), 'select 1')).toEqual([1]);
  expect(await values(old, 'select current_user')).toEqual(['n1.hasty']);
  await grants.state(of(1).grant, 'draining');
  await old.end();
  await grants.state(of(1).grant, 'withdrawn');
});

test('[S11] the password form: one login whose password changes; its count begins anew, its older sessions drain', async () => {
  const of = consumer('n1.ledger');
  const login = 'n1.ledger_a';
  await grants.write([of(1, login)], 1_000);
  await grants.state(of(1, login).grant, 'granted');
  const old = await logIn(servers, login, of(1).password, 'n1.ledger');
  await grants.entry(of(1, login).grant, ({ seen }) => seen === 1, 'the first seen');

  await grants.write([of(2, login)], 1_000);
  const second = await grants.state(of(2, login).grant, 'granted');
  expect(second.seen).toBe(0);
  expect(await failure(logIn(servers, login, of(1).password, 'n1.ledger'))).toBe('28P01');
  expect(await values(old, 'select 1')).toEqual([1]);
  const fresh = await logIn(servers, login, of(2).password, 'n1.ledger');
  await grants.entry(of(2, login).grant, ({ seen }) => seen === 1, 'the second seen');
  expect((await grants.state(of(1, login).grant, 'withdrawn')).sessionsEnded).toBe(1);
  expect(await endingOf(old)).toBe('57P01');
  expect(await values(fresh, 'select 1')).toEqual([1]);
  await fresh.end();
});

test('[C38] after a rotation, and after three more, the new login reads, writes, alters and drops what the old one made', async () => {
  const of = consumer('n1.successor');
  await grants.write([of(1)]);
  await grants.state(of(1).grant, 'granted');
  let at = 1;
  const rotate = async (): Promise<void> => {
    await grants.write([of(at), of(at + 1)]);
    await grants.state(of(at + 1).grant, 'granted');
    await grants.write([of(at + 1)]);
    await grants.state(of(at).grant, 'withdrawn');
    at += 1;
  };
  for (const rotations of [1, 3]) {
    await ask(servers, of(at), 'create table entries (id serial primary key, cents int)');
    await ask(servers, of(at), 'insert into entries (cents) values (1), (2), (3)');
    for (let count = 0; count < rotations; count += 1) await rotate();
    expect(await ask(servers, of(at), 'select count(*)::int from entries')).toEqual([3]);
    await ask(servers, of(at), 'insert into entries (cents) values (4)');
    await ask(servers, of(at), 'alter table entries add column note text');
    await ask(servers, of(at), 'drop table entries');
  }
});
