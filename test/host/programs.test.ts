/** [P2] A provider's program gets an account of its own: asked for by the node's client, kept whole beside the grants directory. */
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { connectBus } from '../../src/bus/connection.ts';
import { declaredPaths } from '../../src/host/plan.ts';
import { admitPrograms, type KnownPrograms } from '../../src/host/provisioning/programs.ts';
import { readAccess } from '../../src/granters/program-access.ts';
import { grantOf } from '../granters/granting.ts';
import { declarationOf, startProgramBus, type Granting, type ProgramBus } from './program-bus.ts';

let mesh: ProgramBus;
let root: string;
let known: KnownPrograms;
beforeAll(async () => {
  mesh = await startProgramBus(['postgres', 'redis']);
});
afterAll(() => mesh.stop());
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'mesh-programs-'));
  await mkdir(path.join(root, 'var'));
  known = new Map();
  mesh.asked.length = 0;
});
afterEach(async () => {
  mesh.refuse(undefined);
  await rm(root, { recursive: true });
});

const postgres = (...grants: Parameters<typeof grantOf>[]) => ({
  module: 'postgres',
  directory: '/var/grants',
  grants: grants.map((one) => grantOf(...one)),
});
const folder = () => path.join(root, 'var', 'grants.program');
const read = (name: string, at = folder()) => readFile(path.join(at, name), 'utf8');
const admit = (...of: readonly Granting[]) => admitPrograms(mesh.client, declarationOf(...of), root, known);

test('[P2] an account is asked for once, and again when the consumers are others: not for a rotation, not at every pass', async () => {
  expect(await admit(postgres(['n1.notes', 1]))).toEqual([]);
  expect(mesh.asked).toEqual(['postgres']);
  const [seed, account] = [await read('user.seed'), await read('account.json')];
  expect(await admit(postgres(['n1.notes', 1]))).toEqual([]);
  expect(await admit(postgres(['n1.notes', 1], ['n1.notes', 2]))).toEqual([]);
  expect(mesh.asked).toHaveLength(1);
  expect(await admit(postgres(['n1.notes', 2], ['n2.notes.reports', 1]))).toEqual([]);
  expect(mesh.asked).toHaveLength(2);
  // The key is the node's own and stays, and so does the account.
  expect([await read('user.seed'), await read('account.json')]).toEqual([seed, account]);

  // A host that starts again asks once: the account may have been taken meanwhile. So does one that runs for long.
  known = new Map();
  await admit(postgres(['n1.notes', 2]));
  await admit(postgres(['n1.notes', 2]));
  expect(mesh.asked).toHaveLength(3);
  const later = () => performance.now() + 11 * 60_000;
  await admitPrograms(mesh.client, declarationOf(postgres(['n1.notes', 2])), root, known, later);
  expect(mesh.asked).toHaveLength(4);
});

test('[P2] [S5] what is kept is for the owner of the grants directory alone, connects the program, and tells no key', async () => {
  await admit(postgres());
  const modes = await Promise.all(
    ['', 'user.seed', 'account.json'].map(async (name) => (await stat(path.join(folder(), name))).mode & 0o7777),
  );
  expect(modes).toEqual([0o700, 0o600, 0o600]);
  expect((await readdir(folder())).toSorted()).toEqual(['account.json', 'user.seed']);
  expect((await read('account.json')).includes((await read('user.seed')).trim())).toBe(false);
  const { name, servers, credential, module } = await readAccess(folder());
  expect([name, module]).toEqual(['program alpha.postgres', 'postgres']);
  const program = await connectBus({ servers, name, credential });
  await program.close();
});

test('[P2] what was lost or spoiled is made again', async () => {
  await admit(postgres());
  const account = await read('account.json');
  await rm(path.join(folder(), 'account.json'));
  expect(await admit(postgres())).toEqual([]);
  expect(await read('account.json')).toBe(account);
  await writeFile(path.join(folder(), 'account.json'), '{"schema":');
  expect(await admit(postgres())).toEqual([]);
  expect(await read('account.json')).toBe(account);
  // Another key is another user: the account of before is of no use to it.
  await rm(path.join(folder(), 'user.seed'));
  expect(await admit(postgres())).toEqual([]);
  const { servers, name, credential } = await readAccess(folder());
  await (await connectBus({ servers, name, credential })).close();
});

test('[P2] a module has one account, however many directories its programs have', async () => {
  const both = [postgres(), { module: 'postgres', directory: '/var/more', grants: [] }] as const;
  expect(await admit(...both)).toEqual([]);
  expect(mesh.asked).toEqual(['postgres']);
  const other = path.join(root, 'var', 'more.program');
  expect([await read('user.seed', other), await read('account.json', other)]).toEqual([
    await read('user.seed'),
    await read('account.json'),
  ]);
  expect(await admit(...both, { module: 'redis', directory: '/var/redis', grants: [] })).toEqual([]);
  expect(mesh.asked).toEqual(['postgres', 'redis']);
});

test('[P2] [D8] what is kept for a provider goes with it, and what else lies there stays', async () => {
  await admit(postgres());
  expect(await admit()).toEqual([]);
  expect(await readdir(path.join(root, 'var'))).toEqual([]);
  expect(known.size).toBe(0);
  await admit(postgres());
  await writeFile(path.join(folder(), 'notes'), 'somebody’s');
  expect(await admit()).toEqual([]);
  expect(await readdir(folder())).toEqual(['notes']);
});

test('[P12] a refusal, a broken key and a bus that is away are told in words, and each is tried at the next pass', async () => {
  mesh.refuse({ refused: { kind: 'not-found', what: 'postgres is no provider on alpha' } });
  expect(await admit(postgres())).toEqual([
    'the program of postgres has no account on the bus: postgres is no provider on alpha',
  ]);
  expect(await readdir(folder())).toEqual(['user.seed']);
  mesh.refuse(undefined);
  await writeFile(path.join(folder(), 'user.seed'), 'no seed at all');
  const [fault = ''] = await admit(postgres(), { module: 'redis', directory: '/var/redis', grants: [] });
  expect(fault).toContain('its key cannot be had from /var/grants.program');
  expect(fault).not.toContain('no seed at all');
  expect(mesh.asked).toEqual(['postgres', 'redis']);
  await rm(path.join(folder(), 'user.seed'));
  expect(await admit(postgres())).toEqual([]);
  const away = await mesh.bus.connect('away', (await readAccess(folder())).credential);
  await rm(path.join(folder(), 'account.json'));
  await away.close();
  expect(await admitPrograms(away, declarationOf(postgres()), root, known)).toEqual([
    expect.stringContaining('the program of postgres has no account on the bus: '),
  ]);
});

test('[D10] what the host keeps there is nothing unknown to it', () => {
  const paths = declaredPaths(declarationOf(postgres()));
  expect([...paths]).toEqual(['/var/grants/grants.json', '/var/grants.status.json', '/var/grants.program']);
});
