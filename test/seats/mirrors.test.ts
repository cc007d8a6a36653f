/** The controller's mirrors on a real store and a real bus: exact, by event, and made right again where they are not. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { clientAccount } from '../../src/bus/accounts.ts';
import { prepareAccount, pushAccount } from '../../src/bus/claims.ts';
import { connectBus } from '../../src/bus/connection.ts';
import { onChanged } from '../../src/bus/declarations.ts';
import { openBucket } from '../../src/bus/buckets.ts';
import { makeSeed } from '../../src/bus/seed.ts';
import { buckets } from '../../src/domain/provisioning/values.ts';
import { partName, type NodeName } from '../../src/domain/words/names.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { unassign } from '../../src/operations/intent/unassign.ts';
import { setSetting } from '../../src/operations/intent/set-setting.ts';
import { accepted, add, join, module } from '../operations/world.ts';
import { until } from '../support/until.ts';
import { publish, putByHand, raiseProvisioningMesh, type ProvisioningMesh } from './provisioning-mesh.ts';

let mesh: ProvisioningMesh;
let alpha: NodeName;
const mirrors = [buckets.assignments, buckets.settings, buckets.compositions];
beforeAll(async () => {
  mesh = await raiseProvisioningMesh();
  await mesh.startController();
  alpha = await join(mesh.world, 'alpha');
  await join(mesh.world, 'beta');
  await add(mesh.world, {
    module: 'web',
    listens: { http: 80 },
    settings: { title: { default: 'Hello' }, size: { default: 3 } },
  });
  await add(mesh.world, { module: 'shop', settings: { title: { default: 'Shop' } } });
  for (const name of ['web', 'shop'])
    accepted(await assign(mesh.world.store, 'ada', { node: alpha, module: module(name) }));
  await isRelayed();
}, 120_000);
afterAll(() => mesh.close());

/** Until every event has been relayed: what the store says is in the mirrors. */
async function isRelayed(): Promise<void> {
  await until(async () => (await mesh.world.ask('select from mesh.events where relayed_at is null')).length === 0, {
    withinMs: 20_000,
    what: 'all events to be relayed',
  });
}
const rebuilt = async (): Promise<readonly unknown[]> =>
  (await mesh.world.ask(`select about, detail from mesh.events where kind = 'mirror-rebuilt' order by id`)).map(
    (row) => row,
  );
const allRevisions = async () => Promise.all(mirrors.map((bucket) => mesh.revisions(bucket)));
const set = async (name: string, value: unknown): Promise<void> => {
  accepted(
    await setSetting(mesh.world.store, 'ada', {
      node: alpha,
      module: module('web'),
      name: partName.parse(name),
      value,
    }),
  );
};

test('what the store says is in the mirrors: the index names every key, and nothing else is there', async () => {
  const [assignments, settings, compositions] = await Promise.all(mirrors.map((bucket) => mesh.bucket(bucket)));
  expect([...(assignments ?? [])].map(([key]) => key).toSorted()).toEqual(['alpha', 'alpha.shop', 'alpha.web', 'beta']);
  expect(assignments?.get('alpha')).toMatchObject({
    modules: { web: { version: '1.0.0', settings: ['size', 'title'] }, shop: {} },
  });
  expect(assignments?.get('alpha.web')).toMatchObject({ version: '1.0.0', ports: { http: expect.any(Number) } });
  expect(Object.fromEntries(settings ?? [])).toEqual({
    'alpha.shop.title': 'Shop',
    'alpha.web.size': 3,
    'alpha.web.title': 'Hello',
  });
  expect([...(compositions?.keys() ?? [])].toSorted()).toEqual(['shop', 'web']);
  expect(await rebuilt()).toEqual([]);
});

test('a setting moves one key, and its node is told which', async () => {
  const seed = makeSeed('user');
  const shape = clientAccount(alpha, { meshAccount: mesh.keys.bus.accounts.mesh });
  const prepared = await prepareAccount(mesh.keys.bus, shape, { userKey: seed.publicKey });
  await pushAccount(mesh.system, mesh.keys.bus, { accountKey: prepared.accountKey, shape });
  const credential = { jwt: prepared.userJwt, seed, inbox: shape.inbox };
  const client = await connectBus({ servers: [mesh.foundation.nats.url], name: 'alpha', credential });
  const told: string[] = [];
  onChanged(client, alpha, (keys) => void told.push(...keys));
  await client.nats.flush();
  const before = await allRevisions();
  await set('title', 'Good day');
  await until(async () => told.length > 0, { withinMs: 10_000, what: 'alpha to be told' });
  await isRelayed();
  const after = await allRevisions();
  expect(told).toEqual([`${buckets.settings}/alpha.web.title`]);
  const title = after[1]?.['alpha.web.title'];
  expect(after).toEqual([before[0], { ...before[1], last: title, 'alpha.web.title': title }, before[2]]);
  expect((await mesh.bucket(buckets.settings)).get('alpha.web.title')).toBe('Good day');
  await client.close();
});

test('[P6] [P11] what changes nothing writes nothing: no revision moves', async () => {
  const before = await allRevisions();
  await set('title', 'Good day');
  await isRelayed();
  expect(await allRevisions()).toEqual(before);
});

test('a version that waits for its build is not published, and its plan says so; once built it is', async () => {
  await publish(mesh, {
    module: 'shop',
    version: '2.0.0',
    settings: { title: { default: 'Shop' } },
    builds: { image: { recipe: 'Dockerfile' } },
  });
  await isRelayed();
  expect([...(await mesh.bucket(buckets.compositions)).keys()]).toEqual(['web']);
  expect((await mesh.bucket(buckets.assignments)).get('alpha.shop')).toMatchObject({
    version: '1.0.0',
    build: { version: '2.0.0', waitsFor: ['image'] },
  });
  expect((await mesh.bucket(buckets.assignments)).get('alpha.web')).not.toHaveProperty('build');
  const build = { module: module('shop'), version: '2.0.0', artifact: partName.parse('image'), digest: 'sha256:1' };
  await mesh.world.store.write('ada', async (tx) => {
    await tx.insertBuild(build);
    await tx.event({ kind: 'built', about: 'shop' });
  });
  await isRelayed();
  expect((await mesh.bucket(buckets.compositions)).get('shop')).toMatchObject({ version: '2.0.0' });
});

test('[C76] a key that was deleted, one that was changed, one too many and a bucket that is gone are made right, and it is said', async () => {
  const whole = await Promise.all(mirrors.map((bucket) => mesh.bucket(bucket)));
  const isRight = (what: string) =>
    until(
      async () => {
        const now = await Promise.all(mirrors.map((bucket) => mesh.bucket(bucket).catch(() => undefined)));
        return JSON.stringify(now.map(sorted)) === JSON.stringify(whole.map(sorted));
      },
      { withinMs: 20_000, what },
    );
  await (await openBucket(mesh.mesh, buckets.settings)).delete('alpha.web.size');
  await isRight('the deleted key');
  await putByHand(mesh, buckets.compositions, 'web', '{"version":"9"}');
  await isRight('the changed key');
  await putByHand(mesh, buckets.assignments, 'gamma', '{"modules":{}}');
  await isRight('the key too many');
  const manager = await mesh.mesh.nats.jetstreamManager({ checkAPI: false });
  await manager.streams.delete(`KV_${buckets.assignments}`);
  await isRight('the bucket');
  await until(async () => (await rebuilt()).length === 4, { withinMs: 10_000, what: 'all four to be said' });
  expect(await rebuilt()).toEqual([
    { about: buckets.settings, detail: { bucket: buckets.settings, written: 1, deleted: 0 } },
    { about: buckets.compositions, detail: { bucket: buckets.compositions, written: 1, deleted: 0 } },
    { about: buckets.assignments, detail: { bucket: buckets.assignments, written: 0, deleted: 1 } },
    { about: buckets.assignments, detail: { bucket: buckets.assignments, written: 4, deleted: 0 } },
  ]);
});
const sorted = (of: ReadonlyMap<string, unknown> | undefined) =>
  [...(of ?? [])].toSorted(([a], [b]) => (a < b ? -1 : 1));

test('what fell behind while no controller ran is made right at its start, and it is said', async () => {
  const count = (await rebuilt()).length;
  await mesh.stopController();
  await set('size', 9);
  accepted(await unassign(mesh.world.store, 'ada', { node: alpha, module: module('shop') }));
  await mesh.startController();
  await isRelayed();
  expect((await mesh.bucket(buckets.settings)).get('alpha.web.size')).toBe(9);
  expect([...(await mesh.bucket(buckets.assignments)).keys()].toSorted()).toEqual(['alpha', 'alpha.web', 'beta']);
  expect((await mesh.bucket(buckets.assignments)).get('alpha')).not.toHaveProperty('modules.shop');
  expect((await rebuilt()).slice(count).map((one) => one)).toMatchObject([
    { about: buckets.assignments },
    { about: buckets.settings },
  ]);
});
