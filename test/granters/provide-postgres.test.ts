import { copyFile, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';

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
let granter: RunningGranter | undefined;

beforeAll(async () => {
  servers = await raiseForTests({ postgres: true });
});
afterAll(async () => {
  await servers.close();
});
beforeEach(async () => {
  grants = await grantDirectory();
});
afterEach(async () => {
  await granter?.stop();
  granter = undefined;
  await grants.remove();
});

const roles = (like: string): Promise<unknown[]> =>
  asSuperuser(servers, (client) =>
    values(client, 'select rolname from pg_roles where rolname like $1 order by 1', [like]),
  );

test('[S7] [C56] what is not in the grant list is not granted: nobody enters, who is in is put out, the data stays', async () => {
  granter = startGranter(servers, grants);
  const one = { grant: grantOf('n1.keep', 1), password: newPassword() };
  const two = { grant: grantOf('n1.gone', 1), password: newPassword() };
  await grants.write([one, two]);
  await grants.state(one.grant, 'granted');
  await grants.state(two.grant, 'granted');
  await ask(servers, two, 'create table t as select 1 as x');
  const open = await logIn(servers, two.grant.login, two.password, two.grant.database);

  await grants.write([one]);
  const gone = await grants.state(two.grant, 'withdrawn');
  expect(gone.sessionsEnded).toBe(1);
  expect(await failure(open.query('select 1'))).toBeDefined();
  expect(await failure(ask(servers, two, 'select 1'))).toBe('28P01');
  expect(await roles('n1.gone%')).toEqual(['n1.gone']);
  expect(await asSuperuser(servers, (client) => values(client, 'select count(*)::int from t'), 'n1.gone')).toEqual([1]);
  expect(await ask(servers, one, 'select current_user')).toEqual(['n1.keep']);

  // It comes back with the same credential, and finds its data (M14).
  await grants.write([one, two]);
  await grants.state(two.grant, 'granted');
  expect(await ask(servers, two, 'select x from t')).toEqual([1]);
});

test('[S7] a list that cannot be read takes nothing from anybody, and the status says so', async () => {
  granter = startGranter(servers, grants);
  const one = { grant: grantOf('n1.steady', 1), password: newPassword() };
  await until(async () => (await grants.status())?.fault !== undefined, {
    withinMs: 5_000,
    what: 'a missing list told',
  });
  await grants.write([one]);
  await grants.state(one.grant, 'granted');
  expect((await grants.status())?.fault).toBeUndefined();

  for (const text of ['', '{"schema":"mesh.grants"', '{"schema":"mesh.grants","version":2}', '[]']) {
    await grants.writeText(text);
    await until(async () => (await grants.status())?.fault?.includes('the grant list is not') === true, {
      withinMs: 5_000,
      what: `${text} told`,
    });
    expect(await ask(servers, one, 'select 1')).toEqual([1]);
  }
  await rename(grants.directory, `${grants.directory}.aside`);
  await until(async () => (await grants.status())?.fault?.includes('ENOENT') === true, {
    withinMs: 5_000,
    what: 'no directory told',
  });
  expect(await ask(servers, one, 'select 1')).toEqual([1]);
});

test('[S8] no password stands in a log that holds every statement, nor in the status or in what the granter says', async () => {
  const statements = await everyStatementLogged();
  granter = startGranter(servers, grants);
  const name = 'n1.logged';
  const passwords = [newPassword(), newPassword(), newPassword(), newPassword()];
  const at = (generation: number) => ({ grant: grantOf(name, generation), password: passwords[generation] ?? '' });
  await grants.write([at(1)]);
  await grants.state(at(1).grant, 'granted');
  await grants.write([at(1), at(2)]);
  await grants.state(at(2).grant, 'granted');
  await grants.write([at(2)], 0);
  await grants.state(at(1).grant, 'withdrawn');
  await grants.write([]);
  await grants.state(at(2).grant, 'withdrawn');
  await granter.stop();

  const log = await statements();
  expect(log).toContain('SCRAM-SHA-256$');
  const superuser = (await readFile(servers.foundation.postgres.superuserPasswordFile, 'utf8')).trim();
  const status = await readFile(grants.statusFile, 'utf8');
  for (const secret of [...passwords, superuser]) {
    expect(log.includes(secret)).toBe(false);
    expect(status.includes(secret)).toBe(false);
    expect(granter.said.join('\n').includes(secret)).toBe(false);
  }
});

test('[S8] what did not change costs no statement but the look at who is connected, and that one a second', async () => {
  const texts: string[] = [];
  granter = startGranter(servers, grants, { beforeStatement: (_, sql) => void texts.push(sql) });
  const some = ['n1.idle-a', 'n1.idle-b', 'n1.idle-c'].map((name) => ({
    grant: grantOf(name, 1),
    password: newPassword(),
  }));
  await grants.write(some);
  for (const one of some) {
    await grants.state(one.grant, 'granted');
    await ask(servers, one, 'select 1');
    await grants.entry(one.grant, ({ seen }) => seen > 0, 'seen');
  }
  const isGlance = (sql: string): boolean => sql.includes('pg_stat_get_db_sessions');
  const glances = (): number => texts.filter(isGlance).length;
  const settled = glances() + 2;
  await until(() => glances() >= settled, { withinMs: 10_000, what: 'it settles' });
  texts.length = 0;
  const startedMs = performance.now();
  await until(() => glances() >= 3, { withinMs: 10_000, what: 'three looks' });
  expect(performance.now() - startedMs).toBeGreaterThan(1_900);
  expect(texts.filter((sql) => !isGlance(sql))).toEqual([]);

  // The same bytes written again, in files that are new, are no change: credentials are compared by digest.
  await grants.write(some);
  texts.length = 0;
  await until(() => glances() >= 2, { withinMs: 10_000, what: 'two looks' });
  expect(texts.filter((sql) => /alter role|create/.test(sql))).toEqual([]);
});

test('[S8] a change is seen within an interval when the watch is blind: the directory was replaced', async () => {
  granter = startGranter(servers, grants);
  const one = { grant: grantOf('n1.blind', 1), password: newPassword() };
  await grants.write([one]);
  await grants.state(one.grant, 'granted');

  // Another directory takes the name. A watch still looks at the old one.
  const old = `${grants.directory}.old`;
  await rename(grants.directory, old);
  await mkdir(grants.directory, { mode: 0o700 });
  const renewed = { grant: one.grant, password: newPassword() };
  await copyFile(path.join(old, 'grants.json'), path.join(grants.directory, 'grants.json'));
  await writeFile(path.join(grants.directory, one.grant.file), renewed.password);
  await until(async () => (await failure(ask(servers, renewed, 'select 1'))) === undefined, {
    withinMs: 5_000,
    what: 'the new password',
  });
  expect(await failure(ask(servers, one, 'select 1'))).toBe('28P01');

  // And a file written in place, which changes no entry of the directory, is read again all the same.
  const again = { grant: one.grant, password: newPassword() };
  await writeFile(path.join(grants.directory, one.grant.file), again.password);
  await until(async () => (await failure(ask(servers, again, 'select 1'))) === undefined, {
    withinMs: 5_000,
    what: 'the newest password',
  });
});

test('[S8] a server that cannot be reached, or refuses the superuser, is a fault of the whole; the password file is read again', async () => {
  const passwordFile = `${grants.directory}.superuser`;
  await writeFile(passwordFile, 'not-the-password', { mode: 0o600 });
  const one = { grant: grantOf('n1.late', 1), password: newPassword() };
  await grants.write([one]);
  granter = startGranter(servers, grants, { passwordFile });
  await until(async () => (await grants.status())?.fault?.includes('refuses the password') === true, {
    withinMs: 5_000,
    what: 'the refusal told',
  });
  await copyFile(servers.foundation.postgres.superuserPasswordFile, passwordFile);
  await grants.state(one.grant, 'granted');
  expect((await grants.status())?.fault).toBeUndefined();

  // The server cuts the connection; the granter comes back and what it had granted is still granted.
  await asSuperuser(servers, (client) =>
    client.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'mesh granter%'"),
  );
  const two = { grant: grantOf('n1.later', 1), password: newPassword() };
  await grants.write([one, two]);
  await grants.state(two.grant, 'granted');
  expect(await ask(servers, one, 'select 1')).toEqual([1]);
  await granter.stop();

  granter = startGranter(servers, grants, { passwordFile, port: 1 });
  await until(async () => (await grants.status())?.fault?.includes('ECONNREFUSED') === true, {
    withinMs: 5_000,
    what: 'no server told',
  });
  await grants.state(one.grant, 'granted');
  await grants.state(two.grant, 'granted');
});

test('[S8] a role, a right to log in or a database that somebody took away is given again', async () => {
  granter = startGranter(servers, grants);
  const one = { grant: grantOf('n1.drift', 1), password: newPassword() };
  await grants.write([one]);
  await grants.state(one.grant, 'granted');
  const works = () =>
    until(async () => (await failure(ask(servers, one, 'select 1'))) === undefined, {
      withinMs: 8_000,
      what: 'it works again',
    });
  // The granter may be at the last of what it gives again when the first of it works: then the same is taken once more.
  const take = (statement: string) =>
    until(
      () =>
        asSuperuser(servers, (client) => client.query(statement)).then(
          () => true,
          (fault: Error) => {
            if (!fault.message.includes('tuple concurrently updated')) throw fault;
            return false;
          },
        ),
      { withinMs: 5_000, what: statement },
    );
  await take('alter role "n1.drift_a" nologin');
  await works();
  await take('drop database "n1.drift" with (force)');
  await works();
  await take('drop owned by "n1.drift_a"; drop role "n1.drift_a"');
  await works();
});

test('[S8] two granters of one name never work at once', async () => {
  granter = startGranter(servers, grants);
  const one = { grant: grantOf('n1.first', 1), password: newPassword() };
  await grants.write([one]);
  await grants.state(one.grant, 'granted');
  const others = await grantDirectory();
  await others.write([]);
  const other = startGranter(servers, others);
  try {
    await until(async () => (await others.status())?.fault?.includes('another granter') === true, {
      withinMs: 5_000,
      what: 'the second told',
    });
    expect(await ask(servers, one, 'select 1')).toEqual([1]);
    await granter.stop();
    await until(async () => (await others.status())?.fault === undefined, {
      withinMs: 5_000,
      what: 'the second at work',
    });
  } finally {
    await other.stop();
    await others.remove();
  }
});

test('[S8] the status is written whole, only when it says something new', async () => {
  granter = startGranter(servers, grants);
  const one = { grant: grantOf('n1.quiet', 1), password: newPassword() };
  await grants.write([one]);
  await grants.state(one.grant, 'granted');
  const inode = async (): Promise<number> => (await stat(grants.statusFile)).ino;
  const inodes = new Set([await inode()]);
  const startedMs = performance.now();
  const seconds = (): number => (performance.now() - startedMs) / 1_000;
  let logins = 0;
  while (logins < 20 || seconds() < 2.5) {
    await ask(servers, one, 'select 1');
    logins += 1;
    inodes.add(await inode());
  }
  // That it was used at all is news; how often is written once a second, however many looks and logins that second has.
  expect(inodes.size).toBeLessThanOrEqual(3 + Math.floor(seconds()));
  // The last count arrives, and exactly: every login was seen.
  await grants.entry(one.grant, ({ seen }) => seen === logins, `${logins} logins seen`);
});

/** Turns on the log of every statement; gives back how to read what was logged since. */
async function everyStatementLogged(): Promise<() => Promise<string>> {
  const log = path.join(servers.stateDir, 'logs', 'postgresql.log');
  await asSuperuser(servers, async (client) => {
    await client.query("alter system set log_statement = 'all'");
    await client.query('select pg_reload_conf()');
  });
  const from = (await stat(log)).size;
  return async () => {
    await asSuperuser(servers, async (client) => {
      await client.query('alter system reset log_statement');
      await client.query('select pg_reload_conf()');
    });
    return (await readFile(log)).subarray(from).toString('utf8');
  };
}
