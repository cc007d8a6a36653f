import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { nanos } from 'nats';
import { nodeAccount } from '../../src/bus/accounts.ts';
import { openBucket } from '../../src/bus/buckets.ts';
import type { BusConnection } from '../../src/bus/connection.ts';
import { lastDeclaration, publishDeclaration } from '../../src/bus/declarations.ts';
import type { Unreadable } from '../../src/bus/messages.ts';
import { meshCredential } from '../../src/bus/identity.ts';
import { announceReported, onReported, type Reported } from '../../src/bus/reported.ts';
import { consumeReports, publishReport } from '../../src/bus/reports.ts';
import { ensureBucket, ensureStreams, reportLimitBytes, reportsKept } from '../../src/bus/streams.ts';
import { declareSubject, reportsConsumer, reportsStream, reportSubject } from '../../src/bus/subjects.ts';
import type { Report } from '../../src/domain/report/report.ts';
import { nodeName, type NodeName } from '../../src/domain/words/names.ts';
import { until } from '../../src/foundation/until.ts';
import { envelopeOf, reportOf } from './messages.ts';
import { startBus, type TestBus } from './server.ts';

let bus: TestBus;
let host: BusConnection;
const anvil = nodeName.parse('anvil');
const bellows = nodeName.parse('bellows');

const connectNode = async (node: NodeName) =>
  bus.connect(node, (await bus.account(nodeAccount(node, { meshAccount: bus.identity.accounts.mesh }))).credential);

beforeAll(async () => {
  bus = await startBus();
  await ensureStreams(bus.mesh);
  host = await connectNode(anvil);
});
afterAll(() => bus.stop());

describe('declarations', () => {
  test("[D4] of two sendings that race the older is never the last: the subject's last sequence is expected", async () => {
    const first = await publishDeclaration(bus.mesh, envelopeOf(anvil, 1), 0);
    if (first === 'conflict') throw new Error('the first conflicted');
    expect(await publishDeclaration(bus.mesh, envelopeOf(anvil, 9), 0)).toBe('conflict');
    const second = await publishDeclaration(bus.mesh, envelopeOf(anvil, 2), first.sequence);
    expect(second).toEqual({ sequence: first.sequence + 1 });
    expect(await publishDeclaration(bus.mesh, envelopeOf(anvil, 9), first.sequence)).toBe('conflict');
    expect(await lastDeclaration(host, anvil)).toEqual({
      sequence: first.sequence + 1,
      envelope: envelopeOf(anvil, 2),
    });
    expect(await lastDeclaration(bus.mesh, anvil)).toEqual(await lastDeclaration(host, anvil));
  });

  test("[D4] one node's sequence is nothing to another's", async () => {
    expect(await publishDeclaration(bus.mesh, envelopeOf(bellows, 1), 0)).toHaveProperty('sequence');
  });

  test('[D4] a node that was off finds the latest, and one of 6 MiB of quotes arrives whole', async () => {
    const body = '"'.repeat(6 * 1024 * 1024);
    const last = await lastDeclaration(bus.mesh, bellows);
    await publishDeclaration(bus.mesh, envelopeOf(bellows, 2, body), last?.sequence ?? 0);
    const late = await connectNode(bellows);
    const got = await lastDeclaration(late, bellows);
    expect(got !== undefined && 'envelope' in got && got.envelope.body === body).toBe(true);
    await expect(publishDeclaration(bus.mesh, envelopeOf(bellows, 3, `${body}"`), 0)).rejects.toMatchObject({
      reason: 'too-big',
    });
    await late.close();
  });

  test('[U17] what is no envelope is handed on as unreadable, with its sequence', async () => {
    const carried = nodeName.parse('carried');
    await bus.mesh.nats.jetstream({ checkAPI: false }).publish(declareSubject(carried), 'no envelope');
    const got = await lastDeclaration(bus.mesh, carried);
    expect(got).toMatchObject({ unreadable: { reason: 'it has no head', subject: declareSubject(carried) } });
    await bus.mesh.nats
      .jetstream({ checkAPI: false })
      .publish(declareSubject(carried), '{"schema":"mesh.envelope"}\nbody');
    expect(await lastDeclaration(bus.mesh, carried)).toMatchObject({
      unreadable: { reason: expect.stringContaining('version') },
    });
  });
});

/** Runs a consumer until `enough` holds for what it was given, then stops it. */
async function take(
  enough: (got: { reports: Report[]; unreadable: Unreadable[]; faults: unknown[] }) => boolean,
  onReport: (report: Report) => Promise<void> = async () => undefined,
  onUnreadable: (message: Unreadable) => Promise<void> = async () => undefined,
) {
  const got = { reports: new Array<Report>(), unreadable: new Array<Unreadable>(), faults: new Array<unknown>() };
  const consuming = consumeReports(bus.mesh, {
    async onReports(reports) {
      for (const report of reports) {
        await onReport(report);
        got.reports.push(report);
      }
    },
    async onUnreadable(message) {
      await onUnreadable(message);
      got.unreadable.push(message);
    },
    onFault: (fault) => void got.faults.push(fault),
  });
  try {
    await until(() => enough(got), { withinMs: 30_000, what: 'enough reports' });
  } finally {
    await consuming.stop();
  }
  return got;
}

const pending = async (): Promise<number> => {
  const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
  const { num_pending, num_ack_pending } = await manager.consumers.info(reportsStream, reportsConsumer);
  return num_pending + num_ack_pending;
};

describe('reports', () => {
  test('[U17] arrive as they were sent, and are gone from the stream once recorded', async () => {
    await publishReport(host, reportOf(anvil, 1));
    await publishReport(host, reportOf(anvil, 2));
    const got = await take(({ reports }) => reports.length === 2);
    expect(got.reports).toEqual([reportOf(anvil, 1), reportOf(anvil, 2)]);
    await until(async () => (await pending()) === 0, { withinMs: 5_000, what: 'both acknowledged' });
  });

  test('[U17] one whose recording fails comes again, until it is recorded', async () => {
    await publishReport(host, reportOf(anvil, 3));
    let times = 0;
    const got = await take(
      ({ reports }) => reports.length === 1,
      async () => {
        if ((times += 1) < 3) throw new Error('the store is away');
      },
    );
    expect(times).toBe(3);
    expect(got.faults.map(String)).toEqual(['Error: the store is away', 'Error: the store is away']);
    expect(got.reports).toEqual([reportOf(anvil, 3)]);
  });

  test('[U17] what nobody can read is kept aside with its bytes, not lost when that fails, and holds up nothing', async () => {
    const stream = bus.mesh.nats.jetstream({ checkAPI: false });
    const unreadable = [
      'no JSON',
      '{"schema":"mesh.report"}',
      JSON.stringify({ ...reportOf(anvil, 1), extra: 1 }),
      '\ud800',
    ];
    for (const each of unreadable) await stream.publish(reportSubject(anvil), each);
    // One that speaks of another node than the subject it came on, which is all that the server vouches for.
    await stream.publish(reportSubject(bellows), JSON.stringify(reportOf(anvil, 99)));
    await publishReport(host, reportOf(anvil, 4));
    let refused = 0;
    const got = await take(
      ({ reports, unreadable: kept }) => reports.length === 1 && kept.length === 5,
      undefined,
      async () => {
        if ((refused += 1) === 1) throw new Error('the store is away');
      },
    );
    expect(got.reports).toEqual([reportOf(anvil, 4)]);
    expect(got.unreadable.map(({ body }) => Buffer.from(body).toString()).toSorted()).toEqual(
      [...unreadable.slice(0, 3), '\ufffd', JSON.stringify(reportOf(anvil, 99))].toSorted(),
    );
    expect(got.unreadable.find(({ subject }) => subject === reportSubject(bellows))?.reason).toBe('it speaks of anvil');
    await until(async () => (await pending()) === 0, { withinMs: 5_000, what: 'all acknowledged' });
  });

  test('[U17] a report that is no report is not sent', async () => {
    await expect(publishReport(host, { ...reportOf(anvil, 5), sequence: 0 })).rejects.toThrow('sequence');
    expect(await pending()).toBe(0);
  });

  test('[C81] one over the limit is refused before it is sent, naming size and limit', async () => {
    const long = { ...reportOf(anvil, 5), drift: ['x'.repeat(reportLimitBytes)] };
    await expect(publishReport(host, long)).rejects.toThrow(new RegExp(`bytes, more than ${reportLimitBytes}`));
    expect(host.isConnected()).toBe(true);
  });

  test("[U17] a node that talks without end pushes out its own old reports and no other node's", async () => {
    const other = await connectNode(bellows);
    await publishReport(other, reportOf(bellows, 1));
    for (let sequence = 1; sequence <= reportsKept + 20; sequence += 1)
      await publishReport(host, reportOf(anvil, sequence));
    const got = await take(({ reports }) =>
      reports.some(({ node, sequence }) => node === anvil && sequence === reportsKept + 20),
    );
    expect(got.reports).toContainEqual(reportOf(bellows, 1));
    expect(got.reports.filter(({ node }) => node === anvil)).toHaveLength(reportsKept);
    await other.close();
  });

  test('[U17] a consumer that runs while the server is killed goes on by itself, and so does the node', async () => {
    const seen: number[] = [];
    const consuming = consumeReports(bus.mesh, {
      onReports: async (reports) => void seen.push(...reports.map(({ sequence }) => sequence)),
      onUnreadable: async () => undefined,
    });
    await publishReport(host, reportOf(anvil, 1_000));
    await until(() => seen.includes(1_000), { withinMs: 10_000, what: 'the report before' });
    await bus.kill();
    await until(() => !host.isConnected() && !bus.mesh.isConnected(), { withinMs: 5_000, what: 'the loss to be seen' });
    await bus.start();
    await until(() => host.isConnected() && bus.mesh.isConnected(), { withinMs: 20_000, what: 'both to be back' });
    await publishReport(host, reportOf(anvil, 1_001));
    await until(() => seen.includes(1_001), { withinMs: 5_000, what: 'the report after, soon' });
    await consuming.stop();
  });

  describe('in the hand of a controller', () => {
    const consumerHas = async () => {
      const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
      return (await manager.consumers.info(reportsStream, reportsConsumer)).config.ack_wait;
    };
    const waitsFor = async (ms: number): Promise<void> => {
      const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
      await manager.consumers.update(reportsStream, reportsConsumer, { ack_wait: nanos(ms) });
    };

    test('[A1.2] [D20] that was killed: the next one has them after five seconds, whatever an older version had waited', async () => {
      await waitsFor(30_000);
      await ensureStreams(bus.mesh);
      expect(await consumerHas()).toBe(nanos(5_000));
      await publishReport(host, reportOf(anvil, 2_000));
      const doomed = await bus.connect('doomed', await meshCredential(bus.identity));
      const consumer = await doomed.nats.jetstream({ checkAPI: false }).consumers.get(reportsStream, reportsConsumer);
      const taken = await consumer.next();
      expect(taken).not.toBeNull();
      await doomed.close();
      const from = performance.now();
      const got = await take(({ reports }) => reports.length === 1);
      expect(got.reports).toEqual([reportOf(anvil, 2_000)]);
      expect(performance.now() - from).toBeLessThan(9_000);
    }, 30_000);

    test('[D20] that takes longer to record them than the server waits: nobody is given them meanwhile', async () => {
      await waitsFor(600);
      for (const sequence of [3_000, 3_001, 3_002]) await publishReport(host, reportOf(anvil, sequence));
      const seen: number[] = [];
      const consuming = consumeReports(bus.mesh, {
        onReports: async (reports) => {
          seen.push(...reports.map(({ sequence }) => sequence));
          const others = await bus.mesh.nats
            .jetstream({ checkAPI: false })
            .consumers.get(reportsStream, reportsConsumer);
          // Another controller asks for three times as long as the server waits for a word, and gets nothing.
          expect(await others.next({ expires: 1_800 })).toBeNull();
        },
        onUnreadable: async () => undefined,
      });
      await until(async () => seen.includes(3_002) && (await pending()) === 0, {
        withinMs: 20_000,
        what: 'all recorded',
      });
      await consuming.stop();
      expect(seen).toEqual([3_000, 3_001, 3_002]);
      await ensureStreams(bus.mesh);
    }, 30_000);
  });

  test('[D15] a report while the server is away is a timeout, told in time, and the connection goes on', async () => {
    await bus.kill();
    await until(() => !host.isConnected(), { withinMs: 5_000, what: 'the loss to be seen' });
    await expect(publishReport(host, reportOf(anvil, 1_002))).rejects.toMatchObject({ reason: 'timeout' });
    await bus.start();
    await until(() => host.isConnected() && bus.mesh.isConnected(), { withinMs: 30_000, what: 'both to be back' });
    await publishReport(host, reportOf(anvil, 1_003));
    const got = await take(({ reports }) => reports.some(({ sequence }) => sequence === 1_003));
    expect(got.faults).toEqual([]);
  });

  test('[A1] who waits for a node is told when its report was recorded', async () => {
    const heard: Reported[] = [];
    const forget = onReported(bus.mesh, anvil, (of) => heard.push(of));
    announceReported(bus.mesh, { node: bellows, boot: 1, sequence: 1, outcome: 'idle' });
    announceReported(bus.mesh, {
      node: anvil,
      boot: 1,
      sequence: 7,
      outcome: 'applied',
      digest: 'sha256:x',
      number: 3,
    });
    await until(() => heard.length > 0, { withinMs: 5_000, what: 'the announcement' });
    expect(heard).toEqual([{ node: 'anvil', boot: 1, sequence: 7, outcome: 'applied', digest: 'sha256:x', number: 3 }]);
    forget();
  });
});

describe('limits', () => {
  test('[C80] a full bucket and a full stream say that they are full', async () => {
    await ensureBucket(bus.mesh, 'small', { bytes: 4_096, valueBytes: 2_048 });
    const small = await openBucket(bus.mesh, 'small');
    await expect(small.put('a', 'x'.repeat(4_000))).rejects.toMatchObject({ reason: 'too-big' });
    await small.put('a', 'x'.repeat(1_800));
    await small.put('b', 'x'.repeat(1_800));
    await expect(small.put('c', 'x'.repeat(1_800))).rejects.toMatchObject({ reason: 'full' });
  });

  test('[U17] streams are made again without harm, and brought to a changed shape', async () => {
    const before = await lastDeclaration(bus.mesh, anvil);
    await ensureStreams(bus.mesh);
    await ensureStreams(bus.mesh);
    expect(await lastDeclaration(bus.mesh, anvil)).toEqual(before);
    await ensureBucket(bus.mesh, 'small', { bytes: 8_192, valueBytes: 2_048 });
    await (await openBucket(bus.mesh, 'small')).put('c', 'x'.repeat(1_800));
  });
});
