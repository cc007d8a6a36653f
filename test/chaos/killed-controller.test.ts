/**
 * [A1.2] A real controller process ends itself by SIGKILL at every point of every step of A1, A7 and A8, and the next one
 * finishes what it began. Every row of the table is an act of its own, on nodes of its own; the acts of a batch stand
 * still each at its point, and one death takes them all.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { WorkflowHandle } from '@temporalio/client';
import { enrolId, pushId, type PushResult, type RotationResult } from '../../src/domain/act/act.ts';
import { nodeName } from '../../src/domain/words/names.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { raiseActingMesh, type ActingMesh } from '../acts/acting-mesh.ts';
import { addAll, consumerModule, databaseModule } from '../acts/catalogue.ts';
import type { PlayedNode } from '../acts/played-node.ts';
import { busView, declarePair, generationsOf, keyOf, locksOf, rotationOf, type Ends } from './chaos-mesh.ts';
import { killAtPoints } from './doomed-controller.ts';
import { playPair, type PlayedPair } from './played-pair.ts';
import {
  abruptPoints,
  changesTheWorld,
  enrolPoints,
  idlePushPoints,
  pushPoints,
  reportPoints,
  rotationPoints,
  undoingPoints,
  untilCommitPoints,
} from './points.ts';

const pairCount = 26;
let mesh: ActingMesh;
let bus: Awaited<ReturnType<typeof busView>>;
let ends: Ends[] = [];
let pairs: readonly PlayedPair[] = [];
const passed = new Set<string>();

const names = Array.from({ length: pairCount }, (_, at) => [`p${at}`, `c${at}`])
  .flat()
  .map((name) => nodeName.parse(name));
const one = <T>(all: readonly T[], at: number): T => {
  const found = all[at];
  if (found === undefined) throw new Error(`there is no ${at}`);
  return found;
};

const nodesOf = ({ provider, consumer }: Ends) => [provider.node, consumer.node];

/** A step that waits says what it waits for, unless it has come already: there the nodes are silent until the controller was killed. */
const saysWhatItWaitsFor = (point: string | undefined): boolean =>
  /^(awaitNodes|awaitFirstReport|tellConsumers)\/acts\.note/.test(point ?? '');

function keepSilent(points: readonly string[], until: Promise<void>): void {
  for (const [at, point] of points.entries()) if (saysWhatItWaitsFor(point)) one(pairs, at).keepConsumerSilent(until);
}

/** Instead of the controller that runs, kills one at all of `plan` while the acts are begun by `begin`, and starts the next; `meanwhile` is done while there is none. */
async function killAndGoOn(
  plan: ReadonlyMap<string, string>,
  begin: (killed: Promise<void>) => Promise<unknown>,
  meanwhile: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  await mesh.killController();
  let tell = (): void => undefined;
  const killed = new Promise<void>((resolve) => (tell = resolve));
  for (const point of await killAtPoints(mesh, plan, () => begin(killed)).finally(tell)) passed.add(point);
  await meanwhile();
  await mesh.startController();
}

beforeAll(async () => {
  mesh = await raiseActingMesh();
  bus = await busView(mesh);
}, 60_000);
afterAll(async () => {
  await Promise.all(pairs.map((pair) => pair.stop()));
  await bus.close();
  await mesh.close();
}, 60_000);

describe.each([0, 1])('enrolling a node (A8), batch %i', (batch) => {
  const joining = names.slice(batch * pairCount, (batch + 1) * pairCount);
  const points = enrolPoints.slice(batch * pairCount, (batch + 1) * pairCount);
  beforeAll(async () => {
    let joins: Promise<PlayedNode>[] = [];
    await killAndGoOn(new Map(points.map((point, at) => [enrolId(one(joining, at)), point])), async (killed) => {
      joins = joining.map((name, at) => mesh.joinPatiently(name, saysWhatItWaitsFor(points[at]) ? killed : undefined));
    });
    const nodes = await Promise.all(joins);
    await Promise.all(joining.map((name) => mesh.temporal.workflow.getHandle(enrolId(name)).result()));
    ends = [
      ...ends,
      ...Array.from({ length: pairCount / 2 }, (_, at) => ({
        provider: one(nodes, 2 * at),
        consumer: one(nodes, 2 * at + 1),
      })),
    ];
  }, 180_000);

  test.each(points.map((point, at) => [point, one(joining, at)] as const))(
    '[A1.2] [A8] killed at %s: %s joined once, with one account, and its token is good for nothing',
    async (_, name) => {
      const status = await mesh.temporal.workflow.getHandle(enrolId(name)).describe();
      expect(status.status.name).toBe('COMPLETED');
      expect(await mesh.ask(`select state from mesh.nodes where node = '${name}'`)).toEqual([{ state: 'joined' }]);
      const [invitation] = await mesh.ask(
        `select token_id, closed_at is not null as closed from mesh.invitations where node = '${name}'`,
      );
      expect(invitation).toMatchObject({ closed: true });
      const accounts = await mesh.ask(
        `select kind, account_key, revoked_at is null as live from mesh.bus_credentials where name in ('${name}', '${String(invitation?.['token_id'])}') order by kind`,
      );
      expect(accounts).toMatchObject([
        { kind: 'node', live: true },
        { kind: 'token', live: false },
      ]);
      const onBus = await Promise.all(accounts.map((row) => bus.hasAccount(String(row['account_key']))));
      expect(onBus).toEqual([true, false]);
      expect(await mesh.ask(`select stage from mesh.acts where workflow_id = '${enrolId(name)}'`)).toEqual([
        { stage: 'closed' },
      ]);
    },
  );
});

describe('pushing (A7)', () => {
  const results: PushResult[] = [];
  let sent = 0;

  beforeAll(async () => {
    await addAll(mesh.store, [databaseModule, consumerModule('notes', 'json'), consumerModule('ledger', 'password')]);
    for (const each of ends) await declarePair(mesh, each, 'notes');
    const before = await bus.declarationsTaken();
    const handles: WorkflowHandle[] = [];
    await killAndGoOn(
      new Map(pushPoints.map((point, at) => [pushId(nodesOf(one(ends, at)), sha256Hex), point])),
      async (killed) => {
        pairs = ends.map((each) => playPair(each, { module: 'notes', overlaps: true }));
        keepSilent(pushPoints, killed);
        for (const each of ends) {
          const nodes = nodesOf(each);
          handles.push(await mesh.start('pushNodes', pushId(nodes, sha256Hex), { person: 'ada', nodes }));
        }
      },
    );
    for (const handle of handles) results.push((await handle.result()) as PushResult);
    sent = (await bus.declarationsTaken()) - before;
  }, 180_000);

  test('[A7] [D4] nothing was sent twice', () => {
    expect(sent).toBe(2 * pairCount);
  });

  test.each(pushPoints.map((point, at) => [point, at] as const))(
    '[A1.2] [A7] killed at %s: both ends are as declared, and what is recorded is what is last on the subject',
    async (_, at) => {
      const pair = one(pairs, at);
      expect(one(results, at)).toMatchObject({ applied: 2, failedCount: 0, unresolvableCount: 0 });
      await isRecordedAsSent(pair);
      expect(await generationsOf(mesh, keyOf(pair, 'notes'))).toEqual(['1 current']);
      expect(pair.held()).toBeDefined();
      expect([...pair.granted()]).toEqual([[1, pair.held()]]);
      expect(await locksOf(mesh, keyOf(pair, 'notes'))).toBe(0);
      expect(pair.faults).toEqual([]);
    },
  );
});

describe('cancelling a rotation (A1.3)', () => {
  const undone = ['prepareRotation', 'commitRotation/before', 'commitRotation/credentials.commit/before'];
  const mayBeUndone = (point: string): boolean => undone.some((before) => point.startsWith(before));
  /** The next controller may be given the step that commits before the news of the cancelling: then it is after the commit (A1.3). */
  const isUndone = (at: number): boolean => one(outcomes, at) === 'CANCELLED';
  const outcomes: string[] = [];
  let sent = 0;

  beforeAll(async () => {
    const before = await bus.declarationsTaken();
    const handles: WorkflowHandle[] = [];
    const acts = untilCommitPoints.map((_, at) => rotationOf(one(ends, at), 'notes'));
    await killAndGoOn(
      new Map(untilCommitPoints.map((point, at) => [one(acts, at).id, point])),
      async () => {
        for (const { id, request } of acts) handles.push(await mesh.start('rotateCredential', id, request));
      },
      () => Promise.all(handles.map((handle) => handle.cancel())),
    );
    for (const handle of handles) await handle.result().catch(() => undefined);
    for (const handle of handles) outcomes.push((await handle.describe()).status.name);
    sent = (await bus.declarationsTaken()) - before;
  }, 180_000);

  test.each(untilCommitPoints.map((point, at) => [point, at] as const))(
    '[A1.3] cancelled while a controller was killed at %s: undone before the commit, finished after it',
    async (point, at) => {
      const pair = one(pairs, at);
      const stages = isUndone(at) ? ['1 current'] : ['1 withdrawn', '2 current'];
      expect(mayBeUndone(point) ? ['CANCELLED', 'COMPLETED'] : ['COMPLETED']).toContain(one(outcomes, at));
      expect(await generationsOf(mesh, keyOf(pair, 'notes'))).toEqual(stages);
      expect([...pair.granted()]).toEqual([[stages.length, pair.held()]]);
      expect(await locksOf(mesh, keyOf(pair, 'notes'))).toBe(0);
      const { id } = rotationOf(pair, 'notes');
      expect(
        await mesh.ask(`select stage from mesh.acts where workflow_id = '${id}' order by started_at desc limit 1`),
      ).toEqual([{ stage: isUndone(at) ? 'abandoned' : 'closed' }]);
      expect(pair.faults).toEqual([]);
    },
  );

  test('[A1.3] what was cancelled is undone, and no node was sent anything by it', () => {
    const finished = outcomes.filter((outcome) => outcome === 'COMPLETED');
    expect(finished.length).toBeLessThan(outcomes.length);
    expect(sent).toBe(3 * finished.length);
  });
});

describe('undoing (A1.3), and pushing what is as declared (A7)', () => {
  const outcomes: string[] = [];
  const pushes: (PushResult & { readonly events: unknown })[] = [];
  let sent = 0;
  const pairAt = (at: number) => one(pairs, pairCount - 1 - at);

  beforeAll(async () => {
    const before = await bus.declarationsTaken();
    await mesh.killController();
    const idle: Awaited<ReturnType<ActingMesh['start']>>[] = [];
    const idlePushes = idlePushPoints.map((_, at) => nodesOf(one(ends, at)));
    for (const nodes of idlePushes)
      idle.push(await mesh.start('pushNodes', pushId(nodes, sha256Hex), { person: 'ada', nodes }));
    const handles: WorkflowHandle[] = [];
    for (const at of undoingPoints.keys()) {
      const { id, request } = rotationOf(pairAt(at), 'notes');
      handles.push(await mesh.start('rotateCredential', id, request));
    }
    // Nobody has begun them: the first that a controller learns of them is that they are cancelled.
    for (const handle of handles) await handle.cancel();
    const plan = new Map([
      ...undoingPoints.map((point, at) => [rotationOf(pairAt(at), 'notes').id, point] as const),
      ...idlePushPoints.map((point, at) => [pushId(one(idlePushes, at), sha256Hex), point] as const),
    ]);
    await killAndGoOn(plan, async () => undefined);
    for (const handle of handles) await handle.result().catch(() => undefined);
    for (const handle of handles) outcomes.push((await handle.describe()).status.name);
    for (const handle of idle) {
      const result = (await handle.result()) as PushResult;
      const events = await mesh.ask(
        `select kind from mesh.events where detail ->> 'act' = '${handle.firstExecutionRunId}' order by id`,
      );
      pushes.push({ ...result, events: events.map(({ kind }) => kind) });
    }
    sent = (await bus.declarationsTaken()) - before;
  }, 180_000);

  test.each(idlePushPoints.map((point, at) => [point, at] as const))(
    '[A1.2] [A7] [D7] killed at %s: it is recorded once, as begun and ended, and nothing is sent',
    (_, at) => {
      expect(one(pushes, at)).toMatchObject({ sent: 0, alreadySent: 2, applied: 2, failedCount: 0 });
      expect(one(pushes, at).events).toEqual(['act-started', 'act-closed']);
      expect(sent).toBe(0);
    },
  );

  test.each(undoingPoints.map((point, at) => [point, at] as const))(
    '[A1.3] killed at %s: it is undone',
    async (_, at) => {
      expect(one(outcomes, at)).toBe('CANCELLED');
      expect(await generationsOf(mesh, keyOf(pairAt(at), 'notes'))).toEqual(['1 current']);
      expect(await locksOf(mesh, keyOf(pairAt(at), 'notes'))).toBe(0);
      expect(pairAt(at).faults).toEqual([]);
    },
  );
});

describe.each([0, 1, 2])('rotating (A1), batch %i', (batch) => {
  const points = rotationPoints.slice(batch * pairCount, (batch + 1) * pairCount);
  rotating({ module: 'notes', points, messages: 3 });
});

describe('rotating without an overlap (A1)', () => {
  beforeAll(async () => {
    await Promise.all(pairs.map((pair) => pair.stop()));
    for (const each of ends) await declarePair(mesh, each, 'ledger');
    pairs = ends.map((each) => playPair(each, { module: 'ledger', overlaps: false }));
    await (await mesh.start('pushNodes', pushId(undefined, sha256Hex), { person: 'ada' })).result();
  }, 60_000);
  rotating({ module: 'ledger', points: abruptPoints, messages: 2 });
});

/** Rotates one credential a point, kills, and looks. `messages`: how many an act has to send. */
function rotating(of: { module: string; points: readonly string[]; messages: number }): void {
  const { module, points } = of;
  /** The generation of each before. */
  const from: number[] = [];
  const results: RotationResult[] = [];
  const handles: WorkflowHandle[] = [];
  let sent = 0;

  beforeAll(async () => {
    const before = await bus.declarationsTaken();
    for (const at of points.keys()) from.push((await generationsOf(mesh, keyOf(one(ends, at), module))).length);
    const acts = points.map((_, at) => rotationOf(one(ends, at), module));
    await killAndGoOn(new Map(points.map((point, at) => [one(acts, at).id, point])), async (killed) => {
      keepSilent(points, killed);
      for (const { id, request } of acts) handles.push(await mesh.start('rotateCredential', id, request));
    });
    for (const handle of handles) results.push((await handle.result()) as RotationResult);
    sent = (await bus.declarationsTaken()) - before;
  }, 180_000);

  test('[A1] nothing was sent twice', () => {
    expect(sent).toBe(of.messages * points.length);
  });

  test.each(points.map((point, at) => [point, at] as const))(
    '[A1.2] [S11] killed at %s: one new generation, on both ends, and a login worked at every moment',
    async (_, at) => {
      const pair = one(pairs, at);
      expect(one(results, at)).toMatchObject({ committed: true, credentials: 1, cutOff: [] });
      expect(await generationsOf(mesh, keyOf(pair, module))).toEqual([
        ...Array.from({ length: one(from, at) }, (__, g) => `${g + 1} withdrawn`),
        `${one(from, at) + 1} current`,
      ]);
      expect(pair.held()).toBeDefined();
      expect([...pair.granted()]).toEqual([[one(from, at) + 1, pair.held()]]);
      expect(await locksOf(mesh, keyOf(pair, module))).toBe(0);
      await isRecordedAsSent(pair);
      expect(pair.faults).toEqual([]);
      expect((await one(handles, at).describe()).status.name).toBe('COMPLETED');
    },
  );
}

test.each(reportPoints)('[A1.2] [D20] killed at %s: what the node said is recorded all the same', async (point) => {
  const { consumer } = one(ends, 0);
  await killAndGoOn(new Map([[consumer.node, point]]), () => consumer.report({ drift: [point] }));
  await consumer.report({ drift: [point] });
});

test('[A1.2] no step has a point that the table does not name', () => {
  const known = new Set([
    ...enrolPoints,
    ...pushPoints,
    ...idlePushPoints,
    ...rotationPoints,
    ...abruptPoints,
    ...undoingPoints,
    ...reportPoints,
  ]);
  expect([...passed].filter((point) => changesTheWorld(point) && !known.has(point))).toEqual([]);
});

async function isRecordedAsSent({ provider, consumer }: PlayedPair): Promise<void> {
  for (const node of [provider, consumer]) {
    const told = await node.told();
    expect(await mesh.ask(`select digest, number from mesh.sent_declarations where node = '${node.node}'`)).toEqual([
      { digest: told?.digest, number: String(told?.number) },
    ]);
  }
}
