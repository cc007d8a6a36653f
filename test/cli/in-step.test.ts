/** [C50] What a person is told of a node: a part of it that cannot be opened, and one that has not been heard of for two hours. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { lookOn } from '../../cli/render/look.ts';
import { drawStatus } from '../../cli/render/status.ts';
import { drawStatusChanges } from '../../cli/render/status-changes.ts';
import { compose } from '../../src/domain/declaration/compose.ts';
import { resolve } from '../../src/domain/resolution/resolve.ts';
import { partName } from '../../src/domain/words/names.ts';
import { openLedger } from '../../src/host/ledger.ts';
import { ProvisionerClient } from '../../src/host/provisioning/client.ts';
import { Reconciler } from '../../src/host/pass.ts';
import { composeReport } from '../../src/host/report.ts';
import type { NodeFile } from '../../src/host/state.ts';
import { credentialRecords } from '../../src/operations/act/credential-records.ts';
import { declarationRecords } from '../../src/operations/act/declaration-records.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { status, type Status } from '../../src/operations/plan/status.ts';
import { recordReport } from '../../src/operations/report/record-report.ts';
import { why } from '../../src/operations/why/why.ts';
import { makeSealingKey, seal } from '../../src/sealing/box.ts';
import { signEnvelope } from '../../src/sealing/envelope.ts';
import { Plaintext } from '../../src/sealing/plaintext.ts';
import { anvil, makeNode, quiet, type TestNode } from '../host/node.ts';
import { accepted, add, begin, hash, join, module, raiseWorlds, type World, type Worlds } from '../operations/world.ts';

const expected = z
  .record(z.string(), z.string())
  .parse(
    JSON.parse(
      readFileSync(new URL('../cases/C50-synced-although-parts-are-missing/expected.json', import.meta.url), 'utf8'),
    ),
  );
const clock = Date.parse('2026-05-01T12:00:00Z');
const [minute, hour] = [60_000, 3_600_000];

let worlds: Worlds;
let world: World;
let node: TestNode;
let host: Reconciler;
let sequence = 10;
beforeAll(async () => {
  worlds = await raiseWorlds();
  world = await worlds.make();
  node = await makeNode();
  await join(world, anvil, [], node.keys.sealing);
  await add(world, {
    module: 'x',
    holds: { a: { file: '/etc/x/a' }, b: { file: '/etc/x/b' }, c: { file: '/etc/x/c' } },
    resources: [{ kind: 'process', name: 'a', command: ['sh', '-c', 'exec sleep 1000'] }],
  });
  accepted(await assign(world.store, 'ada', { node: anvil, module: module('x') }));
  host = await hostOf(node);
});
afterAll(async () => {
  await node.remove();
  await worlds.close();
});

async function hostOf({ root, stateDir, keys, supervisor, declarationKey }: TestNode): Promise<Reconciler> {
  const file: NodeFile = {
    schema: 'mesh.host-node',
    version: 1,
    name: anvil,
    address: '127.0.0.1',
    servers: ['nats://127.0.0.1:1'],
    verifyKey: declarationKey.publicKey,
    userJwt: 'jwt',
  };
  const surroundings = { root, bin: '/', nodeFolder: '/' };
  const client = new ProvisionerClient({ node: file, stateDir, root, sealingKey: keys.sealing, say: quiet });
  const applying = { ledger: await openLedger(stateDir), supervisor, sealingKey: keys.sealing, surroundings, client };
  return new Reconciler({ stateDir, node: file, with: applying, say: quiet });
}

/** Makes the three parts, the second sealed to `key` while it is said to be the node's. */
async function makeParts(key: { readonly publicKey: string }): Promise<void> {
  const { publicKey, fingerprint } = node.keys.sealing;
  const own = ['a', 'b', 'c'].map((name) => ({
    key: { node: anvil, module: module('x'), name: partName.parse(name) },
    node: { ...seal(new Plaintext(`value of ${name}`), name === 'b' ? key.publicKey : publicKey), fingerprint },
  }));
  await world.ask('delete from mesh.own_secrets');
  await credentialRecords(world.store).keep(await begin(world, `act-${(sequence += 1)}`), [], own);
}

/** Sends what the node should be, has its host make one pass over it, and takes its report. */
async function push(): Promise<void> {
  const records = declarationRecords(world.store);
  const { number, inventory } = await records.numbered();
  const composed = compose({ inventory, resolution: resolve(inventory), node: anvil, hash });
  if (composed.kind !== 'composed') throw new Error(JSON.stringify(composed.refusals));
  const { digest, text } = composed;
  const envelope = await signEnvelope({ node: anvil, number, text, key: node.declarationKey });
  await records.recordSent({ node: anvil, digest, number, streamSequence: number, resources: new Map() });
  await report({ kind: 'came', envelope });
}
async function report(fetched: Parameters<Reconciler['pass']>[0]): Promise<void> {
  sequence += 1;
  const said = composeReport(await host.pass(fetched, []), {
    node: anvil,
    boot: 1,
    sequence,
    intervalMs: minute,
    capabilities: [],
    granters: [],
    stampedAt: '2026-01-01T00:00:00Z',
  });
  expect(await recordReport(world.store, said, clock)).toMatchObject({ kind: 'recorded' });
}
const see = (now: number): Promise<Status> => status(world.store, hash, now);
const draw = (seen: Status, now: number, isTTY = true): string =>
  drawStatus({ ...seen, temporalUi: 'http://127.0.0.1:1' }, lookOn({ isTTY, columns: 200 }, {}, true, now));

test('[C50] [D12] [D23] a part sealed to another key: not in step, which part and which key are said, and nothing is started', async () => {
  expect(expected['2']).toBe('not in step: x/B, key id; a is not started (or keeps its last good revision)');
  await makeParts(makeSealingKey());
  await push();
  const seen = await see(clock);
  expect(seen).toMatchObject({
    needsAttention: true,
    nodes: [
      {
        concern: 'broken',
        told: 'same',
        report: 'current',
        outcome: 'refused',
        lastReport: { applied: 0, refusal: { kind: 'cannot-open', detail: expect.stringContaining('/etc/x/b') } },
      },
    ],
  });
  expect(seen.nodes[0]?.lastReport?.refusal?.detail).toContain(
    `the sealed blob does not open with the key ${node.keys.sealing.fingerprint}`,
  );
  expect(draw(seen, clock)).toContain('/etc/x/b: the sealed blob does not open with the key x25519:');
  expect(node.supervisor.pidOf('x.a')).toBeUndefined();
  await expect(node.read('/etc/x/a')).rejects.toThrow('ENOENT');
});

test('[C50] [D23] the part is there: in step, and it is started', async () => {
  expect(expected['4']).toBe('in step');
  await makeParts(node.keys.sealing);
  await push();
  const seen = await see(clock);
  expect(seen).toMatchObject({
    needsAttention: false,
    nodes: [{ concern: 'well', told: 'same', report: 'current', outcome: 'applied', hearing: 'heard' }],
  });
  expect(seen.nodes[0]).not.toHaveProperty('unreachable');
  expect(draw(seen, clock)).toContain('All is well.');
  expect(node.supervisor.pidOf('x.a')).toBeDefined();
  expect(await node.read('/etc/x/b')).toBe('value of b');
});

test('[C50] [D21] away for two hours: when it was last confirmed, and since when it is not reachable', async () => {
  expect(expected['6']).toBe('last confirmed two hours ago; provider not reachable since');
  const [before, now] = [await see(clock), clock + 2 * hour];
  const seen = await see(now);
  expect(seen).toMatchObject({
    needsAttention: true,
    nodes: [
      {
        concern: 'not answering',
        hearing: 'quiet',
        outcome: 'applied',
        lastReport: { at: '2026-05-01T12:00:00.000Z' },
        unreachable: { since: '2026-05-01T12:01:00.000Z' },
      },
    ],
  });
  expect(draw(seen, now)).toContain('last confirmed 2h ago; not reachable since 1h ago');
  expect(draw(seen, now, false)).toContain(
    'last confirmed 2026-05-01T12:00:00.000Z; not reachable since 2026-05-01T12:01:00.000Z',
  );
  const changes = drawStatusChanges(before, seen, lookOn({ isTTY: false }, {}, true, now));
  expect(changes).toContain('quiet, not reachable since 2026-05-01T12:01:00.000Z');
});

test('[C76] [D23] the bus lost what was sent: it goes on, is not called well, and the command for it is named', async () => {
  await report({ kind: 'none' });
  await report({ kind: 'none' });
  const seen = await see(clock);
  expect(seen).toMatchObject({
    needsAttention: true,
    nodes: [
      {
        concern: 'out of date',
        told: 'same',
        report: 'current',
        outcome: 'applied',
        lastReport: { declarationGone: true },
      },
    ],
  });
  expect(draw(seen, clock)).toContain(
    'the bus holds no declaration for it although one was sent; it goes on with that\n    mesh push',
  );
  expect(node.supervisor.pidOf('x.a')).toBeDefined();
  expect(await why(world.store, hash, clock, 'anvil')).toMatchObject({ next: ['mesh push anvil'] });
  // Told once, however often it is reported.
  expect(await world.ask(`select about from mesh.events where kind = 'declaration-gone'`)).toEqual([
    { about: 'anvil' },
  ]);
  await push();
  expect(await see(clock)).toMatchObject({ needsAttention: false, nodes: [{ concern: 'well' }] });
});
