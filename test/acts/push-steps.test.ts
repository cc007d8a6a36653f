/** A push's steps over real rows, one by one and more than once; the bus is a map, since only what is on it is looked at. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { inActivity } from '../../bench/in-activity.ts';
import { createPushActivities } from '../../src/activities/push.ts';
import type { DeclarationBus } from '../../src/activities/ports.ts';
import type { Envelope } from '../../src/domain/declaration/declaration.ts';
import type { NodeName } from '../../src/domain/words/names.ts';
import { actRecords } from '../../src/operations/act/act-records.ts';
import { credentialRecords } from '../../src/operations/act/credential-records.ts';
import { declarationRecords } from '../../src/operations/act/declaration-records.ts';
import { signEnvelope } from '../../src/sealing/envelope.ts';
import { makeDeclarationKey } from '../../src/sealing/signing.ts';
import { createWakes } from '../../src/workers/wakes.ts';
import { answer } from '../operations/push.ts';
import { add, hash, join, node, raiseWorlds, type World, type Worlds } from '../operations/world.ts';

let worlds: Worlds;
let world: World;
let onBus: Map<NodeName, { readonly envelope: Envelope; readonly sequence: number }>;
let published: NodeName[];
let isBusAway: boolean;
let refusedAt: NodeName | undefined;
let steps: ReturnType<typeof createPushActivities>;
beforeAll(async () => {
  worlds = await raiseWorlds();
});
afterAll(() => worlds.close());

beforeEach(async () => {
  world = await worlds.make();
  onBus = new Map();
  published = [];
  isBusAway = false;
  refusedAt = undefined;
  const bus: DeclarationBus = {
    publish: async (envelope, expected) => {
      if (envelope.node === refusedAt) throw new Error('the bus takes none of it');
      if ((onBus.get(envelope.node)?.sequence ?? 0) !== expected) return 'conflict';
      published.push(envelope.node);
      onBus.set(envelope.node, { envelope, sequence: published.length });
      return { sequence: published.length };
    },
    last: async (name) => onBus.get(name),
    held: async (names) => {
      if (isBusAway) throw new Error('the bus is away');
      return new Set(names.filter((name) => onBus.has(name)));
    },
    announceChanged: async () => {},
  };
  const key = makeDeclarationKey();
  steps = createPushActivities({
    acts: actRecords(world.store),
    declarations: declarationRecords(world.store),
    credentials: credentialRecords(world.store),
    bus,
    sign: (of) => signEnvelope({ ...of, key }),
    hash,
    sealNew: () => [],
    wakes: createWakes(),
  });
  await join(world, 'alpha');
  await join(world, 'beta');
  await change('one');
  await world.ask(`insert into mesh.assignments (node, module) select node, 'site' from mesh.nodes`);
});

const prepare = (act: string, attempt = 1) =>
  inActivity(() => steps.preparePush(act, act, 'a push', { person: 'ada' }), attempt);
const send = (act: string) => inActivity(() => steps.sendDeclarations(act));
const awaitAll = (act: string) => inActivity(() => steps.awaitNodes(act));
const stageOf = async (act: string) => (await actRecords(world.store).read(act))?.stage;
const eventsOf = async (act: string) =>
  (await world.ask(`select kind from mesh.events where about = '${act}' order by id`)).map(({ kind }) => kind);
const change = (content: string) =>
  add(world, { module: 'site', resources: [{ kind: 'file', path: '/etc/site', content }] });
const told = { sent: 2, alreadySent: 0, applied: 2, failedCount: 0, unresolvableCount: 0, secretsMade: 0 };
const nothing = { ...told, sent: 0, alreadySent: 2 };

/** A push of which every node answered. */
async function pushed(act: string) {
  await prepare(act);
  await send(act);
  for (const name of ['alpha', 'beta']) await answer(world, name, 'answers');
  return awaitAll(act);
}

test('[A7] [A1.2] each step may run twice: the act begins once, sends once, and says the same again', async () => {
  expect([await prepare('one'), await prepare('one', 2)]).toEqual([{ nodes: 2 }, { nodes: 2 }]);
  await send('one');
  await send('one');
  expect(published.toSorted()).toEqual(['alpha', 'beta']);
  for (const name of ['alpha', 'beta']) await answer(world, name, 'answers');
  // As when its answer was lost: nothing is to do by now, and what the act did is still its own to tell.
  expect([await prepare('one'), await prepare('one', 2)]).toEqual([{ nodes: 2 }, { nodes: 2 }]);
  const result = await awaitAll('one');
  expect(result).toMatchObject(told);
  expect(await awaitAll('one')).toEqual(result);
  expect(await eventsOf('one')).toEqual(['act-started', 'act-closed']);
});

test('[A7] [D7] a push that finds nothing to do ends with its first step; run again, that says the same, whatever changed since', async () => {
  await pushed('one');
  const first = await prepare('two');
  expect(first).toMatchObject({ result: { ...nothing, act: 'two' } });
  expect(await stageOf('two')).toBe('closed');
  await change('two');
  expect(await prepare('two', 2)).toEqual(first);
  expect(await eventsOf('two')).toEqual(['act-started', 'act-closed']);
  expect(published).toHaveLength(2);
});

test('[A7] [A13] tried again it is written down before it looks; it then ends with its sending, which run again sends nothing', async () => {
  await pushed('one');
  isBusAway = true;
  await expect(prepare('two')).rejects.toThrow('away');
  expect(await stageOf('two')).toBeUndefined();
  expect(await prepare('two', 2)).toEqual({ nodes: 2 });
  expect(await stageOf('two')).toBe('preparing');
  await expect(send('two')).rejects.toThrow('away');
  isBusAway = false;
  await send('two');
  expect(await stageOf('two')).toBe('closed');
  await change('two');
  await send('two');
  expect(published).toHaveLength(2);
  expect(await awaitAll('two')).toMatchObject(nothing);
});

test('[A7] [D4] what cannot be sent keeps nothing else from being sent and recorded, and is sent by the next attempt alone', async () => {
  await prepare('one');
  refusedAt = node('alpha');
  await expect(send('one')).rejects.toThrow('takes none');
  expect(await world.ask('select node from mesh.sent_declarations')).toEqual([{ node: 'beta' }]);
  refusedAt = undefined;
  await send('one');
  expect(published).toEqual(['beta', 'alpha']);
});

test('[D7] [C76] what the bus holds no more is to be sent, though it is recorded', async () => {
  await pushed('one');
  onBus.delete(node('beta'));
  expect(await prepare('two')).toEqual({ nodes: 2 });
});

test('[A7] [D23] what was sent before and not answered yet is waited for; what failed is told as failed', async () => {
  await prepare('one');
  await send('one');
  await answer(world, 'alpha', 'answers');
  await prepare('two');
  await send('two');
  expect(await stageOf('two')).toBe('preparing');
  await answer(world, 'beta', 'answers in part');
  const result = { ...nothing, applied: 1, failed: ['beta'], failedCount: 1 };
  expect(await awaitAll('two')).toMatchObject(result);
  expect(await prepare('three')).toMatchObject({ result: { ...result, act: 'three' } });
  expect(await stageOf('three')).toBe('closed');
});

test('[A7] a node that has not joined is refused before anything is sent', async () => {
  const gamma = node('gamma');
  const asked = inActivity(() => steps.preparePush('one', 'one', 'a push', { person: 'ada', nodes: [gamma] }));
  await expect(asked).rejects.toMatchObject({ type: 'PushRefused' });
  expect(await stageOf('one')).toBe('failed');
  expect(published).toEqual([]);
});
