/** `mesh doctor` on a real mesh in which one thing after another is really broken, and on a machine where there is nothing (C88). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, copyFile, cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { z } from 'zod';

import { lookAtTemporal } from '../../cli/doctor/foundation.ts';
import { localNodeFolder, nodeStateFolder } from '../../cli/node-folders.ts';
import { makeSeed } from '../../src/bus/seed.ts';
import { readFoundation, type Foundation } from '../../src/foundation/foundation.ts';
import { connectionOf } from '../../src/store/address.ts';
import { watchedFolder } from '../support/foundation.ts';
import { startTypeScript } from '../support/program.ts';
import { until } from '../support/until.ts';
import { asJson, emptyFolder, runMesh, startMesh, type Ran } from './run-mesh.ts';

const shell = promisify(execFile);
let state = '';
let foundation: Foundation;
let close: () => Promise<void> = () => Promise.resolve();
/** A worker on queue "deply". */
let stray: ReturnType<typeof startTypeScript> | undefined;
/** One cache for every command, so that the programs that were fetched are found again. */
const cache = (): Readonly<Record<string, string>> => ({ XDG_CACHE_HOME: path.join(state, 'cache') });
const mesh = (...args: string[]): Promise<Ran> => runMesh([...args, '--state', state], { env: cache() });

const finding = z.strictObject({
  part: z.enum(['this machine', 'foundation', 'processes']),
  of: z.string(),
  is: z.enum(['ok', 'wrong', 'unknown']),
  says: z.string().min(1),
  where: z.string().optional(),
  next: z.array(z.string()),
  facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])).optional(),
});
const shape = z.strictObject({
  schema: z.literal('mesh.doctor'),
  version: z.literal(1),
  well: z.boolean(),
  findings: z.array(finding),
  settings: z.array(z.strictObject({ name: z.string(), value: z.string(), from: z.string() })),
});

/** What it says in JSON; its exit code is held against it, and whatever is wrong has something to do next. */
async function doctor(folder = state, env: Readonly<Record<string, string>> = {}) {
  const { code, stdout, stderr } = await runMesh(['doctor', '--json', '--state', folder], {
    env: { ...cache(), ...env },
  });
  expect(stderr).toBe('');
  const body = shape.parse(asJson(stdout));
  const wrong = body.findings.filter(({ is }) => is === 'wrong');
  expect({ code, well: body.well }).toEqual(wrong.length === 0 ? { code: 0, well: true } : { code: 6, well: false });
  for (const each of wrong) expect({ of: each.of, next: each.next.length }).not.toEqual({ of: each.of, next: 0 });
  return {
    ...body,
    wrong: wrong.map(({ of }) => of),
    is: (of: string) => body.findings.find((each) => each.of === of)?.is,
    find: (of: string) => body.findings.find((each) => each.of === of),
  };
}
const pidOf = (file: string): number => Number(readFileSync(path.join(state, file), 'utf8').split('\n')[0]);
/** The same mesh, seen from a state folder of its own in which one secret is another. */
async function withWrong(secret: string, text: string): Promise<string> {
  const folder = path.join(state, `wrong-${secret}`);
  await cp(path.join(state, 'secrets'), path.join(folder, 'secrets'), { recursive: true });
  await chmod(path.join(folder, 'secrets'), 0o700);
  await symlink(path.join(state, 'foundation.json'), path.join(folder, 'foundation.json'));
  await writeFile(path.join(folder, 'secrets', secret), text, { mode: 0o600 });
  return folder;
}

beforeAll(async () => {
  ({ stateDir: state, close } = await watchedFolder('mesh-doctor-'));
  const { code, stderr } = await mesh('up', '--nodes', '1');
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  const read = await readFoundation(state);
  if (read === undefined) throw new Error('there is no mesh');
  foundation = read;
  const { address, namespace } = foundation.temporal;
  const program = fileURLToPath(new URL('stray-worker-program.ts', import.meta.url));
  stray = startTypeScript(program, [address, namespace, 'deply']);
}, 120_000);
afterAll(async () => {
  stray?.kill('SIGKILL');
  await mesh('down');
  await close();
}, 60_000);

describe('on a mesh', () => {
  test('[U1] all is well: each thing is named with where it is, in text and JSON, with 0', async () => {
    const found = await doctor();
    expect(found.wrong).toEqual([]);
    const looked = found.findings.map(({ of }) => of);
    for (const one of ['Node.js', 'state folder', 'key files', 'disk', 'memory', 'postgres'])
      expect(looked).toContain(one);
    for (const one of ['nats-server', 'temporal'])
      expect(found.find(one)).toMatchObject({ is: 'ok', facts: { from: expect.stringMatching(/PATH|the cache/) } });
    for (const one of ['mesh', 'store', 'bus', 'Temporal', 'queue controller', 'queue provisioner', 'host of alpha'])
      expect({ one, is: found.is(one) }).toEqual({ one, is: 'ok' });
    expect(found.find('bus')?.where).toBe(foundation.nats.url);
    const config = z
      .looseObject({ settings: z.unknown() })
      .parse(asJson((await mesh('config', 'show', '--json')).stdout));
    expect(found.settings).toEqual(config.settings);
    // Beside the controller a node asks for itself as well as one that is alone on its machine.
    const ofNode = await doctor(localNodeFolder(state, 'alpha'));
    expect(ofNode.wrong).toEqual([]);
    expect(ofNode.find('bus')).toMatchObject({ is: 'ok', says: 'lets alpha in', where: foundation.nats.url });
    expect([ofNode.is('store'), ofNode.is('host of alpha')]).toEqual(['unknown', 'ok']);
    const elsewhere = { ...foundation, temporal: { ...foundation.temporal, namespace: 'elsewhere' } };
    expect(await lookAtTemporal(elsewhere, 4_000)).toMatchObject({ hasNamespace: false });
    const { code, stdout } = await mesh('doctor');
    expect(code).toBe(0);
    expect(stdout).toContain('Nothing is wrong.');
    for (const { of, is, says } of found.findings)
      if (!['disk', 'memory'].includes(of)) expect(stdout).toMatch(new RegExp(`${is} +${of} +`));
      else expect(says).not.toBe('');
  }, 60_000);

  test('[S21] a key that others can read is wrong, and the command that is named next makes it well; the rest is reported', async () => {
    const key = path.join(state, 'secrets/declaration-signing.pem');
    await chmod(key, 0o644);
    const found = await doctor();
    expect(found.wrong).toEqual(['key file']);
    expect(found.find('key file')).toMatchObject({ where: key, says: expect.stringContaining('0644') });
    expect(found.is('bus')).toBe('ok');
    const text = await mesh('doctor');
    expect(text.code).toBe(6);
    expect(text.stdout).toContain(`next: chmod 0600 '${key}'`);
    await shell('sh', ['-c', found.find('key file')?.next[0] ?? 'false']);
    expect((await doctor()).wrong).toEqual([]);
  }, 60_000);

  test('[C94] a store of another version: which side is older; and one that takes no writes', async () => {
    const client = new pg.Client(connectionOf(foundation.postgres));
    await client.connect();
    const { rows } = await client.query<{ name: string }>('select name from mesh.migrations order by id');
    const last = rows.at(-1)?.name ?? '';
    const add = (name: string) => client.query('insert into mesh.migrations (name, run_on) values ($1, now())', [name]);
    const take = (name: string) => client.query('delete from mesh.migrations where name = $1', [name]);
    try {
      await add('9999-later');
      const newer = await doctor();
      await take('9999-later');
      expect(newer.wrong).toEqual(['store']);
      expect(newer.find('store')?.facts).toEqual({ older: 'command', migrations: ['9999-later'] });
      await take(last);
      const older = await doctor();
      await add(last);
      await client.query('alter role mesh_controller set default_transaction_read_only = on');
      const standby = await doctor();
      await client.query('alter role mesh_controller reset default_transaction_read_only');
      expect(standby.find('store')).toMatchObject({ is: 'wrong', facts: { takes: 'reads' } });
      expect(older.wrong).toEqual(['store']);
      expect(older.find('store')).toMatchObject({ facts: { older: 'store', migrations: [last] }, next: ['mesh up'] });
    } finally {
      await client.end();
    }
  }, 60_000);

  test('[C88] a credential that is refused: the controller and the provisioner end and say so, and the doctor names the bus', async () => {
    const other = makeSeed('account').reveal((text) => Buffer.from(text).toString('utf8'));
    const folder = await withWrong('bus-account-signing.nk', other);
    const found = await doctor(folder);
    expect(found.find('bus')).toMatchObject({ is: 'wrong', says: expect.stringContaining('the bus refuses it') });
    expect([found.is('store'), found.is('Temporal')]).toEqual(['ok', 'ok']);
    const controller = await runMesh(['work', 'controller', '--state', folder]);
    expect({ code: controller.code, said: controller.stderr }).toMatchObject({
      code: 1,
      said: expect.stringMatching(/authorization/i),
    });
    // A node's: it is asked for by itself, and what it says names the machine on which to look.
    const node = path.join(folder, 'node');
    const from = nodeStateFolder(localNodeFolder(state, 'alpha'));
    await cp(from, nodeStateFolder(node), { recursive: true, filter: (file) => !file.endsWith('host.lock') });
    const another = makeSeed('user').reveal((text) => Buffer.from(text).toString('utf8'));
    await writeFile(path.join(nodeStateFolder(node), 'keys/identity.seed'), another, { mode: 0o600 });
    const ofNode = await doctor(node);
    expect(ofNode.find('bus')).toMatchObject({
      is: 'wrong',
      says: expect.stringMatching(/credential of alpha: the bus refuses it/),
      next: expect.arrayContaining([expect.stringContaining('mesh node show alpha')]),
    });
    // The provisioner's own: its key is another's.
    await mkdir(path.join(folder, 'mesh-provisioner'), { mode: 0o700 });
    await copyFile(path.join(state, 'mesh-provisioner/bus.json'), path.join(folder, 'mesh-provisioner/bus.json'));
    const user = makeSeed('user').reveal((text) => Buffer.from(text).toString('utf8'));
    await writeFile(path.join(folder, 'mesh-provisioner/bus-user.nk'), user, { mode: 0o600 });
    const provisioner = await runMesh(['work', 'provisioner', '--state', folder]);
    expect({ code: provisioner.code, said: provisioner.stderr }).toMatchObject({
      code: 1,
      said: expect.stringMatching(/authorization/i),
    });
    for (const { stdout, stderr } of [controller, provisioner])
      for (const secret of [other, user]) expect(`${stdout}${stderr}`).not.toContain(secret);
  }, 60_000);

  test('[U1] a server that takes the line and says nothing holds up nobody: its finding says so, and the rest is there', async () => {
    const pid = pidOf('run/nats.pid');
    process.kill(pid, 'SIGSTOP');
    try {
      const began = performance.now();
      const found = await doctor();
      // Five seconds, and as much again for a machine that is busy with something else.
      expect(performance.now() - began).toBeLessThan(10_000);
      expect(found.wrong).toEqual(['bus']);
      expect([found.is('store'), found.is('Temporal')]).toEqual(['ok', 'ok']);
      expect(found.find('queue controller')).toMatchObject({ is: 'unknown', facts: { taskQueue: 'controller' } });
      expect((await doctor(localNodeFolder(state, 'alpha'))).wrong).toEqual(['bus']);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  }, 60_000);

  test('[C88] [A15] no controller, and a worker on queue "deply": who is missing is said, and one that starts later goes on by itself', async () => {
    const { address, namespace } = foundation.temporal;
    process.kill(pidOf('run/controller.pid'), 'SIGKILL');
    const asked = await mesh('push', '--detach', '--json');
    expect(asked.code).toBe(0);
    const said = z.looseObject({ workflowId: z.string() }).parse(asJson(asked.stdout));
    expect(said).toMatchObject({ begun: false, nobodyWorksOn: 'controller' });
    expect(asked.stderr).toContain('Nothing is working on queue controller');
    expect(asked.stderr).toContain('mesh work controller');
    const found = await doctor();
    expect(found.wrong).toEqual(['queue controller']);
    expect(found.find('queue controller')).toMatchObject({
      says: expect.stringMatching(/nothing is working on queue controller.*somebody works on deply/),
      facts: { nobodyWorks: true, taskQueue: 'controller', strays: ['deply'] },
    });
    expect(found.find('queue controller')?.next[0]).toBe('mesh work controller');
    // Temporal alone knows whether somebody took it up: where it says nothing, that is not known, and not that nobody did.
    const untold = startMesh(['push', '--timeout', '12s', '--json', '--state', state]);
    await until(() => untold.stderr().includes('Joined'), { withinMs: 20_000, what: 'it to be joined' });
    const temporal = pidOf('run/temporal.pid');
    process.kill(temporal, 'SIGSTOP');
    try {
      expect(await untold.ended).toBe(5);
    } finally {
      process.kill(temporal, 'SIGCONT');
    }
    expect(asJson(untold.stdout())).toMatchObject({
      kind: 'wait-timed-out',
      why: expect.stringContaining('is not known: Temporal does not answer'),
    });
    expect(untold.stderr()).not.toContain('Nothing is working');
    const controller = startMesh(['work', 'controller', '--state', state]);
    try {
      // What was asked for while nobody was there is done, without being asked for again.
      expect((await mesh('act', 'show', said.workflowId, '--wait')).code).toBe(0);
      const serves = controller
        .stdout()
        .split('\n')
        .find((line) => line.includes('the controller serves'));
      expect(asJson(serves ?? '{}')).toMatchObject({ taskQueue: 'controller', namespace, temporal: address });
      expect((await doctor()).is('queue controller')).toBe('ok');
    } finally {
      controller.child.kill('SIGTERM');
      await controller.ended;
    }
  }, 120_000);

  test('[U1] several things at once are each named: nats and a host killed, a program that is none', async () => {
    for (const file of ['run/nats.pid', 'run/host-alpha.pid']) process.kill(pidOf(file), 'SIGKILL');
    const found = await doctor(state, { MESH_TEMPORAL: '/bin/true' });
    expect(found.wrong).toEqual(expect.arrayContaining(['temporal', 'bus', 'host of alpha']));
    expect(found.find('temporal')?.says).toContain('MESH_TEMPORAL names /bin/true');
    expect([found.is('store'), found.is('Temporal')]).toEqual(['ok', 'ok']);
  }, 60_000);
});

describe('on a machine with nothing', () => {
  test('[U1] an empty folder: no mesh is wrong, the machine is reported, the rest was not asked, and nothing is made', async () => {
    const folder = emptyFolder();
    const found = await doctor(folder);
    expect(found.wrong).toEqual(['mesh']);
    expect(found.find('mesh')).toMatchObject({ where: path.join(folder, 'foundation.json') });
    expect(found.find('mesh')?.next[0]).toBe('mesh up');
    for (const one of ['Node.js', 'state folder', 'disk', 'memory'])
      expect({ one, is: found.is(one) }).toEqual({ one, is: 'ok' });
    for (const one of ['store', 'bus', 'Temporal', 'queue controller'])
      expect(found.find(one)).toMatchObject({
        is: 'unknown',
        says: expect.stringContaining('no mesh was raised here'),
      });
    expect(await readdir(folder)).toEqual([]);
    const missing = await doctor(path.join(folder, 'not/there'));
    expect(missing.wrong).toEqual(['state folder', 'mesh']);
    expect(await readdir(folder)).toEqual([]);
  }, 60_000);

  test('[U1] [C94] a foundation.json that mesh did not write is a finding, not the end of the looking', async () => {
    const folder = emptyFolder();
    await writeFile(path.join(folder, 'foundation.json'), '{"version":99}');
    const found = await doctor(folder);
    expect(found.wrong).toEqual(['mesh']);
    expect(found.find('mesh')?.says).toContain('is not as mesh wrote it');
    expect(found.is('disk')).toBe('ok');
  }, 60_000);
});
