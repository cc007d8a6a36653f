/** C77, C79 and C82: names, denials and history, each on a real server. */
import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';

import { nodeAccount } from '../../src/bus/accounts.ts';
import { openBucket, type Bucket } from '../../src/bus/buckets.ts';
import { revokeAccount } from '../../src/bus/claims.ts';
import type { BusConnection, BusStatus } from '../../src/bus/connection.ts';
import { lastDeclaration, publishDeclaration } from '../../src/bus/declarations.ts';
import { makeSeed, type Seed } from '../../src/bus/seed.ts';
import { ensureBucket, ensureStreams } from '../../src/bus/streams.ts';
import { declarationsStream, declareSubject, putSubject } from '../../src/bus/subjects.ts';
import { nodeName } from '../../src/domain/words/names.ts';
import { HostBus } from '../../src/host/bus.ts';
import { makeSealingKey } from '../../src/sealing/box.ts';
import { makeOverlayKey } from '../../src/sealing/overlay.ts';
import { until } from '../support/until.ts';
import { envelopeOf, reportOf } from './messages.ts';
import { attacker, bucket, stageScene, victim, victimKey, type Scene } from './scene.ts';
import { startBus, type TestBus } from './server.ts';

const caseFile = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../cases/${name}`, import.meta.url), 'utf8'));
const textsOf = (name: string): readonly string[] => z.array(z.string()).parse(caseFile(name));

describe('names and keys', () => {
  let bus: TestBus;
  let keys: Bucket;
  beforeAll(async () => {
    bus = await startBus();
    await ensureBucket(bus.mesh, bucket);
    keys = await openBucket(bus.mesh, bucket);
  });
  afterAll(() => bus.stop());

  test('[C77] [M27] a name is refused, or stands for exactly one token that is no other name', () => {
    const names = textsOf('C77-names-as-keys/names.json');
    const accepted = names.filter((name) => nodeName.safeParse(name).success);
    expect(accepted).toEqual(['web', 'web-eu']);
    const subjects = accepted.map((name) => declareSubject(nodeName.parse(name)));
    expect(new Set(subjects).size).toBe(accepted.length);
    for (const subject of subjects) expect(subject.split('.')).toHaveLength(3);
  });

  test('[C77] a key is put and read back, or refused as a key: nothing else is said of it, and nothing is sent', async () => {
    const { keys: judged } = z
      .object({ keys: z.array(z.object({ key: z.string(), raw_accepted: z.boolean() })) })
      .parse(caseFile('C77-names-as-keys/expected.json'));
    const raw = textsOf('C77-names-as-keys/keys.json');
    expect(judged).toHaveLength(raw.length);
    for (const [n, { raw_accepted: isAccepted }] of judged.entries()) {
      const key = raw[n] ?? '';
      if (isAccepted) {
        await keys.put(key, `value ${n}`);
        expect([key, (await keys.get(key))?.value]).toEqual([key, `value ${n}`]);
      } else {
        await expect(keys.put(key, 'x')).rejects.toMatchObject({ reason: 'bad-key' });
        await expect(keys.get(key)).rejects.toMatchObject({ reason: 'bad-key' });
      }
    }
    const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
    const { state } = await manager.streams.info(`KV_${bucket}`);
    expect(state.messages).toBe(judged.filter(({ raw_accepted: isAccepted }) => isAccepted).length);
  });

  test('[C77] what holds for the node "web" does not hold for a node whose name begins so', async () => {
    const by = { meshAccount: bus.identity.accounts.mesh, buckets: [{ bucket, writes: true }] };
    const { credential } = await bus.account(nodeAccount(nodeName.parse('web'), by));
    const web = await openBucket(await bus.connect('web', credential), bucket);
    await web.put('web.a', 'mine');
    for (const key of ['web-eu.a', 'webb.a', 'web', 'a.web.a'])
      await expect(web.put(key, 'x')).rejects.toMatchObject({ reason: 'denied' });
  });

  test('[C82] what was replaced or deleted is gone: by key, by history and by sequence', async () => {
    await ensureStreams(bus.mesh);
    await keys.put('n1.web', 'with CANARY-hist');
    await keys.put('n1.web', 'without');
    await keys.delete('n1.web');
    const n1 = nodeName.parse('n1');
    await publishDeclaration(bus.mesh, envelopeOf(n1, 1, '{"a":"CANARY-hist"}'), 0);
    await publishDeclaration(bus.mesh, envelopeOf(n1, 2), 1);
    expect(await keys.get('n1.web')).toBeUndefined();
    const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
    for (const stream of [`KV_${bucket}`, declarationsStream]) {
      const { state } = await manager.streams.info(stream);
      for (let seq = 1; seq <= state.last_seq; seq += 1) {
        const found = await manager.streams.getMessage(stream, { seq }).catch(() => undefined);
        expect(found?.string() ?? '').not.toContain('CANARY-hist');
      }
    }
    const kv = await bus.mesh.nats.jetstream().views.kv(bucket, { bindOnly: true });
    for await (const entry of await kv.history({ key: 'n1.web' })) expect(entry.string()).not.toContain('CANARY-hist');
  });
});

describe('denials', () => {
  let scene: Scene;
  let node: BusConnection;
  let own: Bucket;
  const statuses: BusStatus[] = [];
  beforeAll(async () => {
    scene = await stageScene();
    const { credential } = await scene.bus.account(scene.attackerShape);
    node = await scene.bus.connect('n1', credential, (status) => statuses.push(status));
    own = await openBucket(node, bucket);
  });
  afterAll(() => scene.bus.stop());
  const quickly = async (run: () => Promise<unknown>): Promise<void> => {
    const startedAt = performance.now();
    await run();
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  };

  test('[C79] its own: a value and a success; another, and a bucket that is not there: denied at once', async () => {
    await quickly(async () => {
      await own.put(`${attacker}.web`, 'value');
      expect((await own.get(`${attacker}.web`))?.value).toBe('value');
      await expect(own.get(victimKey)).rejects.toMatchObject({ reason: 'denied' });
      await expect(own.put(victimKey, 'x')).rejects.toMatchObject({
        reason: 'denied',
        subject: putSubject(bucket, victimKey),
      });
      const absent = await openBucket(node, 'nosuch');
      await expect(absent.put(`${attacker}.web`, 'x')).rejects.toMatchObject({ reason: 'denied' });
      await expect(absent.get(`${attacker}.web`)).rejects.toMatchObject({ reason: 'denied' });
      node.nats.subscribe('>');
      await until(() => statuses.some((status) => status.kind === 'denied' && status.subject === '>'), {
        withinMs: 2_000,
        what: 'the denial of everything',
      });
    });
  });

  test('[C79] a bucket that MESH itself has not is no success either, and no denial', async () => {
    const absent = await openBucket(scene.bus.mesh, 'nosuch');
    await quickly(() => expect(absent.put('a', 'x')).rejects.toMatchObject({ reason: 'nobody' }));
  });

  test('[C79] JetStream that is off is told as nobody there, not as a denial, a timeout or an empty answer', async () => {
    const off = await startBus({}, { jetStream: false });
    try {
      await quickly(() => expect(lastDeclaration(off.mesh, victim)).rejects.toMatchObject({ reason: 'nobody' }));
      await quickly(() => expect(ensureStreams(off.mesh)).rejects.toMatchObject({ name: 'BusFault' }));
    } finally {
      await off.stop();
    }
  });
});

describe("a host's credential", () => {
  let bus: TestBus;
  beforeAll(async () => {
    bus = await startBus();
    await ensureStreams(bus.mesh);
  });
  afterAll(() => bus.stop());
  const kept: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of kept.splice(0)) await end();
  });

  type Said = { readonly text: string; readonly atMs: number; readonly fields: object };

  /** A host's line to the bus with this JWT and this seed, kept until the test ends; and what it says. */
  function keep(userJwt: string, identity: Seed): { host: HostBus; said: readonly Said[] } {
    const said: Said[] = [];
    const say = (fields: object, text: string): void => void said.push({ fields, text, atMs: performance.now() });
    const { servers } = bus;
    const node = { schema: 'mesh.host-node', version: 1, name: victim, address: '127.0.0.1', verifyKey: 'x' } as const;
    const host = new HostBus({ ...node, servers: [...servers], userJwt }, { info: say, warn: say, error: say });
    const ending = new AbortController();
    const keys = { identity, client: identity, sealing: makeSealingKey(), overlay: makeOverlayKey() };
    const keeping = host.keep(keys, () => undefined, ending.signal);
    kept.push(() => (ending.abort(), keeping));
    return { host, said };
  }

  /** It says that it is turned away, and the n-th time no sooner than pauses that double allow. */
  async function isTurnedAwaySlowly(said: readonly Said[], times: number): Promise<void> {
    const away = () => said.filter(({ text }) => text.startsWith("the bus refuses this node's credential"));
    await until(() => away().length >= times, { withinMs: 20_000, what: `${times} attempts, each said` });
    const [first, last] = [away()[0]?.atMs ?? 0, away()[times - 1]?.atMs ?? 0];
    // Half of each pause is chance: they are at least 50, 100, 200, … ms. Being cut off may be said before the first of them.
    expect(last - first).toBeGreaterThan(50 * (2 ** (times - 2) - 1));
    expect(said.some(({ text }) => text === 'cannot connect to the bus')).toBe(false);
  }

  test('[C79] a wrong one: it says that it is refused, and tries ever more slowly; nothing else gets through', async () => {
    const { prepared } = await bus.account(nodeAccount(victim, { meshAccount: bus.identity.accounts.mesh }));
    const { host, said } = keep(prepared.userJwt, makeSeed('user'));
    await isTurnedAwaySlowly(said, 6);
    expect(await host.fetch()).toEqual({ kind: 'away' });
    expect(await host.report(reportOf(victim, 1))).toBe(false);
  });

  test('[C79] its right is taken while it is connected: it says that it cannot report, at once, and tries ever more slowly', async () => {
    const shape = nodeAccount(victim, { meshAccount: bus.identity.accounts.mesh });
    const { prepared, credential } = await bus.account(shape);
    const { host, said } = keep(prepared.userJwt, credential.seed);
    await until(() => host.report(reportOf(victim, 1)), { withinMs: 10_000, what: 'a report to be taken' });
    await revokeAccount(bus.system, bus.identity, prepared.accountKey);
    await until(async () => (await host.fetch()).kind === 'away', { withinMs: 10_000, what: 'it to be away' });
    const startedAt = performance.now();
    expect(await host.report(reportOf(victim, 2))).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    await isTurnedAwaySlowly(said, 6);
  }, 30_000);
});
