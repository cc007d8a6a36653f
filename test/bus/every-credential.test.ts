/**
 * P2, U15: every kind of credential tries every attack on a real server, and what is kept of the victim is the same byte
 * for byte afterwards. That the attacks would do harm is shown by whom they do work for: a user of MESH.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { headers, type MsgHdrs } from 'nats';
import { programAccount, seatAccount, tokenAccount, type AccountShape } from '../../src/bus/accounts.ts';
import { lookUpAccount } from '../../src/bus/claims.ts';
import type { BusConnection } from '../../src/bus/connection.ts';
import { announceChanged } from '../../src/bus/declarations.ts';
import { meshAccountJwt, meshCredential, newBusIdentity, systemCredential } from '../../src/bus/identity.ts';
import { publishReport } from '../../src/bus/reports.ts';
import {
  changedSubject,
  declarationsStream,
  declareSubject,
  enrolAnswerSubject,
  enrolSubject,
  getSubject,
  lastDeclarationSubject,
  putSubject,
  reportedSubject,
  reportsConsumer,
  reportsStream,
  reportSubject,
} from '../../src/bus/subjects.ts';
import { makeTokenId } from '../../src/bus/token.ts';
import { accountJwt, deletionJwt } from '../../src/bus/tokens.ts';
import { until } from '../support/until.ts';
import { reportOf } from './messages.ts';
import { attacker, bucket, seat, stageScene, victim, victimKey, type Scene } from './scene.ts';

const victimsToken = makeTokenId();
const streams = [declarationsStream, reportsStream, `KV_${bucket}`];

/** What is the victim's, wherever it is named. */
const targets: readonly string[] = [
  declareSubject(victim),
  reportSubject(victim),
  putSubject(bucket, victimKey),
  changedSubject(victim),
  reportedSubject(victim),
  enrolSubject(victimsToken),
  enrolAnswerSubject(victimsToken),
  `${seat}.provisioning`,
];

type Send = { readonly subject: string; readonly body?: string; readonly reply?: string; readonly headers?: MsgHdrs };
type Party = {
  readonly kind: string;
  readonly connection: BusConnection;
  /** What its user may publish: the ways that are open to it. */
  readonly publish: readonly string[];
  readonly inbox: string;
};
type Attack = {
  readonly by: string;
  readonly sends: (party: Party, scene: Scene) => readonly Send[] | Promise<readonly Send[]>;
};

const head = (fields: Readonly<Record<string, string>>): MsgHdrs => {
  const made = headers();
  for (const [name, value] of Object.entries(fields)) made.set(name, value);
  return made;
};
/** The ways that are its own, and those that are another's: who is denied one may still be allowed its like. */
const ways = ({ publish }: Party): readonly string[] => [
  ...new Set([
    ...publish.map((subject) => subject.replaceAll('>', 'web.config.a').replaceAll('*', 'provisioning')),
    lastDeclarationSubject(victim),
    lastDeclarationSubject(attacker),
    getSubject(bucket, victimKey),
    reportSubject(victim),
    reportSubject(attacker),
    putSubject(bucket, `${attacker}.web.config.a`),
    enrolSubject(victimsToken),
    `${seat}.provisioning`,
  ]),
];
const streamCall = (call: string, body: (stream: string) => object) =>
  streams.map((stream) => ({ subject: `$JS.API.STREAM.${call}.${stream}`, body: JSON.stringify(body(stream)) }));

const attacks: readonly Attack[] = [
  {
    by: "naming what is the victim's",
    sends: () => [
      ...targets.map((subject) => ({ subject, body: 'forged' })),
      { subject: putSubject(bucket, victimKey), headers: head({ 'KV-Operation': 'DEL' }) },
      { subject: putSubject(bucket, victimKey), headers: head({ 'KV-Operation': 'PURGE' }) },
    ],
  },
  {
    by: 'a reply subject',
    sends: (party) =>
      ways(party).flatMap((subject) => targets.map((reply) => ({ subject, reply, body: '{"forged":true}' }))),
  },
  {
    by: 'a deliver subject',
    sends: (party) =>
      streams.flatMap((stream) =>
        targets.flatMap((deliver_subject) => {
          const config = { deliver_subject, ack_policy: 'none', deliver_policy: 'all', durable_name: 'forged' };
          const body = JSON.stringify({ stream_name: stream, config });
          const reply = `${party.inbox}.forged`;
          return [
            { subject: `$JS.API.CONSUMER.CREATE.${stream}`, body, reply },
            { subject: `$JS.API.CONSUMER.CREATE.${stream}.forged`, body, reply },
            { subject: `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.forged`, body, reply },
            { subject: `$JS.API.CONSUMER.MSG.NEXT.${stream}.${reportsConsumer}`, body: '1', reply: deliver_subject },
          ];
        }),
      ),
  },
  {
    by: 'the headers that roll up, expire, count, batch and schedule',
    sends: (party) =>
      [...ways(party), ...targets].flatMap((subject) =>
        [
          { 'Nats-Rollup': 'all' },
          { 'Nats-Rollup': 'sub' },
          { 'Nats-TTL': '1s' },
          { 'Nats-Incr': '+1' },
          { 'Nats-Batch-Id': 'forged', 'Nats-Batch-Sequence': '1', 'Nats-Batch-Commit': '1' },
          { 'Nats-Expected-Last-Sequence': '0' },
          { 'Nats-Schedule': '@at 2020-01-01T00:00:00Z', 'Nats-Schedule-Target': putSubject(bucket, victimKey) },
          { 'Nats-Schedule': '@at 2020-01-01T00:00:00Z', 'Nats-Schedule-Target': reportSubject(victim) },
        ].map((fields) => ({ subject, body: 'forged', headers: head(fields) })),
      ),
  },
  {
    by: "the streams' own calls",
    sends: (party) =>
      [
        ...streamCall('PURGE', () => ({})),
        ...streamCall('PURGE', () => ({ filter: declareSubject(victim) })),
        ...streamCall('DELETE', () => ({})),
        ...streamCall('UPDATE', (name) => ({ name, subjects: ['taken.>'], allow_rollup_hdrs: true })),
        ...streamCall('CREATE', (name) => ({ name, subjects: ['mesh.>'] })),
        ...streamCall('MSG.DELETE', () => ({ seq: 1 })),
        ...streamCall('RESTORE', () => ({})),
        ...streamCall('SNAPSHOT', () => ({ deliver_subject: `${party.inbox}.snapshot` })),
        { subject: `$JS.API.CONSUMER.DELETE.${reportsStream}.${reportsConsumer}`, body: '' },
        {
          subject: `$JS.API.CONSUMER.PAUSE.${reportsStream}.${reportsConsumer}`,
          body: '{"pause_until":"2099-01-01T00:00:00Z"}',
        },
        { subject: `$JS.ACK.${reportsStream}.${reportsConsumer}.1.1.1.1.1`, body: '+TERM' },
      ].map((send) => ({ ...send, reply: `${party.inbox}.called` })),
  },
  {
    by: 'claims of accounts, self-made or signed by another operator',
    async sends({ inbox }, { bus, attackerShape }) {
      const other = newBusIdentity();
      const mesh = bus.identity.accounts.mesh;
      const bodies = [
        await meshAccountJwt({ ...other, accounts: bus.identity.accounts }),
        await accountJwt({ ...attackerShape, exports: [] }, mesh, other.seeds),
      ];
      const order = await deletionJwt([mesh, bus.identity.accounts.system], other.seeds.operator);
      const reply = `${inbox}.claims`;
      return [
        ...bodies.flatMap((body) => [
          { subject: '$SYS.REQ.CLAIMS.UPDATE', body, reply },
          { subject: `$SYS.REQ.ACCOUNT.${mesh}.CLAIMS.UPDATE`, body, reply },
          { subject: `$SYS.ACCOUNT.${mesh}.CLAIMS.UPDATE`, body, reply },
        ]),
        { subject: '$SYS.REQ.CLAIMS.DELETE', body: order, reply },
        { subject: `$SYS.REQ.ACCOUNT.${mesh}.CLAIMS.DELETE`, body: order, reply },
        // Answers of the server's own, sent where they would do harm.
        ...targets.map((to) => ({ subject: `$SYS.REQ.ACCOUNT.${mesh}.CLAIMS.LOOKUP`, reply: to })),
        ...['RELOAD', 'LDM', 'KICK'].map((call) => ({
          subject: `$SYS.REQ.SERVER.*.${call}`,
          body: '{"cid":1}',
          reply,
        })),
        { subject: '$SYS.REQ.USER.INFO', reply: putSubject(bucket, victimKey) },
      ];
    },
  },
];

/** All that is kept of the victim, and of what it stands on: messages, the streams' shapes and consumers. */
async function kept(scene: Scene): Promise<Readonly<Record<string, unknown>>> {
  const manager = await scene.bus.mesh.nats.jetstreamManager({ checkAPI: false });
  const found: Record<string, unknown> = { ...(await scene.stored()) };
  for (const stream of streams) {
    found[stream] = (await manager.streams.info(stream)).config;
    const consumers = await manager.consumers.list(stream).next();
    found[`${stream}, consumers`] = consumers.map(({ name, config: { pause_until, deliver_subject } }) => ({
      name,
      pause_until,
      deliver_subject,
    }));
  }
  return found;
}

/** Sends it all, and waits until whatever it could cause has been done: the server takes what follows in the same order. */
async function carryOut(scene: Scene, party: Party, sends: readonly Send[]): Promise<void> {
  for (const { subject, body, reply, headers: fields } of sends) {
    party.connection.nats.publish(subject, body ?? '', {
      ...(reply === undefined ? {} : { reply }),
      ...(fields === undefined ? {} : { headers: fields }),
    });
  }
  await party.connection.nats.flush();
  const { nats } = scene.bus.mesh;
  const publish = nats.jetstream({ checkAPI: false });
  for (const subject of [declareSubject('*'), reportSubject('*'), putSubject(bucket, '*')])
    await publish.publish(subject.replace('*', 'barrier'), 'barrier').catch(() => undefined);
  for (const subject of [declareSubject('*'), putSubject(bucket, '*')])
    await nats
      .request(
        `$JS.API.DIRECT.GET.${subject.startsWith('$KV') ? `KV_${bucket}` : declarationsStream}.${subject.replace('*', 'barrier')}`,
        '',
        { timeout: 5_000 },
      )
      .catch(() => undefined);
}

const loose = (shape: AccountShape): AccountShape => ({
  ...shape,
  publish: ['>'],
  subscribe: ['>'],
});
const claimsOfMesh = (scene: Scene) => lookUpAccount(scene.bus.system, scene.bus.identity.accounts.mesh);
const pusher = 'user that pushes accounts';
const partyNames = [
  'node',
  'node whose user may say anything',
  'token',
  'token whose user may say anything',
  'program',
  'program whose user may say anything',
  'seat',
  'seat whose user may say anything',
  pusher,
];

async function partiesOf(scene: Scene): Promise<ReadonlyMap<string, Party>> {
  const by = { meshAccount: scene.bus.identity.accounts.mesh };
  const shapes: readonly AccountShape[] = [
    scene.attackerShape,
    tokenAccount(makeTokenId(), by),
    programAccount('forger', { ...by, node: attacker }),
    seatAccount(seat),
  ];
  const parties = new Map<string, Party>();
  for (const shape of shapes) {
    for (const [kind, each] of [
      [shape.kind, shape],
      // The allow-lists only make denials loud: the account alone must hold.
      [`${shape.kind} whose user may say anything`, loose(shape)],
    ] as const) {
      const { credential } = await scene.bus.account(each);
      const connection = await scene.bus.connect(kind, credential);
      parties.set(kind, { kind, connection, publish: shape.publish, inbox: shape.inbox });
    }
  }
  const credential = await systemCredential(scene.bus.identity);
  parties.set(pusher, {
    kind: pusher,
    connection: await scene.bus.connect('system too', credential),
    publish: ['$SYS.REQ.CLAIMS.UPDATE', '$SYS.REQ.CLAIMS.DELETE'],
    inbox: credential.inbox,
  });
  return parties;
}

describe('each credential, each attack', () => {
  let scene: Scene;
  let parties: ReadonlyMap<string, Party>;
  let enrolled: string[];
  beforeAll(async () => {
    scene = await stageScene();
    parties = await partiesOf(scene);
    enrolled = [];
    scene.bus.mesh.nats.subscribe('mesh.enrol.>', {
      callback: (error, message) => void (error === null && enrolled.push(message.subject)),
    });
  }, 60_000);
  afterAll(() => scene.bus.stop());
  const party = (kind: string): Party => {
    const found = parties.get(kind);
    if (found === undefined) throw new Error(`no ${kind}`);
    return found;
  };
  const cells = partyNames.flatMap((kind) => attacks.map(({ by, sends }) => ({ kind, by, sends })));

  test.each(cells)("[P2] [U15] a $kind changes no byte of the victim's by $by", async ({ kind, sends }) => {
    const [before, claims] = [await kept(scene), await claimsOfMesh(scene)];
    await carryOut(scene, party(kind), await sends(party(kind), scene));
    expect(await kept(scene)).toEqual(before);
    expect(enrolled.filter((subject) => subject.includes(victimsToken))).toEqual([]);
    if (kind !== pusher) expect(await claimsOfMesh(scene)).toBe(claims);
  });

  test.each(partyNames)(
    '[P2] [U15] [C79] a %s reads nothing of the victim: no message, no call, no subscription',
    async (kind) => {
      const { connection, inbox } = party(kind);
      const heard: string[] = [];
      const listen = (subject: string) =>
        connection.nats.subscribe(subject, {
          callback: (error, message) => void (error === null && heard.push(`${message.subject} ${message.string()}`)),
        });
      // Its own inbox too, where the answers to what it asks would come.
      const listening = ['>', '*.>', `${inbox}.>`, ...targets, `_INBOX.>`, `_INBOX_${victim}.>`, '_INBOX_mesh.>'].map(
        listen,
      );
      await connection.nats.flush();
      const asked: Send[] = [
        ...streams.flatMap((stream) => [
          { subject: `$JS.API.STREAM.MSG.GET.${stream}`, body: `{"last_by_subj":"${declareSubject(victim)}"}` },
          { subject: `$JS.API.STREAM.MSG.GET.${stream}`, body: '{"seq":1}' },
          { subject: `$JS.API.DIRECT.GET.${stream}`, body: '{"seq":1}' },
          { subject: `$JS.API.DIRECT.GET.${stream}`, body: '{"multi_last":[">"],"batch":99}' },
          { subject: `$JS.API.STREAM.INFO.${stream}`, body: '{"subjects_filter":">"}' },
        ]),
        { subject: lastDeclarationSubject(victim) },
        { subject: getSubject(bucket, victimKey) },
        { subject: lastDeclarationSubject('*') },
        { subject: getSubject(bucket, '>') },
        { subject: `$JS.API.CONSUMER.MSG.NEXT.${reportsStream}.${reportsConsumer}`, body: '10' },
      ].map((send) => ({ ...send, reply: `${inbox}.asked` }));
      await carryOut(scene, party(kind), asked);
      const victims = await scene.bus.connect('victim', (await scene.bus.account(scene.victimShape)).credential);
      announceChanged(scene.bus.mesh, victim, ['a secret']);
      await publishReport(victims, { ...reportOf(victim, 1), outcome: 'idle', kept: ['a secret'] });
      await scene.bus.mesh.nats.flush();
      await connection.nats.flush();
      expect(heard.filter((each) => each.includes('secret') || /subjects"|"hdrs"/.test(each))).toEqual([]);
      for (const each of listening) each.unsubscribe();
      await victims.close();
    },
  );

  test.each(partyNames)('[P2] [U15] a %s makes no report of the victim vanish by any message id', async (kind) => {
    const report = reportOf(victim, 2);
    const ids = ['1', '2', 'victim', `${victim}-1-2`, `${victim}/1/2`, report.stampedAt, reportSubject(victim)];
    const sends = [...ways(party(kind)), reportSubject(victim)].flatMap((subject) =>
      ids.map((id) => ({ subject, body: 'forged', headers: head({ 'Nats-Msg-Id': id }) })),
    );
    const victims = await scene.bus.connect('victim', (await scene.bus.account(scene.victimShape)).credential);
    await carryOut(scene, party(kind), sends);
    const { sequence } = await publishReport(victims, report);
    const manager = await scene.bus.mesh.nats.jetstreamManager({ checkAPI: false });
    const stored = await manager.streams.getMessage(reportsStream, { seq: sequence });
    expect([stored.subject, JSON.parse(stored.string())]).toEqual([reportSubject(victim), report]);
    await victims.close();
  });

  test.each(partyNames.filter((kind) => !kind.startsWith('seat')))(
    '[P2] [U15] a %s answers nothing that is asked of a seat',
    async (kind) => {
      const { connection } = party(kind);
      const forging = [`${seat}.*`, `${seat}.*.*.*`].map((subject) =>
        connection.nats.subscribe(subject, {
          callback: (error, message) => void (error === null && message.respond('forged')),
        }),
      );
      await connection.nats.flush();
      for (const subject of [`${seat}.provisioning`, `${seat}.provisioning.person.ada`])
        await expect(scene.bus.mesh.nats.request(subject, '{}', { timeout: 500 })).rejects.toMatchObject({
          code: '503',
        });
      for (const each of forging) each.unsubscribe();
    },
  );
});

test('[U15] the worst that the user that pushes accounts can do alone: claims that the server keeps and does not believe', async () => {
  const scene = await stageScene();
  try {
    const { system, identity } = scene.bus;
    const foreign = await meshAccountJwt({ ...newBusIdentity(), accounts: identity.accounts });
    const before = await kept(scene);
    // The server keeps whatever is sent to it: whose signature counts it asks only when it makes the account of it.
    await system.nats.request('$SYS.REQ.CLAIMS.UPDATE', foreign, { timeout: 5_000 });
    expect(await claimsOfMesh(scene)).toBe(foreign);
    const again = await scene.bus.connect('mesh again', await meshCredential(identity));
    await again.close();
    expect(await kept(scene)).toEqual(before);
    // MESH stands in the server's configuration as well, signed at each start: what is newer, by the second, counts.
    await scene.bus.kill();
    const second = Math.floor(Date.now() / 1_000);
    await until(() => Date.now() / 1_000 >= second + 1, { withinMs: 2_000, what: 'the next second' });
    await scene.bus.start();
    await until(() => scene.bus.mesh.isConnected() && system.isConnected(), { withinMs: 20_000, what: 'MESH again' });
    expect(await claimsOfMesh(scene)).not.toBe(foreign);
    expect(await kept(scene)).toEqual(before);
  } finally {
    await scene.bus.stop();
  }
});

describe('the attacks are real', () => {
  // The streams allow nobody to roll up, expire, count or schedule, and no account pushes accounts but SYS.
  const byNobody = [/^the headers/, /^claims/];
  test.each(attacks.filter(({ by }) => !byNobody.some((one) => one.test(by))))(
    '[P2] the same by $by changes what is kept when it comes from inside MESH',
    async ({ sends }) => {
      const scene = await stageScene();
      try {
        const credential = await meshCredential(scene.bus.identity);
        const party: Party = {
          kind: 'insider',
          connection: await scene.bus.connect('insider', credential),
          publish: scene.attackerShape.publish,
          inbox: credential.inbox,
        };
        const before = await kept(scene);
        await carryOut(scene, party, await sends(party, scene));
        expect(await kept(scene).catch(() => 'gone')).not.toEqual(before);
      } finally {
        await scene.bus.stop();
      }
    },
  );
});
