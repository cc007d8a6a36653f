/** A7 and A8 on a real store, bus, Temporal and controller process; the nodes are played. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { defineSearchAttributeKey } from '@temporalio/common';
import { startAct } from '../../cli/acts/start-act.ts';
import { atStep } from '../../cli/acts/trying.ts';
import { connectTemporal } from '../../cli/acts/temporal.ts';
import { openBucket } from '../../src/bus/buckets.ts';
import { connectBus } from '../../src/bus/connection.ts';
import { BusFault } from '../../src/bus/faults.ts';
import { meshCredential } from '../../src/bus/identity.ts';
import { makeSeed } from '../../src/bus/seed.ts';
import { declarationsStream, declareSubject } from '../../src/bus/subjects.ts';
import { clientCredential } from '../../src/bus/token.ts';
import { buckets } from '../../src/domain/provisioning/values.ts';
import { controllerQueue, enrolId, pushId, pushSummary, type PushResult } from '../../src/domain/act/act.ts';
import { nodeName, provisionName } from '../../src/domain/words/names.ts';
import { busCredentialRecords } from '../../src/operations/act/bus-credential-records.ts';
import { pin } from '../../src/operations/intent/pin.ts';
import { inviteNode } from '../../src/operations/node/invite-node.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { until } from '../support/until.ts';
import { raiseActingMesh, type ActingMesh } from './acting-mesh.ts';
import { addAll, consumerModule, databaseModule, place } from './catalogue.ts';
import { secretsIn, type PlayedNode } from './played-node.ts';

let mesh: ActingMesh;
let alpha: PlayedNode;
let beta: PlayedNode;

beforeAll(async () => {
  mesh = await raiseActingMesh();
  await mesh.startController();
  alpha = await mesh.join('alpha');
  beta = await mesh.join('beta');
  await addAll(mesh.store, [databaseModule, consumerModule('notes', 'json'), consumerModule('ledger', 'json')]);
}, 120_000);
afterAll(() => mesh.close(), 60_000);

const push = (nodes?: readonly PlayedNode[]) => {
  const names = nodes?.map(({ node }) => node);
  return mesh.start('pushNodes', pushId(names, sha256Hex), { person: 'ada', ...(names && { nodes: names }) });
};
const sentRows = () =>
  mesh.ask('select node, digest, number, stream_sequence from mesh.sent_declarations order by node');

describe('a push', () => {
  test('[A7] [D4] [D7] sends what changed, ends when each node reported it, and pushing again sends nothing', async () => {
    await place(mesh.store, alpha.node, 'postgres');
    const stops = [alpha.behave(), beta.behave()];
    expect((await (await push()).result()) as PushResult).toMatchObject({
      sent: 2,
      alreadySent: 0,
      applied: 2,
      failedCount: 0,
    });
    const rows = await sentRows();
    const told = await alpha.told();
    expect(rows[0]).toMatchObject({ node: 'alpha', digest: told?.digest, number: String(told?.number) });
    expect((await (await push()).result()) as PushResult).toMatchObject({ sent: 0, alreadySent: 2, applied: 2 });
    expect(await sentRows()).toEqual(rows);
    for (const stop of stops) stop();
  });

  test('[A7] [S3] [S4] makes the secrets that are missing, and sends both ends of each, also when one was named', async () => {
    await place(mesh.store, beta.node, 'notes');
    const stops = [alpha.behave(), beta.behave()];
    const result = (await (await push([beta])).result()) as PushResult;
    for (const stop of stops) stop();
    expect(result).toMatchObject({ sent: 2, secretsMade: 1, applied: 2 });
    const [made] = await mesh.ask('select generation, stage, origin from mesh.pair_secrets');
    expect(made).toEqual({ generation: 1, stage: 'current', origin: 'made' });
    expect(secretsIn((await alpha.told())?.declaration ?? never())).toHaveLength(1);
    expect(secretsIn((await beta.told())?.declaration ?? never())).toHaveLength(1);
  });

  test('[D20] [D23] a report about an older declaration, or none, does not end it', async () => {
    const before = await beta.told();
    await place(mesh.store, beta.node, 'ledger');
    const stop = alpha.behave();
    const handle = await push();
    await beta.untilTold('something new', (told) => told.digest !== before?.digest);
    if (before === undefined) throw new Error('beta was told nothing');
    await beta.report({ digest: before.digest, number: before.number, declared: 1, applied: 1 });
    await waitsFor(handle.firstExecutionRunId, 'beta to report what it was sent');
    await beta.report();
    stop();
    expect((await handle.result()) as PushResult).toMatchObject({ applied: 2 });
  });

  test('[A1.4] [P12] a push that waits for a value says for which one, of which file', async () => {
    const stop = alpha.behave();
    await addAll(mesh.store, [
      { module: 'waits', version: '1.0.0', resources: [{ kind: 'file', path: '/etc/waits', content: 'x' }] },
    ]);
    await place(mesh.store, beta.node, 'waits');
    const handle = await push();
    await beta.untilTold('it', (told) => told.declaration.resources.some(({ module: of }) => of === 'waits'));
    const error = '${config:title}: mesh-controller_settings has no beta.waits.title for it';
    const failures = [{ resource: 'waits/file//etc/waits', error, waits: true as const }];
    await beta.report({ outcome: 'failed', applied: 1, failures });
    await waitsFor(handle.firstExecutionRunId, `beta to have what waits/file//etc/waits is filled with: ${error}`);
    await beta.report();
    stop();
    expect((await handle.result()) as PushResult).toMatchObject({ applied: 2 });
  });

  test('[D16] [A7] a node that could not apply it is named as failed, not as done', async () => {
    const stops = [
      alpha.behave(),
      beta.behave({
        report: {
          outcome: 'failed',
          applied: 1,
          failures: [{ resource: 'notes/directory//etc/notes', error: 'no space left' }],
        },
      }),
    ];
    // It was current before: a push that is faster than the report would have nothing to wait for.
    const isTold = async () =>
      (await mesh.ask(`select 1 from mesh.reports where node = 'beta' and outcome = 'failed'`)).length === 1;
    await until(isTold, { withinMs: 10_000, what: 'the failure to be recorded' });
    const result = (await (await push()).result()) as PushResult;
    for (const stop of stops) stop();
    expect(result).toMatchObject({ applied: 1, failed: ['beta'], failedCount: 1 });
    await beta.report();
  });

  test('[A15] that a controller took up is told from one that nobody did', async () => {
    await mesh.killController();
    const handle = await push([beta]);
    const step = () => atStep(mesh.temporal, handle.workflowId, handle.firstExecutionRunId);
    expect(await step()).toEqual({ isTakenUp: false });
    await mesh.startController();
    const stop = beta.behave();
    await handle.result();
    stop();
    await addAll(mesh.store, [
      { module: 'later', version: '1.0.0', resources: [{ kind: 'directory', path: '/etc/later', unknown: 'program' }] },
    ]);
    await place(mesh.store, beta.node, 'later');
    const silent = await push([beta]);
    await waitsFor(silent.firstExecutionRunId, 'beta to report what it was sent');
    expect(await atStep(mesh.temporal, silent.workflowId, silent.firstExecutionRunId)).toEqual({ isTakenUp: true });
    await beta.report();
    await silent.result();
  }, 90_000);

  test('[D5] a node that cannot be resolved is sent nothing, and its neighbours are', async () => {
    await addAll(mesh.store, [
      { ...consumerModule('notes', 'json'), version: '1.1.0', requires: ['postgres-database', 'shell'] },
    ]);
    const rows = await sentRows();
    const stop = alpha.behave();
    const result = (await (await push()).result()) as PushResult;
    stop();
    expect(result).toMatchObject({ unresolvable: ['beta'], unresolvableCount: 1, applied: 1 });
    expect((await sentRows())[1]).toEqual(rows[1]);
    await addAll(mesh.store, [consumerModule('notes', 'json')]);
  });

  test('[D4] of two that send at once, what is last on the subject is from the later world', async () => {
    const stops = [alpha.behave(), beta.behave()];
    await addAll(mesh.store, [
      {
        ...databaseModule,
        version: '2.0.0',
        resources: [{ kind: 'directory', path: '/var/lib/two', unknown: 'program' }],
      },
    ]);
    await Promise.all(
      [push(), push([alpha]), push([alpha, beta])].map(async (one): Promise<unknown> => (await one).result()),
    );
    for (const stop of stops) stop();
    const told = await alpha.told();
    expect(
      told?.declaration.resources.some((resource) => resource.kind === 'directory' && resource.path === '/var/lib/two'),
    ).toBe(true);
    const [row] = await sentRows();
    expect(row).toMatchObject({ digest: told?.digest, number: String(told?.number) });
  });

  test('[D7] [C76] what the bus has lost is sent again, and nothing else is; also when its whole stream is gone', async () => {
    const bus = await connectBus({
      servers: [mesh.foundation.nats.url],
      name: 'losing',
      credential: await meshCredential(mesh.keys.bus),
    });
    const { streams } = await bus.nats.jetstreamManager({ checkAPI: false });
    const stops = [alpha.behave(), beta.behave()];
    const before = await sentRows();
    await streams.purge(declarationsStream, { filter: declareSubject(beta.node) });
    expect(await beta.told()).toBeUndefined();
    expect((await (await push()).result()) as PushResult).toMatchObject({ sent: 1, alreadySent: 1, applied: 2 });
    const again = await sentRows();
    expect(again[0]).toEqual(before[0]);
    // The same once more, under a number of its own.
    expect(again[1]?.['digest']).toBe(before[1]?.['digest']);
    expect(Number(again[1]?.['number'])).toBeGreaterThan(Number(before[1]?.['number']));
    expect(await beta.told()).toMatchObject({ digest: before[1]?.['digest'], number: Number(again[1]?.['number']) });
    await streams.delete(declarationsStream);
    expect((await (await push()).result()) as PushResult).toMatchObject({ sent: 2, alreadySent: 0, applied: 2 });
    expect((await (await push()).result()) as PushResult).toMatchObject({ sent: 0, alreadySent: 2, applied: 2 });
    for (const stop of stops) stop();
    await bus.close();
  });

  test('[A7] a node that has not joined is refused before anything is sent', async () => {
    const rows = await sentRows();
    const gamma = nodeName.parse('gamma');
    const handle = await mesh.start('pushNodes', pushId([gamma], sha256Hex), { person: 'ada', nodes: [gamma] });
    await expect(handle.result()).rejects.toMatchObject({ cause: { cause: { type: 'PushRefused' } } });
    expect(await sentRows()).toEqual(rows);
  });
});

describe('enrolling', () => {
  test('[A8] [U16] ends with the node joined, its token closed, and one account of its own', async () => {
    const accounts = await mesh.ask(
      `select kind, name, revoked_at is not null as revoked from mesh.bus_credentials where name like 'alpha' or kind = 'token' order by 1`,
    );
    expect(accounts).toContainEqual({ kind: 'node', name: 'alpha', revoked: false });
    expect(accounts.filter((row) => row['kind'] === 'token').every((row) => row['revoked'] === true)).toBe(true);
    expect(await mesh.ask(`select state from mesh.nodes where node = 'alpha'`)).toEqual([{ state: 'joined' }]);
  });

  test('[A8] a controller that is killed while a node joins goes on where it was', async () => {
    await mesh.killController();
    const joining = mesh.join('delta');
    await mesh.startController();
    const delta = await joining;
    expect(
      await mesh.ask(`select count(*)::int as n from mesh.bus_credentials where kind = 'node' and name = 'delta'`),
    ).toEqual([{ n: 1 }]);
    await delta.report();
  }, 90_000);
});

test('[A12] [A16] an act is seen in Temporal as a sentence, with who asked; asking again joins it', async () => {
  const ada = await connectTemporal(mesh.foundation.temporal, 'ada@desk');
  try {
    const asked = {
      kind: 'push',
      workflow: 'pushNodes',
      workflowId: pushId([beta.node], sha256Hex),
      request: { person: 'ada@desk', nodes: [beta.node] },
      summary: pushSummary([beta.node]),
      node: beta.node,
      attaches: true,
    } as const;
    // Something that beta is silent about: a push that finds nothing to do could be over before it is asked for again.
    await addAll(mesh.store, [
      { module: 'new', version: '1.0.0', resources: [{ kind: 'directory', path: '/etc/new', unknown: 'program' }] },
    ]);
    await place(mesh.store, beta.node, 'new');
    const first = await startAct(ada, asked);
    const second = await startAct(ada, asked);
    if ('kind' in first || 'kind' in second) throw new Error('it was refused');
    expect(second).toMatchObject({ act: first.act, attached: true });

    const handle = ada.workflow.getHandle(first.workflowId, first.act);
    const seen = await handle.describe();
    expect(await seen.staticSummary()).toBe('Push what is declared to beta');
    expect(seen.typedSearchAttributes.get(defineSearchAttributeKey('MeshAct', 'KEYWORD'))).toBe('push');
    expect(seen.typedSearchAttributes.get(defineSearchAttributeKey('MeshNode', 'KEYWORD'))).toBe('beta');
    const stop = beta.behave();
    await handle.result();
    stop();
    const { events } = await handle.fetchHistory();
    expect(events?.[0]?.workflowExecutionStartedEventAttributes?.identity).toBe('ada@desk');
    const [row] = await mesh.ask(`select summary, person, workflow_id from mesh.acts where act = '${first.act}'`);
    expect(row).toEqual({
      summary: 'Push what is declared to beta',
      person: 'ada@desk',
      workflow_id: first.workflowId,
    });
  } finally {
    await ada.connection.close();
  }
});

describe('removing a node', () => {
  const remove = (node: PlayedNode) =>
    mesh.temporal.workflow.start('removeNode', {
      taskQueue: controllerQueue,
      workflowId: `remove/${node.node}`,
      args: [{ node: node.node, person: 'ada' }],
    });

  test('[M4] [P2] drops its pins and says so, leaves no dangling row, and closes its account and its client’s', async () => {
    const seed = makeSeed('user');
    const epsilon = await mesh.join('epsilon', seed.publicKey);
    const client = await busCredentialRecords(mesh.store).liveOf('client', 'epsilon');
    const { node } = epsilon;
    const line = await connectBus({
      servers: [mesh.foundation.nats.url],
      name: 'client of epsilon',
      credential: clientCredential({ node, clientJwt: client?.userJwt ?? '' }, seed),
    });
    expect(await (await openBucket(line, buckets.registry)).get('nothing')).toBeUndefined();
    await pin(mesh.store, 'ada', {
      node: epsilon.node,
      provision: provisionName.parse('postgres-database'),
      provider: { node: alpha.node },
    });
    // A pin at it can be left by a module that provides no more: it goes as well.
    await mesh.ask(`insert into mesh.pins (node, provision, provider_node) values ('beta', 'other-thing', 'epsilon')`);
    const result: unknown = await (await remove(epsilon)).result();
    expect(result).toMatchObject({
      node: 'epsilon',
      pins: ['beta takes other-thing from epsilon', 'epsilon takes postgres-database from alpha'],
      pinsCount: 2,
      credentialsCount: 0,
    });
    // Counted on the table itself: a join would hide a row that points nowhere.
    expect(await mesh.ask(`select count(*)::int as n from mesh.pins`)).toEqual([{ n: 0 }]);
    expect(await mesh.ask(`select * from mesh.nodes where node = 'epsilon'`)).toEqual([]);
    const accounts = await mesh.ask(
      `select kind, revoked_at is not null as revoked from mesh.bus_credentials where name = 'epsilon' order by kind`,
    );
    expect(accounts).toEqual([
      { kind: 'client', revoked: true },
      { kind: 'node', revoked: true },
    ]);
    const isLetInNoMore = () =>
      epsilon.reportOnce().then(
        () => false,
        (error: unknown) => error instanceof BusFault,
      );
    await until(isLetInNoMore, { withinMs: 10_000, what: 'the node to be cut off' });
    await until(async () => !line.isConnected(), { withinMs: 5_000, what: 'the client to be cut off' });
    await line.close();
  });

  test('[M4] a node that still has something is refused, naming it, and nothing is gone', async () => {
    const handle = await remove(beta);
    await expect(handle.result()).rejects.toMatchObject({ cause: { cause: { type: 'RemovalRefused' } } });
    expect(await mesh.ask(`select state from mesh.nodes where node = 'beta'`)).toEqual([{ state: 'joined' }]);
  });
});

describe('cancelled', () => {
  test('[A7] a push is not open any more, and what was sent stays sent', async () => {
    const before = await beta.told();
    await addAll(mesh.store, [
      {
        ...consumerModule('notes', 'json'),
        resources: [{ kind: 'directory', path: '/etc/notes/more', unknown: 'program' }],
      },
    ]);
    const handle = await push([beta]);
    await beta.untilTold('something new', (told) => told.digest !== before?.digest);
    await handle.cancel();
    await expect(handle.result()).rejects.toThrow('cancelled');
    const [row] = await mesh.ask(
      `select stage, ended_at is not null as ended from mesh.acts where act = '${handle.firstExecutionRunId}'`,
    );
    expect(row).toEqual({ stage: 'failed', ended: true });
  });

  test('[A8] an invitation lets nobody in any more, and its node may be invited again', async () => {
    const invite = async (tokenId: string) => {
      const of = { node: nodeName.parse('omega'), tokenId, userKey: makeSeed('user').publicKey };
      const invited = await inviteNode(mesh.store, 'ada', { ...of, expiresAt: new Date(Date.now() + 60_000) });
      if ('kind' in invited) return invited.kind;
      return mesh.temporal.workflow.start('enrolNode', {
        taskQueue: controllerQueue,
        workflowId: enrolId(of.node),
        args: [{ node: of.node, tokenId, expiresInMs: 60_000, person: 'ada' }],
      });
    };
    const handle = await invite('a'.repeat(20));
    if (typeof handle === 'string') throw new Error(handle);
    const open = async () =>
      (await busCredentialRecords(mesh.store).liveOf('token', 'a'.repeat(20)))?.pushedAt !== undefined;
    await until(open, { withinMs: 20_000, what: 'the token to work' });
    expect(await invite('b'.repeat(20))).toBe('node-exists');
    await handle.cancel();
    await expect(handle.result()).rejects.toThrow('cancelled');
    expect(await busCredentialRecords(mesh.store).liveOf('token', 'a'.repeat(20))).toBeUndefined();
    expect(typeof (await invite('c'.repeat(20)))).toBe('object');
  });
});

test('[S1] a credential is kept per provision, both nodes, both modules', async () => {
  const rows = await mesh.ask(
    'select provision, provider_node, provider_module, consumer_node, consumer_module, local from mesh.pair_secrets order by consumer_module',
  );
  expect(rows).toEqual([
    {
      provision: 'postgres-database',
      provider_node: 'alpha',
      provider_module: 'postgres',
      consumer_node: 'beta',
      consumer_module: 'ledger',
      local: '',
    },
    {
      provision: 'postgres-database',
      provider_node: 'alpha',
      provider_module: 'postgres',
      consumer_node: 'beta',
      consumer_module: 'notes',
      local: '',
    },
  ]);
});

function never(): never {
  throw new Error('it was told nothing');
}
async function waitsFor(act: string, words: string): Promise<void> {
  await until(
    async () => {
      const [row] = await mesh.ask(`select detail->'waitsFor' as waits from mesh.acts where act = '${act}'`);
      return Array.isArray(row?.['waits']) && row['waits'].includes(words);
    },
    { withinMs: 20_000, what: `the act to wait for ${words}` },
  );
}
