/**
 * P2, one row of the bucket table after another on a real server: the writer may, everybody else is denied, by naming the key,
 * by a reply subject, by a deliver subject and by a header. Every way is judged by the bytes that the bucket keeps.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { headers } from 'nats';
import {
  clientAccount,
  nodeAccount,
  programAccount,
  provisionerAccount,
  seatAccount,
  type AccountShape,
} from '../../src/bus/accounts.ts';
import { openBucket, readBucket } from '../../src/bus/buckets.ts';
import type { BusConnection } from '../../src/bus/connection.ts';
import { ensureBuckets } from '../../src/bus/mesh-buckets.ts';
import { ensureStreams } from '../../src/bus/streams.ts';
import { getSubject, putSubject, readBucketSubject } from '../../src/bus/subjects.ts';
import { boundBucket, buckets } from '../../src/domain/provisioning/values.ts';
import { moduleName, nodeName, partName } from '../../src/domain/words/names.ts';
import { startBus, type TestBus } from './server.ts';

const [alpha, beta] = [nodeName.parse('alpha'), nodeName.parse('beta')];
const postgres = moduleName.parse('postgres');
const boundTo = boundBucket(postgres);

let bus: TestBus;
const parties = new Map<string, { readonly connection: BusConnection; readonly inbox: string }>();
/** What every row is about: each is there before anybody tries anything. */
const kept: Readonly<Record<string, string>> = {
  [`${buckets.registry} config`]: 'mine',
  [`${buckets.needs} alpha.web.config.a`]: 'mine',
  [`${buckets.applied} alpha.web`]: 'mine',
  [`${buckets.collect} alpha.route.web`]: 'mine',
  [`${boundTo} alpha.web.postgres-database`]: 'mine',
  [`${buckets.assignments} alpha.web`]: 'mine',
  [`${buckets.assignments} alpha`]: 'mine',
  [`${buckets.settings} alpha.web.title`]: 'mine',
  [`${buckets.compositions} web`]: 'mine',
  [`${buckets.health} alpha.web`]: 'mine',
};
const rows = Object.keys(kept).map((row) => {
  const [bucket = '', key = ''] = row.split(' ');
  return { bucket, key };
});

/** Who writes each bucket, and who besides MESH reads that row. */
const writer: Readonly<Record<string, string>> = {
  [buckets.registry]: 'provisioner',
  [buckets.needs]: 'client of alpha',
  [buckets.applied]: 'client of alpha',
  [buckets.collect]: 'client of alpha',
  [buckets.health]: 'client of alpha',
  [boundTo]: 'program of the provider',
};
const readers: Readonly<Record<string, readonly string[]>> = {
  [buckets.registry]: ['client of alpha', 'client of beta', 'provisioner'],
  [buckets.needs]: ['client of alpha', 'provisioner', 'program of the provider', 'program of another'],
  [buckets.applied]: ['client of alpha', 'provisioner'],
  [buckets.collect]: ['client of alpha', 'client of beta', 'provisioner'],
  [boundTo]: ['client of alpha', 'program of the provider'],
  [buckets.assignments]: ['client of alpha'],
  [buckets.settings]: ['client of alpha'],
  [buckets.compositions]: ['client of alpha', 'client of beta', 'provisioner'],
  [buckets.health]: ['client of alpha'],
};

const loose = (shape: AccountShape): AccountShape => ({ ...shape, publish: ['>'], subscribe: ['>'] });

beforeAll(async () => {
  bus = await startBus();
  await ensureStreams(bus.mesh);
  await ensureBuckets(bus.mesh, [postgres]);
  for (const [row, value] of Object.entries(kept)) {
    const [bucket = '', key = ''] = row.split(' ');
    await (await openBucket(bus.mesh, bucket)).put(key, value);
  }
  const by = { meshAccount: bus.identity.accounts.mesh };
  const binds = { provider: postgres, keys: ['alpha.web.postgres-database'] };
  const shapes: Readonly<Record<string, AccountShape>> = {
    'client of alpha': clientAccount(alpha, by),
    'client of beta': clientAccount(beta, by),
    'host of alpha': nodeAccount(alpha, by),
    'host of beta': nodeAccount(beta, by),
    provisioner: provisionerAccount(by),
    'another seat': seatAccount(partName.parse('the-vault')),
    'program of the provider': programAccount('beta.postgres', { ...by, node: beta, binds }),
    'program of another': programAccount('beta.other', {
      ...by,
      node: beta,
      binds: { provider: postgres, keys: ['beta.web.postgres-database'] },
    }),
  };
  for (const [name, shape] of Object.entries(shapes)) {
    // The allow-lists of a user only make denials loud: what is judged is what its account lets through.
    const { credential } = await bus.account(loose(shape));
    parties.set(name, { connection: await bus.connect(name, credential), inbox: shape.inbox });
  }
});
afterAll(() => bus.stop());

async function stored(): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const { bucket, key } of rows) {
    const entry = await (await openBucket(bus.mesh, bucket)).get(key);
    found[`${bucket} ${key}`] = entry === undefined ? 'gone' : `${entry.value} ${entry.revision}`;
  }
  return found;
}
const party = (name: string) => {
  const found = parties.get(name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
};
const names = (): readonly string[] => [...parties.keys()];

/** Sends what may do harm, and answers once whatever it could cause has been done: the server takes what follows in the same order. */
async function send(
  connection: BusConnection,
  sends: readonly { subject: string; body?: string; reply?: string; header?: readonly [string, string] }[],
): Promise<void> {
  for (const { subject, body = 'forged', reply, header } of sends) {
    const head = headers();
    if (header !== undefined) head.set(...header);
    connection.nats.publish(subject, body, {
      ...(reply === undefined ? {} : { reply }),
      ...(header === undefined ? {} : { headers: head }),
    });
  }
  await connection.nats.flush();
  for (const { bucket } of rows)
    await bus.mesh.nats.jetstream({ checkAPI: false }).publish(putSubject(bucket, 'barrier.a.b.c'), 'barrier');
}

describe.each(rows)('$bucket $key', ({ bucket, key }) => {
  test('[P2] its writer writes, changes by revision and deletes it; MESH reads it all', async () => {
    const by = writer[bucket];
    const keys = await openBucket(by === undefined ? bus.mesh : party(by).connection, bucket);
    const before = await keys.get(key);
    const revision = await keys.replace(key, 'changed', before?.revision ?? 0);
    if (revision === 'conflict') throw new Error('a conflict');
    expect(await keys.replace(key, 'again', revision - 1)).toBe('conflict');
    await keys.delete(key);
    expect(await keys.get(key)).toBeUndefined();
    expect((await readBucket(bus.mesh, bucket)).entries.has(key)).toBe(false);
    await keys.put(key, 'mine');
    expect((await readBucket(bus.mesh, bucket)).entries.get(key)?.value).toBe('mine');
  });

  test('[P2] nobody else writes it: by its name, by a delete, by a reply or deliver subject, by a rollup', async () => {
    const subject = putSubject(bucket, key);
    for (const name of names().filter((one) => one !== writer[bucket])) {
      const before = await stored();
      const { connection, inbox } = party(name);
      const asking = rows.flatMap((row) => [
        { subject: getSubject(row.bucket, row.key), body: '', reply: subject },
        { subject: putSubject(row.bucket, row.key.replace('alpha', 'beta')), reply: subject },
        { subject: readBucketSubject(row.bucket), body: '{"seq":1,"batch":9,"next_by_subj":">"}', reply: subject },
      ]);
      const consumer = JSON.stringify({
        stream_name: `KV_${bucket}`,
        config: { deliver_subject: subject, ack_policy: 'none', deliver_policy: 'all' },
      });
      await send(connection, [
        { subject },
        { subject, header: ['KV-Operation', 'DEL'] },
        { subject, header: ['KV-Operation', 'PURGE'] },
        { subject, header: ['Nats-Rollup', 'all'] },
        ...asking.filter((one) => one.subject !== subject && !isOwnRow(name, one.subject)),
        { subject: `$JS.API.CONSUMER.CREATE.KV_${bucket}`, body: consumer, reply: `${inbox}.x` },
        { subject: `$JS.API.STREAM.PURGE.KV_${bucket}`, body: '{}', reply: `${inbox}.x` },
        { subject: `$JS.API.STREAM.MSG.DELETE.KV_${bucket}`, body: '{"seq":1}', reply: `${inbox}.x` },
        { subject: 'mesh-provisioner.provisioning', body: '{}', reply: subject },
        { subject: 'the-controller.secret', body: '{}', reply: subject },
      ]);
      expect({ name, stored: await stored() }).toEqual({ name, stored: before });
    }
  });

  test('[P2] [C79] it is read by those who may, and by nobody else', async () => {
    const may = new Set(readers[bucket]);
    for (const name of names()) {
      const { connection } = party(name);
      const get = await connection.nats
        .request(getSubject(bucket, key), '', { timeout: 300 })
        .then((answer) => answer.string())
        .catch(() => 'denied');
      const whole = await readBucket(connection, bucket)
        .then(({ entries }) => entries.get(key)?.value ?? 'not in it')
        .catch(() => 'denied');
      expect({ name, reads: [get, whole].includes('mine') }).toEqual({ name, reads: may.has(name) });
    }
  });
});

/** What a party may itself write among what is tried: it is no attack. */
function isOwnRow(name: string, subject: string): boolean {
  if (name === 'provisioner') return subject.startsWith(putSubject(buckets.registry, ''));
  return rows.some((row) => writer[row.bucket] === name && subject === putSubject(row.bucket, row.key));
}

test('[P2] a rollup of its own key erases nobody else’s', async () => {
  const before = await stored();
  await send(party('client of beta').connection, [
    { subject: putSubject(buckets.needs, 'beta.web.config.a'), header: ['Nats-Rollup', 'all'] },
    { subject: putSubject(buckets.needs, 'beta.web.config.a'), header: ['Nats-Rollup', 'sub'] },
  ]);
  expect(await stored()).toEqual(before);
});

test('[P2] with its own allow-lists a client is told that it is denied, at once', async () => {
  const shape = clientAccount(alpha, { meshAccount: bus.identity.accounts.mesh });
  const client = await bus.connect('client', (await bus.account(shape)).credential);
  const denied = { reason: 'denied' };
  await expect((await openBucket(client, buckets.registry)).put('config', 'x')).rejects.toMatchObject(denied);
  await expect((await openBucket(client, buckets.needs)).put('beta.web.config.a', 'x')).rejects.toMatchObject(denied);
  await expect((await openBucket(client, buckets.settings)).get('beta.web.title')).rejects.toMatchObject(denied);
  await expect(readBucket(client, buckets.needs)).rejects.toMatchObject(denied);
  await client.close();
});

test('[P2] buckets keep one value a key, take no rollup, and say when they are full', async () => {
  const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
  for (const bucket of [...Object.values(buckets), boundTo]) {
    const { config } = await manager.streams.info(`KV_${bucket}`);
    expect(config).toMatchObject({
      max_msgs_per_subject: 1,
      allow_rollup_hdrs: false,
      allow_direct: true,
      discard: 'new',
    });
    expect(config.max_bytes).toBeGreaterThan(0);
  }
});

test('[P8] a pattern of keys is read over the whole mesh, in more than one batch, without those that were deleted', async () => {
  const collect = await openBucket(bus.mesh, buckets.collect);
  const keys = Array.from({ length: 1_203 }, (_, index) => `n${index}.shell.web`);
  for (let from = 0; from < keys.length; from += 200)
    await Promise.all(keys.slice(from, from + 200).map((key) => collect.put(key, key)));
  await collect.delete('n7.shell.web');
  const { entries } = await readBucket(party('client of beta').connection, buckets.collect, '*.shell.*');
  expect([...entries.keys()].toSorted()).toEqual(keys.filter((key) => key !== 'n7.shell.web').toSorted());
  expect((await readBucket(party('client of beta').connection, buckets.collect, '*.nothing.*')).entries.size).toBe(0);
});
