/** C76, C77, C79 and C82: silence, names, denials and history, each on a real server. */
import { readFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';

import { nodeAccount } from '../../src/bus/accounts.ts';
import { openBucket, type Bucket } from '../../src/bus/buckets.ts';
import { revokeAccount } from '../../src/bus/claims.ts';
import type { BusConnection, BusStatus } from '../../src/bus/connection.ts';
import { announceChanged, lastDeclaration, publishDeclaration } from '../../src/bus/declarations.ts';
import { makeSeed } from '../../src/bus/seed.ts';
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
    bus = await startBus({ buckets: [bucket] });
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

/** Stands between a host and its server, and can be cut. */
async function line(to: number): Promise<{ readonly url: string; cut(): void; mend(): void; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server: Server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(to, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('error', () => undefined);
      one.on('close', () => (other.destroy(), sockets.delete(one)));
      one.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `nats://127.0.0.1:${address.port}`,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend: () => void (isCut = false),
    close: () => new Promise((resolve) => (server.close(() => resolve()), sockets.forEach((one) => one.destroy()))),
  };
}

describe('silence', () => {
  /** A pause between two attempts is at most ten seconds; without an interval of the host's nothing else is waited for. */
  const statedMs = 15_000;
  let bus: TestBus;
  let number = 0;
  const acted: number[] = [];
  const said: string[] = [];
  let wire: Awaited<ReturnType<typeof line>>;
  let account: string;
  const ending = new AbortController();
  let host: HostBus;
  let kept: Promise<void>;
  beforeAll(async () => {
    bus = await startBus();
    await ensureStreams(bus.mesh);
    wire = await line(Number(new URL(bus.servers[0] ?? '').port));
    const { prepared, credential } = await bus.account(
      nodeAccount(victim, { meshAccount: bus.identity.accounts.mesh }),
    );
    account = prepared.accountKey;
    const node = {
      schema: 'mesh.host-node' as const,
      version: 1 as const,
      name: victim,
      address: '127.0.0.1',
      servers: [wire.url],
      verifyKey: 'x',
      userJwt: prepared.userJwt,
    };
    const say = (_: object, text: string): void => void said.push(text);
    host = new HostBus(node, { info: say, warn: say, error: say });
    const envelope = z.object({ number: z.int() });
    let looking = Promise.resolve();
    const look = (): void =>
      void (looking = looking.then(async () => {
        const fetched = await host.fetch();
        if (fetched.kind !== 'came') return;
        const { number: came } = envelope.parse(fetched.envelope);
        if (acted.at(-1) !== came) acted.push(came);
      }));
    kept = host.keep(
      { identity: credential.seed, sealing: makeSealingKey(), overlay: makeOverlayKey() },
      look,
      ending.signal,
    );
    await declare();
    await onNewest();
  }, 30_000);
  afterAll(async () => {
    ending.abort();
    await kept;
    await wire.close();
    await bus.stop();
  });

  async function declare(): Promise<void> {
    number += 1;
    const last = await lastDeclaration(bus.mesh, victim);
    await publishDeclaration(bus.mesh, envelopeOf(victim, number), last?.sequence ?? 0);
    announceChanged(bus.mesh, victim);
  }
  const onNewest = () =>
    until(() => acted.at(-1) === number, { withinMs: statedMs, what: `the node to act on declaration ${number}` });
  const meshBack = () =>
    until(async () => bus.mesh.isConnected() && (await lastDeclaration(bus.mesh, victim).catch(() => 'no')) !== 'no', {
      withinMs: 20_000,
      what: 'MESH to be back',
    });
  /** What was declared while it was away: of several only the newest is acted on, and once. */
  async function onceOnTheNewest(before: number): Promise<void> {
    await onNewest();
    expect(acted.filter((each) => each === number)).toHaveLength(1);
    expect(acted).toEqual([...acted].toSorted((a, b) => a - b));
    expect(acted.length).toBeGreaterThan(before);
  }

  test('[C76] the server is killed and starts: the node acts on what is newest within the stated time, once', async () => {
    const before = acted.length;
    await bus.kill();
    await bus.start();
    await meshBack();
    await declare();
    await onceOnTheNewest(before);
  }, 40_000);

  test('[C76] the network is cut meanwhile: of three changes only the newest is acted on', async () => {
    const before = acted.length;
    wire.cut();
    for (let times = 0; times < 3; times += 1) await declare();
    wire.mend();
    await onceOnTheNewest(before);
    expect(acted.slice(before)).toEqual([number]);
  }, 40_000);

  test('[C76] the stream is deleted and made again: the next declaration reaches the node as ever', async () => {
    const before = acted.length;
    const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
    await manager.streams.delete(declarationsStream);
    announceChanged(bus.mesh, victim);
    await ensureStreams(bus.mesh);
    await declare();
    await onceOnTheNewest(before);
  }, 40_000);

  test('[C76] everything is purged while it is away: nothing is acted on, and what comes after is', async () => {
    wire.cut();
    const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
    await manager.streams.purge(declarationsStream);
    const before = acted.length;
    wire.mend();
    await until(async () => (await host.fetch()).kind === 'none', { withinMs: statedMs, what: 'an empty answer' });
    expect(acted).toHaveLength(before);
    await declare();
    await onceOnTheNewest(before);
  }, 40_000);

  test('[C79] its right is taken while it is connected: it says that it cannot report, at once, and keeps trying slowly', async () => {
    expect(await host.report(reportOf(victim, 1))).toBe(true);
    await revokeAccount(bus.system, bus.identity, account);
    await until(async () => (await host.fetch()).kind === 'away', { withinMs: 10_000, what: 'it to be away' });
    const startedAt = performance.now();
    expect(await host.report(reportOf(victim, 2))).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    await expect(bus.connect('n1', { jwt: 'x', seed: makeSeed('user'), inbox: '_INBOX_x' })).rejects.toThrow(
      /Authorization/i,
    );
  }, 30_000);
});
