import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { headers, type MsgHdrs } from 'nats';
import { clientAccount, seatAccount, type AccountShape } from '../../src/bus/accounts.ts';
import { openBucket } from '../../src/bus/buckets.ts';
import { pushMeshAccount } from '../../src/bus/claims.ts';
import type { BusConnection } from '../../src/bus/connection.ts';
import { announceChanged } from '../../src/bus/declarations.ts';
import { publishReport } from '../../src/bus/reports.ts';
import { makeSeed } from '../../src/bus/seed.ts';
import {
  declareSubject,
  getSubject,
  lastDeclarationSubject,
  putSubject,
  reportsStream,
  reportSubject,
} from '../../src/bus/subjects.ts';
import { userJwt } from '../../src/bus/tokens.ts';
import { reportOf } from './messages.ts';
import { attacker, bucket, seat, stageScene, victim, victimKey, type Scene } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await stageScene();
});
afterAll(() => scene.bus.stop());

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
    node = await scene.bus.connect('attacker', (await scene.bus.account(loosen(scene.attackerShape))).credential);
    node.nats.subscribe('>', {
      callback: (error, message) => void (error === null && heard.push(`${message.subject} ${message.string()}`)),
    });
    await (await openBucket(node, bucket)).put(`${attacker}.web.config.a`, 'mine');
  });
  beforeEach(async () => {
    before = await scene.stored();
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
    announceChanged(scene.bus.mesh, victim, ['secret']);
    scene.bus.mesh.nats.publish('mesh.reported.victim', 'secret');
    await scene.bus.mesh.nats.flush();
    await node.nats.flush();
    // What it hears of the victim is its own requests, come back: nothing that anybody else wrote.
    expect(heard.filter((each) => each.includes('secret'))).toEqual([]);
  });

  test('[U15] writes nothing of another by naming it', async () => {
    await scene.attack(node, sendAll(targets().map((subject) => ({ subject, body: 'forged' }))));
    expect(await scene.stored()).toEqual(before);
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
    await scene.attack(node, sendAll(sends));
    expect(await scene.stored()).toEqual(before);
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
    await scene.attack(
      node,
      sendAll(
        subjects.flatMap((subject) =>
          targets().map((to) => ({ subject, body: consumer(to), reply: '_INBOX_attacker.forged' })),
        ),
      ),
    );
    const manager = await scene.bus.mesh.nats.jetstreamManager({ checkAPI: false });
    expect((await manager.streams.info(`KV_${bucket}`)).state.consumer_count).toBe(0);
    expect(await scene.stored()).toEqual(before);
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
    await scene.attack(
      node,
      sendAll(own.flatMap((subject) => heads.map((each) => ({ subject, body: 'forged', headers: each })))),
    );
    expect(await scene.stored()).toEqual(before);
  });

  test('[U15] with every message id it can think of, it makes no report and no key of another vanish', async () => {
    const report = reportOf(victim, 2);
    const ids = ['1', '2', 'victim', `${victim}-1-2`, report.stampedAt, reportSubject(victim)];
    const forged = ids.map((id) => {
      const made = headers();
      made.set('Nats-Msg-Id', id);
      return { subject: reportSubject(attacker), body: 'forged', headers: made };
    });
    const victims = await scene.bus.connect('victim', (await scene.bus.account(scene.victimShape)).credential);
    await scene.attack(node, sendAll(forged));
    const { sequence } = await publishReport(victims, report);
    const manager = await scene.bus.mesh.nats.jetstreamManager({ checkAPI: false });
    const kept = await manager.streams.getMessage(reportsStream, { seq: sequence });
    expect(kept.subject).toBe(reportSubject(victim));
    // Why: the report goes without an id, so there is nothing to take for a duplicate.
    expect(kept.header.has('Nats-Msg-Id')).toBe(false);
    await victims.close();
  });

  test('[U15] answers no seat', async () => {
    const [seatsShape, mine] = [seatAccount(seat), loosen(scene.attackerShape)];
    const { prepared, credential } = await scene.bus.account(seatsShape);
    const serving = await scene.bus.connect('seat', credential);
    serving.nats.subscribe(`${seat}.*.*.*`, {
      queue: seat,
      callback: (error, message) => void (error === null && message.respond('from the seat')),
    });
    await serving.nats.flush();
    const imposter = await scene.bus.connect('imposter', (await scene.bus.account(mine)).credential);
    for (const subject of [`${seat}.*`, `${seat}.*.*.*`]) {
      imposter.nats.subscribe(subject, {
        queue: seat,
        callback: (error, message) => void (error === null && message.respond('forged')),
      });
    }
    await imposter.nats.flush();
    const asker = clientAccount(victim, {
      meshAccount: scene.bus.identity.accounts.mesh,
      seats: [{ seat, account: prepared.accountKey }],
    });
    const asking = await scene.bus.connect('asker', (await scene.bus.account(asker)).credential);
    for (let times = 0; times < 20; times += 1) {
      const answer = await asking.nats.request(`${seat}.provisioning`, '{}', { timeout: 2_000 });
      expect(answer.string()).toBe('from the seat');
    }
    // MESH asks it too, once it imports it, without a restart.
    await pushMeshAccount(scene.bus.system, scene.bus.identity, {
      seats: [{ seat, account: prepared.accountKey }],
    });
    const long = `${seat}.provisioning.person.ada`;
    expect((await scene.bus.mesh.nats.request(long, '{}', { timeout: 2_000 })).string()).toBe('from the seat');
    await pushMeshAccount(scene.bus.system, scene.bus.identity, {});
    for (const each of [serving, imposter, asking]) await each.close();
  });
});

test('[U15] why an account each: the same allow-lists on a user of MESH let forged replies through', async () => {
  const seed = makeSeed('user');
  const of = { user: seed.publicKey, account: scene.bus.identity.accounts.mesh };
  const jwt = await userJwt(scene.attackerShape, of, scene.bus.identity.seeds.accountSigning);
  const insider = await scene.bus.connect('insider', { jwt, seed, inbox: scene.attackerShape.inbox });
  const own = putSubject(bucket, `${attacker}.web.config.a`);
  const before = await scene.stored();
  await scene.attack(insider, sendAll([{ subject: own, body: 'forged', reply: putSubject(bucket, victimKey) }]));
  const after = await scene.stored();
  expect(after[putSubject(bucket, victimKey)]).not.toBe(before[putSubject(bucket, victimKey)]);
  await scene.meshBucket.put(victimKey, 'a secret need');
  await insider.close();
});
