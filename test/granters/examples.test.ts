import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { parse } from 'yaml';
import { z } from 'zod';

import { filesNeeded } from '../../src/domain/manifest/manifest.ts';
import { parseManifest, readTemplates } from '../../src/domain/manifest/parse-manifest.ts';
import { refuseUnbuilt } from '../../src/domain/manifest/unbuilt.ts';
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { raiseForTests, type TestServers } from '../support/foundation.ts';
import { until } from '../support/until.ts';
import {
  asSuperuser,
  grantDirectory,
  grantOf,
  newPassword,
  startGranter,
  values,
  type GrantDirectory,
  type RunningGranter,
} from './granting.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
let servers: TestServers;
let grants: GrantDirectory;
let granter: RunningGranter;
let folder: string;
let program: ChildProcess | undefined;
/** What a test opened beside it. */
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  servers = await raiseForTests({ postgres: true });
});
afterAll(async () => {
  await servers.close();
});
beforeEach(async () => {
  grants = await grantDirectory();
  granter = startGranter(servers, grants);
  folder = await mkdtemp(path.join(tmpdir(), 'mesh-example-'));
});
afterEach(async () => {
  if (program !== undefined && program.exitCode === null) {
    program.kill('SIGKILL');
    await once(program, 'exit');
  }
  program = undefined;
  for (const close of closing.splice(0)) await close();
  await granter.stop();
  await grants.remove();
  await rm(folder, { recursive: true, force: true });
});

test.each(['postgres', 'notes', 'ledger', 'proxy'])(
  '[M9] the manifest of the example %s is one, and asks for nothing that cannot be done',
  async (name) => {
    const file = path.join(root, 'examples', name, 'module.yaml');
    const read = parseManifest(parse(await readFile(file, 'utf8')), file);
    if (isRefusal(read)) throw new Error(read.what);
    const files = new Map(
      await Promise.all(
        filesNeeded(read).map(async (needed) => {
          const content = await readFile(path.join(root, 'examples', name, needed), 'utf8');
          return [needed, { content, encoding: 'utf8' as const }] as const;
        }),
      ),
    );
    const manifest = readTemplates(read, files, file);
    if (isRefusal(manifest)) throw new Error(manifest.what);
    expect(refuseUnbuilt(manifest, files, [])).toBeUndefined();
  },
);

/** Writes a file as the host does. */
async function place(name: string, text: string): Promise<void> {
  await mkdir(path.join(folder, 'etc'), { recursive: true });
  await writeFile(path.join(folder, `next-${name}`), text, { mode: 0o600 });
  await rename(path.join(folder, `next-${name}`), path.join(folder, 'etc', name));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = z.object({ port: z.int() }).parse(server.address());
  server.close();
  await once(server, 'close');
  return address.port;
}

/** Starts an example's program with what the host gives a process. */
async function start(
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly url: string; readonly output: string[] }> {
  const port = await freePort();
  const output: string[] = [];
  const child = spawn(process.execPath, [path.join(root, 'examples', file)], {
    env: {
      PATH: `${path.join(root, 'bin')}:/usr/bin:/bin`,
      MESH_ADDRESS: '127.0.0.1',
      PORT_HTTP: String(port),
      ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, path.join(folder, 'etc', value)])),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.on('data', (part: Buffer) => output.push(part.toString()));
  child.stderr.on('data', (part: Buffer) => output.push(part.toString()));
  program = child;
  await until(() => output.join('').includes('listening') || child.exitCode !== null, {
    withinMs: 15_000,
    what: `${file} to listen`,
  });
  return { url: `http://127.0.0.1:${port}`, output };
}

const health = z.looseObject({ database: z.string(), login: z.string().nullish() });
async function healthOf(url: string): Promise<z.infer<typeof health>> {
  return health.parse(await (await fetch(`${url}/healthz`)).json());
}

const factsOf = (login?: string, owner = 'n1.notes'): string => {
  const { host, port } = servers.foundation.postgres;
  return JSON.stringify({
    provision: 'postgres-database',
    host,
    port,
    database: owner,
    owner,
    ...(login === undefined ? {} : { login }),
  });
};

test('[S11] notes follows a rotation without a failed request, and comes up before its database', async () => {
  const of = (generation: number, password = newPassword()) => ({ grant: grantOf('n1.notes', generation), password });
  const [first, second] = [of(1), of(2)];
  const { host, port } = servers.foundation.postgres;
  const address = ({ grant, password }: typeof first): string =>
    `postgresql://${encodeURIComponent(grant.login)}:${encodeURIComponent(password)}@${host}:${port}/${grant.database}`;
  await place('notes.json', JSON.stringify({ title: 'Notes & "more"' }));
  const { url, output } = await start('notes/server.mjs', {
    DATABASE_URL_FILE: 'database.url',
    NOTES_FILE: 'notes.json',
  });
  expect((await fetch(`${url}/healthz`)).status).toBe(503);
  await place('database.url', address(first));
  await grants.write([first]);
  await until(async () => (await healthOf(url)).database === 'ok', {
    withinMs: 10_000,
    what: 'notes to reach its database',
  });
  expect(await healthOf(url)).toMatchObject({ login: 'n1.notes_a', role: 'n1.notes', notes: 0 });

  let isOver = false;
  const statuses = new Map<number, number>();
  const load = async (): Promise<void> => {
    for (let count = 0; !isOver; count += 1) {
      const { status } = await fetch(`${url}/notes`, {
        method: 'POST',
        body: new URLSearchParams({ text: `note <${count}>` }),
        redirect: 'manual',
      });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  const loads = [load(), load()];
  await grants.write([first, second]);
  await grants.state(second.grant, 'granted');
  await place('database.url', address(second));
  await grants.entry(second.grant, ({ seen }) => seen > 0, 'the new login seen');
  await until(async () => (await healthOf(url)).login === 'n1.notes_b', { withinMs: 5_000, what: 'notes to use it' });
  await grants.write([second]);
  expect((await grants.state(first.grant, 'withdrawn')).sessionsEnded).toBe(0);
  isOver = true;
  await Promise.all(loads);
  const failed = output
    .join('')
    .split('\n')
    .filter((line) => line.includes('a request failed'));
  expect({ statuses: [...statuses.keys()], failed }).toEqual({ statuses: [303], failed: [] });
  const { notes } = z
    .object({ notes: z.array(z.object({ text: z.string() })) })
    .parse(await (await fetch(`${url}/notes.json`)).json());
  expect(notes.length).toBeGreaterThan(0);
  const shown = await (await fetch(url)).text();
  expect(shown).toContain('note &#60;');
  expect(shown.includes('note <0')).toBe(false);
  for (const { password } of [first, second]) expect(output.join('').includes(password)).toBe(false);
  program?.kill('SIGTERM');
  if (program !== undefined) expect((await once(program, 'exit'))[0]).toBe(0);
});

/** In front of the database: new lines to it are held when told to, and let through later. */
async function doorkeeper(to: { readonly host: string; readonly port: number }) {
  const held: (() => void)[] = [];
  let isHolding = false;
  const server = createServer((line) => {
    const through = (): void => {
      const database = connect(to);
      line.pipe(database).pipe(line);
      for (const one of [line, database]) one.on('error', () => undefined);
    };
    if (isHolding) held.push(through);
    else through();
  }).listen(0, '127.0.0.1');
  closing.push(async () => void server.close());
  await once(server, 'listening');
  const { port } = z.object({ port: z.int() }).parse(server.address());
  return {
    port,
    held: () => held.length,
    hold: () => void (isHolding = true),
    release: () => held.splice(0).forEach((through) => through()),
  };
}

test('[S11] notes: a login with the old credential that comes when that is withdrawn is made again with the new one', async () => {
  const of = (generation: number) => ({ grant: grantOf('n1.late', generation), password: newPassword() });
  const [first, second] = [of(1), of(2)];
  const { host, port } = servers.foundation.postgres;
  const door = await doorkeeper({ host, port });
  const address = ({ grant, password }: typeof first, at: number): string =>
    `postgresql://${encodeURIComponent(grant.login)}:${encodeURIComponent(password)}@${host}:${at}/${grant.database}`;
  await place('notes.json', JSON.stringify({ title: 'Late' }));
  await place('database.url', address(first, door.port));
  await grants.write([first]);
  await grants.state(first.grant, 'granted');
  const { url } = await start('notes/server.mjs', { DATABASE_URL_FILE: 'database.url', NOTES_FILE: 'notes.json' });
  await until(async () => (await healthOf(url)).database === 'ok', { withinMs: 10_000, what: 'notes to be there' });
  const note = async (): Promise<number> =>
    (await fetch(`${url}/notes`, { method: 'POST', body: new URLSearchParams({ text: 'x' }), redirect: 'manual' }))
      .status;
  // One waits for the table over the line that is there, so that the other has to log in, and is held at that.
  const table = new pg.Client({ ...(await servers.superuser()), database: first.grant.database });
  closing.push(() => table.end());
  await table.connect();
  await table.query('begin; lock table notes in access exclusive mode');
  door.hold();
  const asked = [note(), note()];
  await until(() => door.held() === 1, { withinMs: 10_000, what: 'the login that comes late' });
  await grants.write([first, second]);
  await grants.state(second.grant, 'granted');
  await place('database.url', address(second, port));
  await grants.entry(second.grant, ({ seen }) => seen > 0, 'the new login seen');
  await table.query('rollback');
  await until(async () => (await healthOf(url)).login === 'n1.late_b', { withinMs: 5_000, what: 'notes to use it' });
  await grants.write([second]);
  await grants.state(first.grant, 'withdrawn');
  door.release();
  expect(await Promise.all(asked)).toEqual([303, 303]);
});

test('[S11] ledger outlives a password that changes at its two ends apart, loses no entry and books none twice', async () => {
  const login = 'n1.ledger_a';
  const of = (generation: number) => ({ grant: grantOf('n1.ledger', generation, { login }), password: newPassword() });
  const [first, second] = [of(1), of(2)];
  await place('facts.json', factsOf(login, 'n1.ledger'));
  await place('database.password', first.password);
  await grants.write([first], 500);
  await grants.state(first.grant, 'granted');
  const { url, output } = await start('ledger/ledger.mjs', {
    DATABASE_PASSWORD_FILE: 'database.password',
    DATABASE_FACTS: 'facts.json',
  });
  const booked = async (): Promise<number> => z.object({ booked: z.int() }).parse(await healthOf(url)).booked;
  await until(async () => (await booked()) >= 3, { withinMs: 10_000, what: 'three entries' });

  // The consumer's end comes first, then the provider's; its old session is ended when the grace is over.
  await place('database.password', second.password);
  await grants.write([second], 500);
  await grants.entry(second.grant, ({ seen }) => seen > 0, 'the new password used');
  await grants.state(first.grant, 'withdrawn');
  const then = await booked();
  await until(async () => (await booked()) >= then + 3, { withinMs: 10_000, what: 'three more entries' });
  expect(await healthOf(url)).toMatchObject({ database: 'ok', login, waiting: 0 });
  for (const { password } of [first, second]) expect(output.join('').includes(password)).toBe(false);
  program?.kill('SIGTERM');
  if (program !== undefined) expect((await once(program, 'exit'))[0]).toBe(0);
  const ended = z
    .object({ booked: z.int(), waiting: z.int() })
    .parse(JSON.parse(/^.*"ended".*$/m.exec(output.join(''))?.[0] ?? '{}'));
  const entries = await asSuperuser(
    servers,
    (client) => values(client, 'select count(*)::int from entries'),
    'n1.ledger',
  );
  expect([entries, ended.waiting]).toEqual([[ended.booked], 0]);
});
