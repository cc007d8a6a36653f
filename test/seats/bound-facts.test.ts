/** Bindings' facts under a real controller: a program gets its account by its node's client, writes what is its own, and what is of no binding goes (P2). */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openBucket } from '../../src/bus/buckets.ts';
import { connectBus, type BusConnection } from '../../src/bus/connection.ts';
import { boundBucket } from '../../src/domain/provisioning/values.ts';
import type { NodeName } from '../../src/domain/words/names.ts';
import { readAccess } from '../../src/granters/program-access.ts';
import { admitPrograms } from '../../src/host/provisioning/programs.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { unassign } from '../../src/operations/intent/unassign.ts';
import { declarationOf } from '../host/program-bus.ts';
import { accepted, add, join, module } from '../operations/world.ts';
import { until } from '../support/until.ts';
import { publish, putByHand, raiseProvisioningMesh, type ProvisioningMesh } from './provisioning-mesh.ts';

const bucket = boundBucket('postgres');
const notes = {
  module: 'notes',
  requires: ['postgres-database'],
  secrets: { 'postgres-database': { file: '/etc/notes/db.json', as: 'json' } },
};
let mesh: ProvisioningMesh;
let root: string;
let [alpha, beta]: [NodeName?, NodeName?] = [];
const programs: BusConnection[] = [];

const facts = (of: string): string => JSON.stringify({ host: '127.0.0.1', port: 20_000, database: of, owner: of });
const [ofAlpha, ofBeta] = ['alpha.notes.postgres-database', 'beta.notes.postgres-database'];
const keys = async (): Promise<readonly string[]> => [...(await mesh.bucket(bucket)).keys()].toSorted();
const areLeft = (left: readonly string[], what: string): Promise<void> =>
  until(async () => JSON.stringify(await keys()) === JSON.stringify(left), { withinMs: 15_000, what });
const on = (node: NodeName | undefined, name: string) => {
  if (node === undefined) throw new Error('the node has not joined');
  return { node, module: module(name) };
};
const assigned = async (node: NodeName | undefined, name: string): Promise<void> =>
  void accepted(await assign(mesh.world.store, 'ada', on(node, name)));
const unassigned = async (node: NodeName | undefined, name: string): Promise<void> =>
  void accepted(await unassign(mesh.world.store, 'ada', on(node, name)));

beforeAll(async () => {
  mesh = await raiseProvisioningMesh();
  root = await mkdtemp(path.join(tmpdir(), 'mesh-bound-'));
  [alpha, beta] = [await join(mesh.world, 'alpha'), await join(mesh.world, 'beta')];
  await add(mesh.world, {
    module: 'postgres',
    listens: { sql: 5432 },
    provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/grants' }],
  });
  await add(mesh.world, notes);
  await assigned(alpha, 'postgres');
  for (const node of [alpha, beta]) await assigned(node, 'notes');
  await mesh.startController();
  await until(async () => (await keys().catch(() => undefined)) !== undefined, {
    withinMs: 20_000,
    what: 'the bucket of the facts',
  });
}, 120_000);
afterAll(async () => {
  await Promise.all(programs.map((one) => one.close()));
  await mesh.close();
  await rm(root, { recursive: true });
});

async function program(): Promise<BusConnection> {
  const declaration = declarationOf({ module: 'postgres', directory: '/grants', grants: [] });
  if (alpha === undefined) throw new Error('the node has not joined');
  expect(await admitPrograms(await mesh.client(alpha), declaration, root, new Map())).toEqual([]);
  const connection = await connectBus(await readAccess(path.join(root, 'grants.program')));
  programs.push(connection);
  return connection;
}

test('[P2] the program of a provider writes the facts of its own consumers, and those of a binding that ends go with its right to them', async () => {
  const own = await openBucket(await program(), bucket);
  await own.put(ofAlpha, facts('alpha.notes'));
  await own.put(ofBeta, facts('beta.notes'));
  await expect(own.put('gamma.notes.postgres-database', facts('gamma.notes'))).rejects.toMatchObject({
    reason: 'nobody',
  });
  await unassigned(beta, 'notes');
  await areLeft([ofAlpha], 'the facts of the consumer that is gone to go');
  await expect(own.put(ofBeta, facts('beta.notes'))).rejects.toMatchObject({ reason: 'nobody' });
  // Bound again, it is told again, by the same account.
  await assigned(beta, 'notes');
  await until(
    async () =>
      own.put(ofBeta, facts('beta.notes')).then(
        () => true,
        () => false,
      ),
    {
      withinMs: 15_000,
      what: 'the right to the key of a new consumer',
    },
  );
  expect(await keys()).toEqual([ofAlpha, ofBeta]);
});

test('[P2] what is of no binding is gone after the next start of the controller, and what is of one is as it was', async () => {
  await mesh.stopController();
  await putByHand(mesh, bucket, 'gamma.notes.postgres-database', facts('gamma.notes'));
  await putByHand(mesh, bucket, 'alpha.notes.postgres-database.reports', facts('alpha.notes.reports'));
  const { 'alpha.notes.postgres-database': before } = await mesh.revisions(bucket);
  await mesh.startController();
  await areLeft([ofAlpha, ofBeta], 'what is of no binding to go');
  expect((await mesh.revisions(bucket))[ofAlpha]).toBe(before);
});

test('[D5] what is there of a node that cannot be resolved stays until it can', async () => {
  const [old, foreign] = ['beta.notes.postgres-database.old', 'gamma.notes.postgres-database'];
  for (const key of [old, foreign]) await putByHand(mesh, bucket, key, facts('somebody'));
  await publish(mesh, { ...notes, version: '2.0.0', requires: ['postgres-database', 'what-nobody-has'] });
  await areLeft([ofAlpha, ofBeta, old], 'only what is of no node to go');
  await publish(mesh, { ...notes, version: '3.0.0' });
  await areLeft([ofAlpha, ofBeta], 'what is of no binding to go');
});

test('[P2] a provider that goes loses its account, and all its facts go', async () => {
  const own = await openBucket(await program(), bucket);
  for (const node of [alpha, beta]) await unassigned(node, 'notes');
  await unassigned(alpha, 'postgres');
  await areLeft([], 'all facts to go');
  await until(
    async () =>
      own.put(ofAlpha, facts('alpha.notes')).then(
        () => false,
        () => true,
      ),
    {
      withinMs: 15_000,
      what: 'the account to be taken',
    },
  );
});
