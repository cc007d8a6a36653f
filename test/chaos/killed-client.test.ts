/**
 * [D15] [P8] [P11] A real host process is killed before each thing that its provisioner client writes: a file that is filled in,
 * its own record, a key of a bucket. And the bus is killed in the middle of passes. Files are old or new, whole; the next pass
 * is right, and what was not read whole takes nothing away.
 */
import { once } from 'node:events';
import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { onPut } from '../../src/bus/buckets.ts';
import type { Envelope } from '../../src/domain/declaration/declaration.ts';
import { buckets, contribution } from '../../src/domain/provisioning/values.ts';
import { statePaths, writeState } from '../../src/host/state.ts';
import {
  runNode,
  startClientMesh,
  template,
  written,
  type ClientMesh,
  type MeshModule,
  type RunningNode,
} from '../host/provisioning/client-mesh.ts';
import { startTypeScript } from '../support/program.ts';
import { until } from '../support/until.ts';
import { documentedKinds, hostKinds } from './kinds.ts';

const program = fileURLToPath(new URL('host-program.ts', import.meta.url));

let mesh: ClientMesh;
let running: RunningNode;
beforeAll(async () => {
  mesh = await startClientMesh();
}, 30_000);
afterAll(() => mesh.stop());
beforeEach(async () => {
  await mesh.reset();
  running = await runNode(mesh);
  await writeState(running.node.stateDir, statePaths.node, running.file);
});
afterEach(() => running.close());

const bound = [{ provision: 'postgres-database', provider: 'postgres' }];
const still: MeshModule = { settings: { colour: 'red' } };
const title = (round: 1 | 2): string => `round ${round} `.repeat(10_000);
const credential = (round: 1 | 2) => ({ generation: round, login: `login-${round}`, value: `secret-${round}` });
/** Two worlds. From the first to the second a value and a credential move, one module goes, one comes and one stays. */
const modules = (round: 1 | 2): Readonly<Record<string, MeshModule>> => ({
  notes: {
    settings: { title: title(round) },
    bound,
    plan: { contributes: [contribution.parse({ collection: 'motd', contributor: 'notes', item: `round ${round}` })] },
  },
  still,
  [round === 1 ? 'leaves' : 'comes']: { settings: { size: round } },
});
const resources = (round: 1 | 2) => [
  template('notes', '/title', '${config:title}'),
  template('notes', '/database', '${secret:postgres-database:login} ${secret:postgres-database}', {
    generations: { 'postgres-database': round },
  }),
  template('still', '/colour', '${config:colour}'),
  round === 1 ? template('leaves', '/leaves', '${config:size}') : template('comes', '/comes', '${config:size}'),
];
const sayRound = async (round: 1 | 2): Promise<void> => {
  mesh.secrets.set('notes postgres-database', credential(round));
  await mesh.say(modules(round));
};
const keysOf = (module: string): readonly string[] => [`needs anvil.${module}.config.size`, `applied anvil.${module}`];
const keysIn = (round: 1 | 2): readonly string[] =>
  [
    'needs anvil.notes.config.title',
    'needs anvil.notes.secret.postgres-database',
    'applied anvil.notes',
    'collect anvil.motd.notes',
    'needs anvil.still.config.colour',
    'applied anvil.still',
    ...keysOf(round === 1 ? 'leaves' : 'comes'),
  ].toSorted();

/** What the client has in the buckets: `<bucket> <key>` → value. */
async function present(): Promise<ReadonlyMap<string, unknown>> {
  const each = await Promise.all(
    written.map(async (bucket) =>
      [...(await mesh.keys(bucket))].map(([key, value]): [string, unknown] => [
        `${bucket.replace(/^.*_/, '')} ${key}`,
        value,
      ]),
    ),
  );
  return new Map(each.flat().toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
const read = (at: string): Promise<string> => running.node.read(at).catch(() => '');

/** A pass of a host process over what came, killed before its `killBefore`-th change; 0: not at all. Answers its changes. */
async function killedPass(came: Envelope, killBefore: number): Promise<readonly string[]> {
  const { stateDir, root } = running.node;
  const envelopeFile = path.join(stateDir, 'came.json');
  await writeFile(envelopeFile, JSON.stringify(came));
  const host = startTypeScript(program, [stateDir, root, envelopeFile, String(killBefore)]);
  let [said, complaint] = ['', ''];
  host.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  host.stderr?.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
  await once(host, 'close');
  if (host.signalCode !== (killBefore === 0 ? null : 'SIGKILL')) throw new Error(`${said}${complaint}`);
  return said.split('\n').filter((line) => line !== '' && !line.startsWith('pass '));
}

/** Old or new, whole, and in the buckets nothing but what one of the two worlds holds; what stays was not touched. */
async function isOldOrNew(before: ReadonlyMap<string, unknown>): Promise<void> {
  expect([title(1), title(2)]).toContain(await read('/title'));
  expect(['login-1 secret-1', 'login-2 secret-2']).toContain(await read('/database'));
  expect(['', '2']).toContain(await read('/comes'));
  expect(['', '1']).toContain(await read('/leaves'));
  const now = await present();
  const allowed = new Set([...keysIn(1), ...keysIn(2)]);
  expect([...now.keys()].filter((key) => !allowed.has(key))).toEqual([]);
  for (const key of keysIn(1).filter((one) => keysIn(2).includes(one))) {
    expect(now.has(key)).toBe(true);
    if (key.includes('still')) expect(now.get(key)).toEqual(before.get(key));
  }
}

/** The next pass is right, and the one after writes nothing. */
async function comesRight(round: 1 | 2): Promise<void> {
  expect(await running.pass()).toMatchObject({ failures: [], kept: [] });
  expect(await read('/title')).toBe(title(round));
  expect(await read('/database')).toBe(`login-${round} secret-${round}`);
  expect([await read('/leaves'), await read('/comes')]).toEqual(round === 1 ? ['1', ''] : ['', '2']);
  const now = await present();
  expect([...now.keys()]).toEqual(keysIn(round));
  expect(now.get('applied anvil.notes')).toMatchObject({ generations: { 'postgres-database': round } });
  expect(now.get('collect anvil.motd.notes')).toEqual({ item: `round ${round}` });
  const before = await mesh.sequences();
  expect(await running.pass()).toMatchObject({ failures: [], drift: [] });
  expect(await mesh.sequences()).toEqual(before);
}

const kind = hostKinds(['title', 'database', 'comes', 'leaves', 'colour']);

test('[D15] [P8] killed before each thing that a client writes, the next pass is right', async () => {
  const begin = async (): Promise<Envelope> => {
    await sayRound(1);
    await running.declare(...resources(1));
    await running.restart();
    await comesRight(1);
    await sayRound(2);
    return running.declare(...resources(2));
  };
  const all = await killedPass(await begin(), 0);
  await running.restart();
  await comesRight(2);
  const listed = documentedKinds("The provisioner's client");
  const isItsOwn = (line: string): boolean => listed.has(kind(line)) || /^file\/(?!remove)/.test(kind(line));
  expect(all.map(kind).filter((one) => one.startsWith('in no list'))).toEqual([]);
  const points = all.flatMap((line, at) => (isItsOwn(line) ? [{ line, at: at + 1 }] : []));
  for (const [each, { line, at }] of points.entries()) {
    const came = await begin();
    const before = await present();
    const { ino } = await stat(running.node.at('/colour'));
    const changes = await killedPass(came, at);
    expect(kind(changes.at(-1) ?? '')).toBe(kind(line));
    await isOldOrNew(before);
    await running.restart();
    if (each % 4 === 0) {
      // Of what was not read whole nothing goes, whatever the one that died was about to take away.
      const cut = await present();
      await mesh.drop(buckets.assignments, 'anvil');
      await running.pass();
      expect(await present()).toEqual(cut);
      await mesh.reset();
      await sayRound(2);
    } else if (each % 4 === 2) await comesRight(2);
    // Otherwise it is to go back at once: what the one that died may have written goes, though nobody has a list of it.
    expect((await stat(running.node.at('/colour'))).ino).toBe(ino);
  }
  expect(new Set(points.map(({ line }) => kind(line)).filter((one) => !one.startsWith('file/')))).toEqual(listed);
}, 300_000);

test.each([
  ['while a secret is asked for', (kill: () => Promise<void>) => void (mesh.onAsked = kill)],
  [
    'after the first of its puts',
    (kill: () => Promise<void>) => {
      const stop = onPut(mesh.bus.mesh, buckets.needs, () => {
        stop();
        void kill();
      });
    },
  ],
])(
  '[D15] the bus killed in the middle of a pass, %s, and started again',
  async (_, when) => {
    await sayRound(1);
    await running.pass(...resources(1));
    await sayRound(2);
    const before = await present();
    let killed: Promise<void> | undefined;
    const began = performance.now();
    when(() => (killed ??= mesh.bus.kill()));
    await running.pass(...resources(2));
    expect(performance.now() - began).toBeLessThan(4_000);
    expect(killed).toBeDefined();
    await killed;
    mesh.onAsked = () => undefined;
    await mesh.bus.start();
    await running.connected();
    await until(async () => mesh.bus.mesh.isConnected(), { withinMs: 20_000, what: 'the mesh to be back' });
    await isOldOrNew(before);
    await comesRight(2);
  },
  60_000,
);
