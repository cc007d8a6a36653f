/** The example proxy with a real Caddy: routes come and go while a slow answer is on its way, and it arrives whole. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { until } from '../support/until.ts';

const program = fileURLToPath(new URL('../../examples/proxy/serve.mjs', import.meta.url));
// A machine without Caddy says so in its capabilities; there is nothing of it to test here then.
const withCaddy = spawnSync('caddy', ['version']).status === 0 ? test : test.skip;
const local = '127.0.0.1';

let folder: string;
let web: number;
let site: Server;
let proxy: ChildProcess | undefined;
/** Ends the slow answer. */
let finish: () => void = () => undefined;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'mesh-proxy-'));
  site = createServer((asked, answer) => {
    if (asked.url !== '/slow') return void answer.end('quick');
    answer.write('begun, ');
    finish = () => answer.end('and ended');
  });
  await new Promise<void>((resolve) => site.listen(0, local, resolve));
  const free = createServer();
  await new Promise<void>((resolve) => free.listen(0, local, resolve));
  web = portOf(free);
  await new Promise((resolve) => free.close(resolve));
});
afterAll(async () => {
  if (proxy !== undefined && proxy.exitCode === null) {
    proxy.kill('SIGTERM');
    await once(proxy, 'exit');
  }
  site.closeAllConnections();
  await new Promise((resolve) => site.close(resolve));
  await rm(folder, { recursive: true, force: true });
});

const portOf = (server: Server): number => z.object({ port: z.int() }).parse(server.address()).port;

async function route(...names: readonly string[]): Promise<void> {
  const routes = names.map((name) => ({ name, host: local, port: portOf(site) }));
  await writeFile(path.join(folder, 'next'), JSON.stringify({ routes }));
  await rename(path.join(folder, 'next'), path.join(folder, 'routes.json'));
}

function ask(name: string, at = '/'): Promise<{ status: number | undefined; body: Promise<string> }> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: local, port: web, path: at, headers: { host: name } }, (answer) =>
      resolve({ status: answer.statusCode, body: text(answer) }),
    );
    asked.on('error', reject);
    asked.end();
  });
}
const statusOf = (name: string): Promise<number | undefined> =>
  ask(name).then(
    ({ status }) => status,
    () => undefined,
  );
const served = (name: string, status: number) =>
  until(async () => (await statusOf(name)) === status, {
    withinMs: 15_000,
    what: `${name} to be answered with ${status}`,
  });

withCaddy(
  '[M23] a route that comes is served and one that goes is not, without a connection dropped',
  async () => {
    await route('a.example');
    proxy = spawn(process.execPath, [program, path.join(folder, 'routes.json'), path.join(folder, 'caddy.json')], {
      env: { ...process.env, MESH_ADDRESS: local, PORT_WEB: String(web), HOME: folder },
      stdio: 'ignore',
    });
    await served('a.example', 200);
    expect(await statusOf('b.example')).toBe(404);
    const slow = await ask('a.example', '/slow');
    await route('a.example', 'b.example');
    await served('b.example', 200);
    await route('b.example');
    await served('a.example', 404);
    finish();
    expect([slow.status, await slow.body]).toEqual([200, 'begun, and ended']);
  },
  60_000,
);
