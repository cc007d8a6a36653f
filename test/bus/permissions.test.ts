import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { headers, type MsgHdrs } from 'nats';
import { nodeAccount, programAccount, seatAccount, type AccountShape } from '../../src/bus/accounts.ts';
import { openBucket, type Bucket } from '../../src/bus/buckets.ts';
import { pushMeshAccount } from '../../src/bus/claims.ts';
import type { BusConnection, BusStatus } from '../../src/bus/connection.ts';
import { announceChanged, lastDeclaration, onChanged, publishDeclaration } from '../../src/bus/declarations.ts';
import { publishReport } from '../../src/bus/reports.ts';
import { makeSeed } from '../../src/bus/seed.ts';
import { ensureBucket, ensureStreams } from '../../src/bus/streams.ts';
import {
  declareSubject,
  getSubject,
  lastDeclarationSubject,
  putSubject,
  reportsStream,
  reportSubject,
} from '../../src/bus/subjects.ts';
import { userJwt } from '../../src/bus/tokens.ts';
import { nodeName, partName } from '../../src/domain/words/names.ts';
import { until } from '../../src/foundation/until.ts';
import { envelopeOf, reportOf } from './messages.ts';
import { startBus, type TestBus } from './server.ts';

const bucket = 'mesh-provisioner_needs';
const attacker = nodeName.parse('attacker');
const victim = nodeName.parse('victim');
const seat = partName.parse('mesh-provisioner');
const secretEnvelope = envelopeOf(victim, 1, 'a secret body');
const victimKey = `${victim}.web.config.a`;

let bus: TestBus;
let meshBucket: Bucket;
let victimShape: AccountShape;
let attackerShape: AccountShape;

beforeAll(async () => {
  bus = await startBus({ buckets: [bucket] });
  await ensureStreams(bus.mesh);
  await ensureBucket(bus.mesh, bucket);
  meshBucket = await openBucket(bus.mesh, bucket);
  const by = { meshAccount: bus.identity.accounts.mesh, buckets: [{ bucket, writes: true }] };
  victimShape = nodeAccount(victim, by);
  attackerShape = nodeAccount(attacker, by);
  await publishDeclaration(bus.mesh, secretEnvelope, 0);
  await publishDeclaration(bus.mesh, envelopeOf(attacker, 1), 0);
  const victims = await bus.connect('victim', (await bus.account(victimShape)).credential);
  await (await openBucket(victims, bucket)).put(victimKey, 'a secret need');
  await publishReport(victims, reportOf(victim, 1));
});
afterAll(() => bus.stop());

/** Every byte that the mesh keeps of the victim, with its sequence: whatever reached any of it shows here. */
async function stored(): Promise<Record<string, string>> {
  const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
  const found: Record<string, string> = {};
  for (const [stream, subject] of [
    ['MESH_DECLARATIONS', declareSubject(victim)],
    [reportsStream, reportSubject(victim)],
    [`KV_${bucket}`, putSubject(bucket, victimKey)],
  ] as const) {
    const message = await manager.streams.getMessage(stream, { last_by_subj: subject });
    const count = (await manager.streams.info(stream, { subjects_filter: subject })).state.subjects?.[subject];
    found[subject] = `${message.seq} ${count} ${message.string()}`;
  }
  return found;
}

/**
 * Sends everything, allowed or not, and waits until all that could come of it has come: an honest request by each of the
 * same ways is answered after the forged ones, and a write of MESH to each stream lands after whatever they caused.
 */
async function attack(connection: BusConnection, sends: (connection: BusConnection) => void): Promise<void> {
  sends(connection);
  const own = [
    { subject: lastDeclarationSubject(attacker), body: '' },
    { subject: getSubject(bucket, `${attacker}.web.config.a`), body: '' },
    { subject: putSubject(bucket, `${attacker}.web.config.a`), body: 'mine' },
    { subject: reportSubject(attacker), body: 'mine' },
  ];
  for (const { subject, body } of own) await connection.nats.request(subject, body, { timeout: 5_000 });
  const stream = bus.mesh.nats.jetstream({ checkAPI: false });
  for (const subject of [declareSubject('*'), reportSubject('*'), putSubject(bucket, '*')]) {
    await stream.publish(subject.replace('*', 'barrier'), 'barrier');
  }
}

type Send = { readonly subject: string; readonly body?: string; readonly reply?: string; readonly headers?: MsgHdrs };
const sendAll = (sends: readonly Send[]) => (connection: BusConnection) => {
  for (const { subject, body, reply, headers: head } of sends) {
    connection.nats.publish(subject, body ?? '', {
      ...(reply === undefined ? {} : { reply }),
      ...(head === undefined ? {} : { headers: head }),
    });
  }
};

describe.each([
  ['as its user is', (shape: AccountShape) => shape],
  // The allow-lists only make denials loud: the account alone must hold.
  [
    'with a user that may say anything',
    (shape: AccountShape): AccountShape => ({ ...shape, publish: ['>'], subscribe: ['>'] }),
  ],
])('a node that attacks, %s', (_, loosen) => {
  let node: BusConnection;
  const heard: string[] = [];
  let before: Record<string, string>;
  beforeAll(async () => {
    node = await bus.connect('attacker', (await bus.account(loosen(attackerShape))).credential);
    node.nats.subscribe('>', {
      callback: (error, message) => void (error === null && heard.push(`${message.subject} ${message.string()}`)),
    });
    await (await openBucket(node, bucket)).put(`${attacker}.web.config.a`, 'mine');
  });
  beforeEach(async () => {
    before = await stored();
    heard.length = 0;
  });

  const targets = () => [
    declareSubject(victim),
    reportSubject(victim),
    putSubject(bucket, victimKey),
    `mesh.changed.${victim}`,
    `mesh.reported.${victim}`,
    `${seat}.provisioning`,
    `$JS.API.STREAM.PURGE.${reportsStream}`,
    `$JS.API.STREAM.DELETE.MESH_DECLARATIONS`,
  ];

  test('[U15] reads nothing of another: declaration, keys, the stream as a whole, what others are told', async () => {
    const wide = [
      lastDeclarationSubject(victim),
      lastDeclarationSubject('*'),
      '$JS.API.DIRECT.GET.MESH_DECLARATIONS.mesh.declare.>',
      getSubject(bucket, victimKey),
      getSubject(bucket, '>'),
      '$JS.API.STREAM.MSG.GET.MESH_DECLARATIONS',
      `$JS.API.STREAM.MSG.GET.KV_${bucket}`,
      '$JS.API.DIRECT.GET.MESH_DECLARATIONS',
      '$JS.API.STREAM.NAMES',
      '$JS.API.CONSUMER.MSG.NEXT.MESH_REPORTS.controller',
    ];
    for (const subject of wide) {
      const body =
        subject.includes('MSG.GET') || subject.endsWith('DECLARATIONS')
          ? `{"last_by_subj":"${declareSubject(victim)}"}`
          : '';
      // Some answer, from the node's own account: that it has no JetStream.
      const said = await node.nats.request(subject, body, { timeout: 1_000 }).then(
        (answer) => answer.string(),
        () => 'no answer',
      );
      expect(said).toMatch(/^no answer$|jetstream not enabled for account/i);
    }
    announceChanged(bus.mesh, victim, ['secret']);
    bus.mesh.nats.publish('mesh.reported.victim', 'secret');
    await bus.mesh.nats.flush();
    await node.nats.flush();
    // What it hears of the victim is its own requests, come back: nothing that anybody else wrote.
    expect(heard.filter((each) => each.includes('secret'))).toEqual([]);
  });

  test('[U15] writes nothing of another by naming it', async () => {
    await attack(node, sendAll(targets().map((subject) => ({ subject, body: 'forged' }))));
    expect(await stored()).toEqual(before);
  });

  test('[U15] a forged reply subject of a direct get, a put, a report or a verb reaches nothing', async () => {
    const requests = [
      { subject: lastDeclarationSubject(attacker) },
      { subject: getSubject(bucket, `${attacker}.web.config.a`) },
      { subject: putSubject(bucket, `${attacker}.web.config.b`), body: 'forged' },
      { subject: reportSubject(attacker), body: 'forged' },
      { subject: `${seat}.provisioning`, body: 'forged' },
    ];
    const sends = requests.flatMap((request) => targets().map((reply) => ({ ...request, reply })));
    await attack(node, sendAll(sends));
    expect(await stored()).toEqual(before);
  });

  test('[U15] a deliver subject of a push consumer reaches nothing', async () => {
    const consumer = (deliver: string) =>
      JSON.stringify({
        stream_name: `KV_${bucket}`,
        config: {
          deliver_subject: deliver,
          ack_policy: 'none',
          deliver_policy: 'all',
          filter_subject: putSubject(bucket, `${attacker}.>`),
        },
      });
    const subjects = [`$JS.API.CONSUMER.CREATE.KV_${bucket}`, `$JS.API.CONSUMER.CREATE.KV_${bucket}.forged`];
    await attack(
      node,
      sendAll(
        subjects.flatMap((subject) =>
          targets().map((to) => ({ subject, body: consumer(to), reply: '_INBOX_attacker.forged' })),
        ),
      ),
    );
    const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
    expect((await manager.streams.info(`KV_${bucket}`)).state.consumer_count).toBe(0);
    expect(await stored()).toEqual(before);
  });

  test('[U15] a header of its own key or report erases, schedules and moves nothing of another', async () => {
    const head = (name: string, value: string) => {
      const made = headers();
      made.set(name, value);
      return made;
    };
    const own = [putSubject(bucket, `${attacker}.web.config.a`), reportSubject(attacker)];
    const heads = [
      head('Nats-Rollup', 'all'),
      head('Nats-Rollup', 'sub'),
      head('Nats-TTL', '1s'),
      head('Nats-Batch-Id', 'forged'),
      head('Nats-Incr', '+1'),
      head('KV-Operation', 'PURGE'),
    ];
    for (const target of [putSubject(bucket, victimKey), reportSubject(victim)]) {
      const schedule = head('Nats-Schedule', '@at 2020-01-01T00:00:00Z');
      schedule.set('Nats-Schedule-Target', target);
      heads.push(schedule);
    }
    await attack(
      node,
      sendAll(own.flatMap((subject) => heads.map((each) => ({ subject, body: 'forged', headers: each })))),
    );
    expect(await stored()).toEqual(before);
  });

  test('[U15] with every message id it can think of, it makes no report and no key of another vanish', async () => {
    const report = reportOf(victim, 2);
    const ids = ['1', '2', 'victim', `${victim}-1-2`, report.stampedAt, reportSubject(victim)];
    const forged = ids.map((id) => {
      const made = headers();
      made.set('Nats-Msg-Id', id);
      return { subject: reportSubject(attacker), body: 'forged', headers: made };
    });
    const victims = await bus.connect('victim', (await bus.account(victimShape)).credential);
    await attack(node, sendAll(forged));
    const { sequence } = await publishReport(victims, report);
    const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
    const kept = await manager.streams.getMessage(reportsStream, { seq: sequence });
    expect(kept.subject).toBe(reportSubject(victim));
    // Why: the report goes without an id, so there is nothing to take for a duplicate.
    expect(kept.header.has('Nats-Msg-Id')).toBe(false);
    await victims.close();
  });

  test('[U15] answers no seat', async () => {
    const [seatsShape, mine] = [seatAccount(seat), loosen(attackerShape)];
    const { prepared, credential } = await bus.account(seatsShape);
    const serving = await bus.connect('seat', credential);
    serving.nats.subscribe(`${seat}.*`, {
      queue: seat,
      callback: (error, message) => void (error === null && message.respond('from the seat')),
    });
    await serving.nats.flush();
    const imposter = await bus.connect('imposter', (await bus.account(mine)).credential);
    imposter.nats.subscribe(`${seat}.*`, {
      queue: seat,
      callback: (error, message) => void (error === null && message.respond('forged')),
    });
    await imposter.nats.flush();
    const asker = nodeAccount(victim, {
      meshAccount: bus.identity.accounts.mesh,
      seats: [{ seat, account: prepared.accountKey }],
    });
    const asking = await bus.connect('asker', (await bus.account(asker)).credential);
    for (let times = 0; times < 20; times += 1) {
      const answer = await asking.nats.request(`${seat}.provisioning`, '{}', { timeout: 2_000 });
      expect(answer.string()).toBe('from the seat');
    }
    // MESH asks it too, once it imports it, without a restart.
    await pushMeshAccount(bus.system, bus.identity, {
      buckets: [bucket],
      seats: [{ seat, account: prepared.accountKey }],
    });
    expect((await bus.mesh.nats.request(`${seat}.provisioning`, '{}', { timeout: 2_000 })).string()).toBe(
      'from the seat',
    );
    await pushMeshAccount(bus.system, bus.identity, { buckets: [bucket] });
    for (const each of [serving, imposter, asking]) await each.close();
  });
});

test('[U15] why an account each: the same allow-lists on a user of MESH let forged replies through', async () => {
  const seed = makeSeed('user');
  const of = { user: seed.publicKey, account: bus.identity.accounts.mesh };
  const jwt = await userJwt(attackerShape, of, bus.identity.seeds.accountSigning);
  const insider = await bus.connect('insider', { jwt, seed, inbox: attackerShape.inbox });
  const own = putSubject(bucket, `${attacker}.web.config.a`);
  const before = await stored();
  await attack(insider, sendAll([{ subject: own, body: 'forged', reply: putSubject(bucket, victimKey) }]));
  const after = await stored();
  expect(after[putSubject(bucket, victimKey)]).not.toBe(before[putSubject(bucket, victimKey)]);
  await meshBucket.put(victimKey, 'a secret need');
  await insider.close();
});

describe('a node within its rights', () => {
  test('[U15] reads its own declaration, reports, has its own keys, and hears what it is told', async () => {
    const node = await bus.connect('victim', (await bus.account(victimShape)).credential);
    expect(await lastDeclaration(node, victim)).toEqual({ sequence: 1, envelope: secretEnvelope });
    const keys = await openBucket(node, bucket);
    expect(await keys.get(victimKey)).toMatchObject({ value: 'a secret need' });
    const told = new Promise<readonly string[]>((resolve) => void onChanged(node, victim, resolve));
    await node.nats.flush();
    announceChanged(bus.mesh, victim, ['a']);
    expect(await told).toEqual(['a']);
    const revision = await keys.put(`${victim}.web.config.b`, '1');
    expect(await keys.replace(`${victim}.web.config.b`, '2', revision + 100)).toBe('conflict');
    expect(await keys.replace(`${victim}.web.config.b`, '2', revision)).toBeGreaterThan(revision);
    expect(await keys.replace(`${victim}.web.config.c`, '1', 0)).toBeGreaterThan(revision);
    await keys.delete(`${victim}.web.config.b`);
    expect(await keys.get(`${victim}.web.config.b`)).toBeUndefined();
    expect(await meshBucket.get(victimKey)).toMatchObject({ value: 'a secret need' });
    await node.close();
  });

  test('[U15] a node that never was sent a declaration is told that there is none', async () => {
    const fresh = nodeName.parse('fresh');
    const shape = nodeAccount(fresh, { meshAccount: bus.identity.accounts.mesh });
    const node = await bus.connect('fresh', (await bus.account(shape)).credential);
    expect(await lastDeclaration(node, fresh)).toBeUndefined();
    await node.close();
  });

  test('[U15] what is forbidden says so: PERMISSIONS_VIOLATION, and the subject in the status', async () => {
    const statuses: BusStatus[] = [];
    const node = await bus.connect('attacker', (await bus.account(attackerShape)).credential, (status) =>
      statuses.push(status),
    );
    await expect(lastDeclaration(node, victim)).rejects.toMatchObject({
      reason: 'denied',
      cause: { code: 'PERMISSIONS_VIOLATION' },
    });
    await expect(publishReport(node, reportOf(victim, 1))).rejects.toMatchObject({ reason: 'denied' });
    await expect((await openBucket(node, bucket)).put(victimKey, 'x')).rejects.toMatchObject({ reason: 'denied' });
    node.nats.publish(declareSubject(victim), 'forged');
    node.nats.subscribe('>');
    await until(() => statuses.filter(({ kind }) => kind === 'denied').length === 5, {
      withinMs: 5_000,
      what: 'five denials',
    });
    expect(statuses).toContainEqual({ kind: 'denied', operation: 'publish', subject: declareSubject(victim) });
    expect(statuses).toContainEqual({ kind: 'denied', operation: 'subscription', subject: '>' });
    await node.close();
  });
});

describe('other parties', () => {
  test('[U15] a seat can answer, and writes nowhere else: no reply subject, no publish of its own', async () => {
    const before = await stored();
    const { prepared, credential } = await bus.account(seatAccount(seat));
    const serving = await bus.connect('seat', credential);
    const seen: string[] = [];
    serving.nats.subscribe(`${seat}.*`, {
      callback: (error, message) => {
        if (error !== null) return;
        seen.push(message.reply ?? '');
        message.respond('first');
        message.respond('second');
      },
    });
    await serving.nats.flush();
    const shape = nodeAccount(attacker, {
      meshAccount: bus.identity.accounts.mesh,
      seats: [{ seat, account: prepared.accountKey }],
    });
    const loose = { ...shape, publish: ['>'], subscribe: ['>'] };
    const node = await bus.connect('attacker', (await bus.account(loose)).credential);
    for (const reply of [declareSubject(victim), reportSubject(victim), putSubject(bucket, victimKey)]) {
      node.nats.publish(`${seat}.provisioning`, '{}', { reply });
      serving.nats.publish(reply, 'forged');
      serving.nats.publish(lastDeclarationSubject(victim), '', { reply });
    }
    await until(async () => (await node.nats.flush(), seen.length === 3), { withinMs: 5_000, what: 'three requests' });
    await serving.nats.flush();
    await bus.mesh.nats.flush();
    // What the seat sees is the server's own reply subject, never the one that the asker chose.
    expect(seen.every((reply) => reply.startsWith('_R_.'))).toBe(true);
    expect(await stored()).toEqual(before);
    for (const each of [serving, node]) await each.close();
  });

  test('[U15] a program hears that its node changed, and says nothing', async () => {
    const statuses: BusStatus[] = [];
    const shape = programAccount('postgres-on-victim', { meshAccount: bus.identity.accounts.mesh, node: victim });
    const program = await bus.connect('program', (await bus.account(shape)).credential, (status) =>
      statuses.push(status),
    );
    const told = new Promise<readonly string[]>((resolve) => void onChanged(program, victim, resolve));
    await program.nats.flush();
    announceChanged(bus.mesh, victim);
    expect(await told).toEqual([]);
    const before = await stored();
    await expect(lastDeclaration(program, victim)).rejects.toMatchObject({ reason: 'denied' });
    await expect(publishReport(program, reportOf(victim, 9))).rejects.toMatchObject({ reason: 'denied' });
    expect(await stored()).toEqual(before);
    await program.close();
  });
});
