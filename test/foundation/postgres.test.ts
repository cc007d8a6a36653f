import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';

import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { freePorts } from '../../src/foundation/ports.ts';
import { findPostgres, type PostgresPrograms } from '../../src/foundation/postgres-programs.ts';
import { runningPostgres, startPostgres, stopPostgres } from '../../src/foundation/postgres.ts';
import { watchedFolder } from '../support/foundation.ts';
import { startTypeScript } from '../support/program.ts';
import { until } from '../support/until.ts';

let folder: Awaited<ReturnType<typeof watchedFolder>>;
let programs: PostgresPrograms;
let port: number;

beforeAll(async () => {
  folder = await watchedFolder('mesh-postgres-');
  programs = await findPostgres(process.env);
  [port = 0] = await freePorts('127.0.0.1', 1);
});
afterAll(async () => {
  await stopPostgres({ dataDir: place('postgres') });
  await folder.close();
});

// The watchdog looks for a server in `postgres`, so that is where the one over all tests is.
const place = (name: string): string => path.join(folder.stateDir, name);
const asked = (dataDir = place('postgres')) => ({
  programs,
  dataDir,
  address: '127.0.0.1',
  port,
  passwordFile: place('password'),
  maxConnections: 20,
  log: place('log'),
});
async function start(dataDir?: string) {
  const started = await startPostgres(asked(dataDir));
  if (isRefusal(started)) throw new Error(started.what);
  return started;
}
/** 'in', or the SQLSTATE that the login was refused with. */
async function logIn(password: string): Promise<string> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres', password });
  try {
    await client.connect();
    return 'in';
  } catch (error) {
    return error instanceof pg.DatabaseError ? (error.code ?? '') : String(error);
  } finally {
    await client.end();
  }
}

describe('a server over a folder', () => {
  test('[U11] the superuser has the password of the file, and what the file says at the next start', async () => {
    await writeFile(place('password'), 'the-first\n', { mode: 0o600 });
    expect((await start()).wasRunning).toBe(false);
    expect(await Promise.all(['the-first', 'another'].map(logIn))).toEqual(['in', '28P01']);

    await writeFile(place('password'), 'the-second');
    const second = await start();
    expect(second.wasRunning).toBe(false);
    expect(await Promise.all(['the-first', 'the-second'].map(logIn))).toEqual(['28P01', 'in']);
    expect(await start()).toEqual({ ...second, wasRunning: true });
  });

  test('[U11] a server that was killed is started again over the same rows', async () => {
    const before = await start();
    process.kill(before.pid, 'SIGKILL');
    await until(async () => (await runningPostgres(asked().dataDir)) === undefined, {
      withinMs: 10_000,
      what: 'its end',
    });
    const after = await start();
    expect(after.pid).not.toBe(before.pid);
    expect(await logIn('the-second')).toBe('in');
  });

  test('[U11] a postmaster.pid left behind, whose pid is somebody else’s by now, stops nobody', async () => {
    await stopPostgres(asked());
    const somebody = spawn('sleep', ['60'], { ...programs.owner });
    const lock = path.join(asked().dataDir, 'postmaster.pid');
    const lines = [
      String(somebody.pid),
      asked().dataDir,
      '1700000000',
      String(port),
      '',
      '127.0.0.1',
      '',
      'ready   ',
      '',
    ];
    await writeFile(lock, lines.join('\n'), { mode: 0o600 });
    if (programs.owner !== undefined) await chown(lock, programs.owner.uid, programs.owner.gid);
    expect(await runningPostgres(asked().dataDir)).toBeUndefined();
    await start();
    expect(await logIn('the-second')).toBe('in');
    expect(somebody.kill()).toBe(true);
  });

  test('[U13] one that runs at another port is moved to where it is asked', async () => {
    const before = await start();
    [port = 0] = await freePorts('127.0.0.1', 1);
    const after = await start();
    expect(after).toMatchObject({ port, wasRunning: false });
    expect(after.pid).not.toBe(before.pid);
    expect(await logIn('the-second')).toBe('in');
    await stopPostgres(asked());
  });

  test('[U11] two that start at once come to one server', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    expect(one.pid).toBe(two.pid);
    await stopPostgres(asked());
  });

  test('[U11] a lock that another start is just about to write is waited for', async () => {
    const lock = path.join(asked().dataDir, 'postmaster.pid');
    await writeFile(lock, '');
    const starting = start();
    await until(async () => (await readFile(place('log'), 'utf8')).trimEnd().endsWith('server startup crash.'), {
      withinMs: 10_000,
      what: 'the server to have seen an empty lock',
    });
    await rm(lock);
    expect(await starting).toMatchObject({ wasRunning: false });
    await stopPostgres(asked());
  });

  test('[U11] a folder that its user cannot come to is handed over open, and nobody’s rights are widened', async () => {
    await mkdir(place('closed'), { mode: 0o700 });
    const dataDir = path.join(place('closed'), 'postgres');
    await start(dataDir);
    try {
      expect(await logIn('the-second')).toBe('in');
      expect((await stat(place('closed'))).mode & 0o777).toBe(0o700);
      expect((await runningPostgres(dataDir))?.port).toBe(port);
      await writeFile(place('password'), 'the-third');
      await start(dataDir);
      expect(await logIn('the-third')).toBe('in');
    } finally {
      await stopPostgres({ dataDir });
    }
  });

  test('[U11] a folder that holds something else is left alone', async () => {
    await mkdir(place('other'));
    await writeFile(path.join(place('other'), 'photo.jpg'), 'x');
    await expect(start(place('other'))).rejects.toThrow('holds something that is not a PostgreSQL 18 data folder');
    expect(await readdir(place('other'))).toEqual(['photo.jpg']);
  });

  test('[U11] an initialisation that was cut off leaves nothing that counts', async () => {
    const dataDir = place('cut');
    const program = startTypeScript(path.join(import.meta.dirname, 'start-postgres-program.ts'), [
      dataDir,
      place('password'),
      String(port),
    ]);
    const unfinished = async (): Promise<string | undefined> =>
      (await readdir(folder.stateDir)).find((name) => name.startsWith('cut.new-'));
    await until(
      async () => {
        const work = await unfinished();
        return work !== undefined && (await readdir(path.join(place(work), 'data')).catch(() => [])).length > 0;
      },
      { withinMs: 20_000, what: 'initdb to be at work' },
    );
    program.kill('SIGKILL');
    await once(program, 'exit');
    expect(await readdir(dataDir).catch(() => 'not there')).toBe('not there');
    try {
      await start(dataDir);
      expect(await logIn('the-third')).toBe('in');
    } finally {
      await stopPostgres({ dataDir });
    }
  });

  test('[U11] a server that cannot start says why', async () => {
    const dataDir = asked().dataDir;
    const config = path.join(dataDir, 'postgresql.conf');
    const before = await readFile(config, 'utf8');
    await writeFile(config, `${before}\nno_such_setting = 1\n`);
    await expect(start()).rejects.toThrow(
      /PostgreSQL did not start: .*no_such_setting|configuration file .* contains errors/,
    );
    await writeFile(config, before);
  });
});

describe('its programs', () => {
  test('[U11] neither missing library links nor a package that their user cannot come to is an obstacle', async () => {
    const closed = place('closed-package');
    const native = path.join(closed, 'package/native');
    await mkdir(closed, { mode: 0o700 });
    await cp(path.dirname(path.dirname(programs.postgres)), native, { recursive: true, verbatimSymlinks: true });
    const libraries = path.join(native, 'lib');
    for (const each of await readdir(libraries, { withFileTypes: true })) {
      if (each.isSymbolicLink()) await rm(path.join(libraries, each.name));
    }
    const env = { HOME: place('nowhere'), XDG_CACHE_HOME: place('cache') };
    const packed = { native, version: '18-test' };
    // Two meshes may be the first at the same time.
    const [one, two] = await Promise.all([findPostgres(env, packed), findPostgres(env, packed)]);
    expect(one).toEqual(two);
    const { stdout } = await promisify(execFile)(one.postgres, ['--version'], { ...one.owner, env: {} });
    expect(stdout).toContain('(PostgreSQL) 18.');
    if (one.owner === undefined) expect(one.postgres.startsWith(native)).toBe(true);
    else expect(one.postgres.startsWith(place('cache'))).toBe(true);
  });
});
