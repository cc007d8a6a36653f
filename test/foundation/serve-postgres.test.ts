import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';

import { freePorts, refuseTaken } from '../../src/foundation/ports.ts';
import { runningPostgres, stopPostgres } from '../../src/foundation/postgres.ts';
import { watchedFolder } from '../support/foundation.ts';
import { startTypeScript } from '../support/program.ts';
import { until } from '../support/until.ts';

// A node's address on a machine that it shares with others.
const address = '127.77.3.9';
let folder: Awaited<ReturnType<typeof watchedFolder>>;
let port: number;
let dataDir: string;
let passwordFile: string;

beforeAll(async () => {
  folder = await watchedFolder('mesh-serve-');
  [port = 0] = await freePorts(address, 1);
  dataDir = folder.stateDir;
  passwordFile = path.join(folder.stateDir, 'password');
  await writeFile(passwordFile, 'the-first', { mode: 0o600 });
});
afterAll(async () => {
  await stopPostgres({ dataDir: path.join(dataDir, 'postgres-18') });
  await folder.close();
});

function serve(): { readonly program: ChildProcess; readonly said: () => string; readonly ended: Promise<unknown> } {
  const program = startTypeScript(path.join(import.meta.dirname, 'serve-postgres-program.ts'), [
    dataDir,
    passwordFile,
    String(port),
    address,
  ]);
  let said = '';
  for (const stream of [program.stdout, program.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (said += text));
  return { program, said: () => said, ended: once(program, 'exit') };
}
const running = () => runningPostgres(path.join(dataDir, 'postgres-18'));
const ready = () => until(async () => (await running())?.isReady === true, { withinMs: 30_000, what: 'the server' });

async function session(password: string): Promise<pg.Client> {
  const client = new pg.Client({ host: address, port, user: 'postgres', database: 'postgres', password });
  await client.connect();
  return client;
}

test('[U11] it is made on first start, listens on the node’s address alone, and ends its sessions at TERM', async () => {
  const { program, ended } = serve();
  await ready();
  const client = await session('the-first');
  const show = async (name: string) =>
    Object.values((await client.query<Record<string, string>>(`show ${name}`)).rows[0] ?? {})[0];
  expect(await show('listen_addresses')).toBe(address);
  expect(await show('max_connections')).toBe('300');
  await client.query('create table kept as select 1 as one');
  const losses: unknown[] = [];
  client.on('error', (error) => losses.push(error));
  program.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  await until(() => losses.length > 0, { withinMs: 5_000, what: 'the session to end' });
  expect(await running()).toBeUndefined();
});

test('[U11] after its parent was killed the next one goes on with the server that it left, and no session breaks', async () => {
  const first = serve();
  await ready();
  const client = await session('the-first');
  const before = await running();
  first.program.kill('SIGKILL');
  await first.ended;
  const second = serve();
  await until(() => second.said().includes('going on with it'), { withinMs: 20_000, what: 'the next to take it on' });
  expect((await client.query('select one from kept')).rows).toEqual([{ one: 1 }]);
  await client.end();
  expect((await running())?.pid).toBe(before?.pid);
  second.program.kill('SIGTERM');
  expect(await second.ended).toEqual([0, null]);
  expect(await running()).toBeUndefined();
});

test('[U11] a password that was made anew is set at the next start, also over a server that was left running', async () => {
  const first = serve();
  await ready();
  const before = await running();
  first.program.kill('SIGKILL');
  await first.ended;
  await writeFile(passwordFile, 'the-second');
  const second = serve();
  const isAnother = async (): Promise<boolean> => {
    const found = await running();
    return found?.isReady === true && found.pid !== before?.pid;
  };
  await until(isAnother, { withinMs: 30_000, what: 'a new server' });
  await expect(session('the-first')).rejects.toMatchObject({ code: '28P01' });
  const client = await session('the-second');
  expect((await client.query('select one from kept')).rows).toEqual([{ one: 1 }]);
  await client.end();
  second.program.kill('SIGTERM');
  await second.ended;
});

test('[U11] when the server dies, so does what serves it, for its supervisor to see', async () => {
  const { ended, said } = serve();
  await ready();
  process.kill((await running())?.pid ?? 0, 'SIGKILL');
  expect(await ended).toEqual([1, null]);
  expect(said()).not.toContain('the-second');
});

test('[U13] a port that is taken is a refusal, not a start elsewhere', async () => {
  // The server that was just killed may have it a moment longer.
  expect(await refuseTaken('the squatter', address, port)).toBeUndefined();
  const squatter = createServer().listen(port, address);
  await once(squatter, 'listening');
  const { ended, said } = serve();
  expect(await ended).toEqual([3, null]);
  expect(said()).toBe('refused port-taken\n');
  squatter.close();
});
