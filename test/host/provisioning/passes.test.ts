/** [P8] [P9] [P10] [P11] Passes on a real bus: what retires and what does not, what is postponed and how it is said. */
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { lastChange, openBucket } from '../../../src/bus/buckets.ts';
import { applied, buckets, contribution, health } from '../../../src/domain/provisioning/values.ts';
import { statePaths } from '../../../src/host/state.ts';
import { until } from '../../support/until.ts';
import {
  kindKey,
  runNode,
  startClientMesh,
  template,
  written,
  type ClientMesh,
  type MeshModule,
  type RunningNode,
} from './client-mesh.ts';

let mesh: ClientMesh;
let running: RunningNode;
beforeAll(async () => {
  mesh = await startClientMesh();
}, 30_000);
afterAll(() => mesh.stop());
beforeEach(async () => {
  await mesh.reset();
  running = await runNode(mesh);
});
afterEach(() => running.close());

const motd = contribution.parse({ collection: 'motd', contributor: 'notes', item: 'hello' });
const notes: MeshModule = { settings: { title: 'one' }, plan: { contributes: [motd] } };
const ledger: MeshModule = { settings: { colour: 'red' } };
const files = [
  template('notes', '/notes', '${config:title}\n'),
  template('ledger', '/ledger', '${config:colour}\n'),
] as const;
/** All that the client has in the buckets, as `<bucket> <key>`. */
const present = async (): Promise<readonly string[]> =>
  (
    await Promise.all(
      written.map(async (bucket) => [...(await mesh.keys(bucket)).keys()].map((key) => `${bucket} ${key}`)),
    )
  ).flat();
const ofNotes = [
  `${buckets.needs} anvil.notes.config.title`,
  `${buckets.applied} anvil.notes`,
  `${buckets.collect} anvil.motd.notes`,
];
const ofLedger = [`${buckets.needs} anvil.ledger.config.colour`, `${buckets.applied} anvil.ledger`];
const both = [...ofNotes, ...ofLedger].toSorted();

describe('the load gate', () => {
  beforeEach(async () => {
    await mesh.say({ notes, ledger });
    expect((await running.pass(...files)).failures).toEqual([]);
    expect((await present()).toSorted()).toEqual(both);
  });
  const nothingRetires = async (): Promise<void> => {
    const before = await mesh.sequences();
    expect((await running.pass()).failures).toEqual([]);
    expect(await mesh.sequences()).toEqual(before);
    expect((await present()).toSorted()).toEqual(both);
    expect([await running.node.read('/notes'), await running.node.read('/ledger')]).toEqual(['one\n', 'red\n']);
  };

  test('[P8] [C76] purged mirrors retire nothing, whole or in part, and it is said', async () => {
    await mesh.purge(buckets.assignments);
    await nothingRetires();
    expect(running.log.filter((line) => line.startsWith('error the bus holds no index'))).toHaveLength(1);
    for (const bucket of [buckets.settings, buckets.compositions, buckets.registry]) await mesh.purge(bucket);
    await nothingRetires();
  });

  test('[P8] an index that is no index, and one whose keys are not all there, retire nothing', async () => {
    const mirror = await mesh.keys(buckets.assignments);
    const [index, plan] = [mirror.get('anvil'), mirror.get('anvil.notes')];
    await mesh.put(buckets.assignments, 'anvil', { modules: 7 });
    await nothingRetires();
    await mesh.put(buckets.assignments, 'anvil', index);
    await mesh.drop(buckets.assignments, 'anvil.notes');
    await nothingRetires();
    await mesh.put(buckets.assignments, 'anvil.notes', plan);
    // Ledger is taken out, but a setting of notes that the index names cannot be read.
    await mesh.say({ notes: { ...notes, settings: { title: 'one', size: 3 } } });
    await mesh.drop(buckets.settings, 'anvil.notes.size');
    await nothingRetires();
    await mesh.put(buckets.settings, 'anvil.notes.size', 3);
    await running.pass(files[0]);
    expect((await present()).toSorted()).toEqual(ofNotes.toSorted());
  });

  test('[P8] a bucket that is not there is one that could not be read', async () => {
    const manager = await mesh.bus.mesh.nats.jetstreamManager({ checkAPI: false });
    await manager.streams.delete(`KV_${buckets.settings}`);
    try {
      await nothingRetires();
    } finally {
      const { ensureBuckets } = await import('../../../src/bus/mesh-buckets.ts');
      await ensureBuckets(mesh.bus.mesh);
    }
  });

  test('[P8] [P11] a complete index without a module retires all that it wrote, and keeps the file until the declaration goes', async () => {
    await mesh.say({ ledger });
    expect((await running.pass()).failures).toEqual([]);
    expect((await present()).toSorted()).toEqual(ofLedger.toSorted());
    expect(await running.node.read('/notes')).toBe('one\n');
    await running.pass(files[1]);
    await expect(running.node.read('/notes')).rejects.toMatchObject({ code: 'ENOENT' });
    const before = await mesh.sequences();
    await running.pass();
    expect(await mesh.sequences()).toEqual(before);
  });

  test('[P11] a contribution that changed is written, one that is no more is deleted, and nothing else moves', async () => {
    const [needs, , collect] = await mesh.sequences();
    await mesh.say({ notes: { ...notes, plan: { contributes: [{ ...motd, item: 'bye' }] } }, ledger });
    await running.pass();
    await mesh.say({ notes: { ...notes, plan: {} }, ledger });
    await running.pass();
    const after = await mesh.sequences();
    expect([after[0], (after[2] ?? 0) - (collect ?? 0)]).toEqual([needs, 2]);
    expect((await mesh.keys(buckets.collect)).size).toBe(0);
  });
});

describe('postponing', () => {
  const build = { version: '2.0.0', waitsFor: ['image'], since: '2026-01-01T00:00:00.000Z' };
  const waits = (of: MeshModule): MeshModule => ({
    ...of,
    version: '2.0.0',
    published: false,
    plan: { ...of.plan, build } as MeshModule['plan'] & object,
  });

  test('[P9] [P10] a postponed module keeps its keys and its file while a removed neighbour retires', async () => {
    await mesh.say({ notes, ledger });
    await running.pass(...files);
    await mesh.say({ notes: waits(notes) });
    const { failures, postponed } = await running.pass(files[0]);
    expect([failures, postponed]).toEqual([[], undefined]);
    expect((await present()).toSorted()).toEqual(ofNotes.toSorted());
    expect(await running.node.read('/notes')).toBe('one\n');
    // What would be filled in now is not, before it is published.
    await mesh.say({ notes: waits({ ...notes, settings: { title: 'two' } }) });
    await running.pass();
    expect(await running.node.read('/notes')).toBe('one\n');
  });

  test('[P10] it is said in the third pass in a row, with its build and since when, once; published, the words go', async () => {
    await mesh.say({ notes: waits(notes), ledger });
    const said = async () =>
      [...(await mesh.keys(buckets.health))].map(([key, value]) => ({ key, ...health.parse(value) }));
    for (const each of [1, 2]) {
      const { failures, postponed } = await running.pass(...(each === 1 ? files : []));
      expect(failures).toMatchObject([
        {
          resource: 'notes/file/notes',
          waits: true,
          error: expect.stringContaining('version 2.0.0 of notes is not published'),
        },
      ]);
      expect([postponed, await said()]).toEqual([undefined, []]);
    }
    const third = await running.pass();
    expect(third.postponed).toMatchObject([{ module: 'notes', waitsFor: ['image'] }]);
    const [only, ...more] = await said();
    expect([only, more]).toMatchObject([{ key: 'anvil.notes', passes: 3, build }, []]);
    expect(third.postponed?.[0]?.since).toBe(only?.since);
    const before = await mesh.sequences();
    expect((await running.pass()).postponed).toHaveLength(1);
    await running.restart();
    expect((await running.pass()).postponed).toHaveLength(1);
    expect(await mesh.sequences()).toEqual(before);
    await mesh.say({ notes: { ...notes, version: '2.0.0' }, ledger });
    expect(await running.pass()).toMatchObject({ failures: [] });
    expect(await said()).toEqual([]);
    expect((await running.pass()).postponed).toBeUndefined();
    expect(await running.node.read('/notes')).toBe('one\n');
    // Again from the beginning.
    await mesh.say({ notes: waits({ ...notes, version: '3.0.0' }), ledger });
    await running.pass();
    expect(await said()).toEqual([]);
  });

  test('[P10] a pass that cannot read whether it waits no more does not take the words back', async () => {
    await mesh.say({ notes: waits(notes), ledger });
    await running.pass(...files);
    await running.pass();
    const [said] = (await running.pass()).postponed ?? [];
    expect(said).toMatchObject({ module: 'notes' });
    await mesh.purge(buckets.assignments);
    expect((await running.pass()).postponed).toMatchObject([
      { module: 'notes', since: said?.since, reason: expect.stringContaining('it was postponed before') },
    ]);
  });

  test('[P9] another version than the assigned one is published: postponed, and neither is taken for the other', async () => {
    await mesh.say({ notes: { ...notes, version: '2.0.0', published: '1.0.0' } });
    expect((await running.pass(files[0])).failures).toMatchObject([
      { waits: true, error: expect.stringContaining('version 1.0.0 is published') },
    ]);
    expect(await present()).toEqual([]);
  });
});

describe('the record', () => {
  const at = () => path.join(running.node.stateDir, statePaths.provisioner);
  beforeEach(async () => {
    await mesh.say({ notes, ledger });
    await running.pass(...files);
  });

  test('[C76] a bucket that is emptied while the client stays connected is written again by its next pass, and one key within a few', async () => {
    for (const bucket of written) {
      await mesh.purge(bucket);
      expect((await present()).filter((key) => key.startsWith(bucket))).toEqual([]);
      await running.pass();
      expect((await present()).toSorted()).toEqual(both);
    }
    const [first, ...others] = both;
    const [bucket = '', key = ''] = first?.split(' ') ?? [];
    await (await openBucket(mesh.bus.mesh, bucket)).delete(key);
    for (let pass = 0; pass < others.length; pass += 1) await running.pass();
    expect((await present()).toSorted()).toEqual(both);
    const before = await mesh.sequences();
    await running.pass();
    expect(await mesh.sequences()).toEqual(before);
  });

  test('[C76] what the bus came back without is written again, once', async () => {
    for (const bucket of written) await mesh.purge(bucket);
    await mesh.put(buckets.applied, 'anvil.ledger', { somebody: 'else' });
    await running.restart();
    await running.pass();
    expect((await present()).toSorted()).toEqual(both);
    expect(applied.safeParse((await mesh.keys(buckets.applied)).get('anvil.ledger')).success).toBe(true);
    const before = await mesh.sequences();
    await running.restart();
    await running.pass();
    expect(await mesh.sequences()).toEqual(before);
  });

  test.each([
    ['lost', undefined],
    ['no record', '{"modules": 7}'],
  ])('[D15] a record that is %s ends no pass: all is written anew', async (_, text) => {
    await (text === undefined ? rm(at()) : writeFile(at(), text));
    expect(await running.pass()).toMatchObject({ failures: [] });
    expect(running.log.some((line) => line.includes('what this node wrote for the mesh is not known'))).toBe(
      text !== undefined,
    );
    expect((await present()).toSorted()).toEqual(both);
    await mesh.say({ ledger });
    await running.pass(files[1]);
    expect((await present()).toSorted()).toEqual(ofLedger.toSorted());
  });

  test('[P11] a store that is full fails no file: what could not be written is written when there is room', async () => {
    const manager = await mesh.bus.mesh.nats.jetstreamManager({ checkAPI: false });
    const { config } = await manager.streams.info(`KV_${buckets.needs}`);
    await manager.streams.update(config.name, { ...config, max_bytes: 1 });
    await mesh.say({ notes: { ...notes, settings: { title: 'two', size: 3 } }, ledger });
    expect(
      (await running.pass(template('notes', '/notes', '${config:title} ${config:size}\n'), files[1])).failures,
    ).toEqual([]);
    expect(await running.node.read('/notes')).toBe('two 3\n');
    expect(running.log.some((line) => line.startsWith('warn what this node needs, has applied'))).toBe(true);
    await manager.streams.update(config.name, config);
    await running.pass();
    expect(await present()).toContain(`${buckets.needs} anvil.notes.config.size`);
  });
});

test('[C81] a contribution that is too big for its bucket is said, and holds up nothing else', async () => {
  const large = { ...motd, item: 'x'.repeat(100_000) };
  const small = contribution.parse({ collection: 'motd', contributor: 'notes:small', item: 'hello' });
  await mesh.say({ notes: { ...notes, plan: { contributes: [large, small] } }, ledger });
  expect((await running.pass(...files)).failures).toEqual([]);
  const others = [
    ...both.filter((key) => !key.startsWith(buckets.collect)),
    `${buckets.collect} anvil.motd.notes=3Asmall`,
  ];
  expect((await present()).toSorted()).toEqual(others.toSorted());
  expect(running.log.some((line) => line.startsWith('warn') && line.includes('anvil.motd.notes'))).toBe(true);
  await mesh.say({ notes: { ...notes, plan: { contributes: [motd, small] } }, ledger });
  await running.pass();
  expect((await present()).toSorted()).toEqual([...others, `${buckets.collect} anvil.motd.notes`].toSorted());
  // What could not be taken away is not forgotten with its module.
  const manager = await mesh.bus.mesh.nats.jetstreamManager({ checkAPI: false });
  const { config } = await manager.streams.info(`KV_${buckets.collect}`);
  await manager.streams.update(config.name, { ...config, max_bytes: 1 });
  await mesh.say({ ledger });
  await running.pass(files[1]);
  await manager.streams.update(config.name, config);
  await running.pass();
  expect((await present()).toSorted()).toEqual(ofLedger.toSorted());
});

test('[C83] clients that read through a broker that comes and goes leave no consumers behind', async () => {
  await mesh.say({ notes, ledger });
  await running.pass(...files, template('ledger', '/motd', '${collected:motd}'));
  for (let round = 0; round < 3; round += 1) {
    const passing = running.pass();
    await mesh.bus.kill();
    await passing;
    await mesh.bus.start();
    await running.connected();
  }
  await until(async () => mesh.bus.mesh.isConnected(), { withinMs: 20_000, what: 'the mesh to be back' });
  expect((await running.pass()).failures).toEqual([]);
  expect(await running.node.read('/motd')).toBe('hello');
  expect((await present()).filter((key) => !key.includes('collected')).toSorted()).toEqual(both);
  const manager = await mesh.bus.mesh.nats.jetstreamManager({ checkAPI: false });
  for (const bucket of Object.values(buckets)) {
    expect((await manager.streams.info(`KV_${bucket}`)).state.consumer_count).toBe(0);
    expect(await lastChange(mesh.bus.mesh, bucket)).toBeDefined();
  }
}, 60_000);

test('[C77] names that no key can hold as they stand are found under their own keys', async () => {
  const contributes = [
    contribution.parse({ collection: 'shell:zsh:normal', contributor: 'notes:web', item: 'alias n=notes' }),
  ];
  await mesh.put(buckets.registry, kindKey('motd'), {
    module: 'sky',
    answer: { bucket: buckets.collect, key: '*.shell:zsh:<name>.*' },
  });
  await mesh.say({ notes: { plan: { contributes } } });
  await running.pass(template('notes', '/rc', '${shell:zsh:normal} ${motd:normal}'));
  expect([...(await mesh.keys(buckets.collect)).keys()]).toEqual(['anvil.shell=3Azsh=3Anormal.notes=3Aweb']);
  await running.pass();
  expect(await running.node.read('/rc')).toBe('alias n=notes alias n=notes');
});
