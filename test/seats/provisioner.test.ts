/** The provisioner's process on a real mesh: its seat held once (P3), the registry compiled with differences alone (P6, P7), its verb (P14). */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeSeed } from '../../src/bus/seed.ts';
import { askVerb, isRefused } from '../../src/bus/verbs.ts';
import { provisionerSeat } from '../../src/bus/accounts.ts';
import { registryId, registryResult, type RegistryResult } from '../../src/domain/act/registry.ts';
import { buckets } from '../../src/domain/provisioning/values.ts';
import { provisioningVerb } from '../../src/seats/mesh-provisioner/verbs.ts';
import { meshOwnDomains } from '../../src/domain/provisioning/registry.ts';
import { partName, provisionName } from '../../src/domain/words/names.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { admitProgramVerb, consumersVerb, holdSeatVerb, secretVerb } from '../../src/seats/the-controller/verbs.ts';
import { accepted, join, module } from '../operations/world.ts';
import { until } from '../support/until.ts';
import {
  publish,
  putByHand,
  raiseProvisioningMesh,
  type Provisioner,
  type ProvisioningMesh,
} from './provisioning-mesh.ts';

let mesh: ProvisioningMesh;
let first: Provisioner;
const own = meshOwnDomains.flatMap(({ answers }) => answers).length;

beforeAll(async () => {
  mesh = await raiseProvisioningMesh();
  await mesh.startController();
  first = mesh.provisioner();
  await first.untilSays('the provisioner serves');
  await until(async () => (await mesh.bucket(buckets.registry)).size === own, {
    withinMs: 20_000,
    what: 'the registry',
  });
}, 120_000);
afterAll(() => mesh.close());

/** On demand, as the command asks for it. */
async function compile(): Promise<RegistryResult> {
  const result: unknown = await mesh.temporal.workflow.execute('compileRegistry', {
    taskQueue: 'provisioner',
    workflowId: registryId,
    args: [],
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
  return registryResult.parse(result);
}
const published = (name: string) =>
  until(async () => (await mesh.bucket(buckets.compositions)).has(name), {
    withinMs: 10_000,
    what: `${name} to be published`,
  });

/** One hour: the schedule's own run, and its end. */
async function anHour(): Promise<void> {
  const schedule = mesh.temporal.schedule.getHandle(registryId);
  const before = (await schedule.describe()).info.numActionsTaken;
  // Its runs are named by the second: two hours are never within one.
  const second = Math.floor(Date.now() / 1_000);
  await until(async () => Math.floor(Date.now() / 1_000) > second, { withinMs: 2_000, what: 'the next second' });
  await schedule.trigger();
  await until(
    async () => {
      const { info } = await schedule.describe();
      return info.numActionsTaken > before && info.runningActions.length === 0;
    },
    { withinMs: 20_000, what: 'the hour to be over' },
  );
}

test('[P6] compiled at its start: every kind of the mesh’s own is answered, by a schedule that the UI shows', async () => {
  const registry = await mesh.bucket(buckets.registry);
  expect(registry.get('secret')).toEqual({
    module: 'mesh-controller',
    answer: { seat: 'the-controller', verb: 'secret' },
  });
  expect(registry.get('collected')).toMatchObject({ module: 'mesh-provisioner' });
  const { spec, policies, action } = await mesh.temporal.schedule.getHandle(registryId).describe();
  expect(spec.intervals).toMatchObject([{ every: 3_600_000 }]);
  expect(policies).toMatchObject({ overlap: 'SKIP', catchupWindow: 3_600_000 });
  expect(action).toMatchObject({ workflowType: 'compileRegistry', taskQueue: 'provisioner' });
});

test('[P6] two hours with nothing changed write nothing: no bucket’s revision moves', async () => {
  const all = async () => Promise.all(Object.values(buckets).map((bucket) => mesh.revisions(bucket)));
  const before = await all();
  await anHour();
  await anHour();
  expect(await all()).toEqual(before);
  expect(await compile()).toEqual({ kinds: own, written: 0, deleted: 0, refused: [], refusedCount: 0, unreadable: [] });
});

test('[P6] a domain that is added is one key written; one that goes is one deleted', async () => {
  await publish(mesh, { module: 'almanac', answers: [{ kind: 'weather', verb: 'the-almanac.weather' }] });
  await published('almanac');
  const before = await mesh.revisions(buckets.registry);
  expect(await compile()).toMatchObject({ kinds: own + 1, written: 1, deleted: 0 });
  const after = await mesh.revisions(buckets.registry);
  expect(after).toEqual({ ...before, last: (before['last'] ?? 0) + 1, weather: (before['last'] ?? 0) + 1 });
  await publish(mesh, { module: 'almanac', version: '2.0.0' });
  await until(async () => JSON.stringify((await mesh.bucket(buckets.compositions)).get('almanac')).includes('2.0.0'), {
    withinMs: 10_000,
    what: 'the other version',
  });
  expect(await compile()).toMatchObject({ kinds: own, written: 0, deleted: 1 });
  expect(await mesh.revisions(buckets.registry)).toMatchObject({ last: (after['last'] ?? 0) + 1 });
  expect((await mesh.bucket(buckets.registry)).has('weather')).toBe(false);
});

test('[P7] two modules that answer one kind are refused, naming both; the present entry stays', async () => {
  await publish(mesh, {
    module: 'almanac',
    version: '3.0.0',
    answers: [{ kind: 'weather', verb: 'the-almanac.weather' }],
  });
  await until(async () => JSON.stringify((await mesh.bucket(buckets.compositions)).get('almanac')).includes('3.0.0'), {
    withinMs: 10_000,
    what: 'the third version',
  });
  await compile();
  await publish(mesh, { module: 'forecast', answers: [{ kind: 'weather', verb: 'the-forecast.weather' }] });
  await published('forecast');
  const result = await compile();
  expect(result).toMatchObject({ written: 0, deleted: 0, refusedCount: 1 });
  expect(result.refused[0]?.what).toContain('almanac and by forecast');
  expect((await mesh.bucket(buckets.registry)).get('weather')).toMatchObject({ module: 'almanac' });
});

test('[P14] the verb answers what the buckets say; a key out of shape is said, and a bad question names its field', async () => {
  const answer = await mesh.ask(provisioningVerb, {});
  if (isRefused(answer)) throw new Error(answer.refused.what);
  expect(answer.what).toBe('registry');
  expect(answer.entries.map(({ key }) => key)).toEqual([...(await mesh.bucket(buckets.registry)).keys()].toSorted());
  await putByHand(
    mesh,
    buckets.needs,
    'alpha.web.config.title',
    '{"files":["/a"],"placeholders":["${config:title}"],"met":true}',
  );
  await putByHand(mesh, buckets.needs, 'alpha.web', '{}');
  await putByHand(mesh, buckets.needs, 'beta.web.config.title', '{"files":[]}');
  expect(await mesh.ask(provisioningVerb, { what: 'needs', node: 'alpha' })).toEqual({
    what: 'needs',
    entries: [
      {
        key: 'alpha.web.config.title',
        parts: { node: 'alpha', module: 'web', kind: 'config', name: 'title' },
        value: { files: ['/a'], placeholders: ['${config:title}'], met: true },
      },
    ],
    faults: [
      { key: 'alpha.web', says: expect.stringContaining('<node>.<module>.<kind>.<name>') },
      { key: 'beta.web.config.title', says: expect.any(String) },
    ],
  });
  await putByHand(mesh, buckets.collect, 'alpha.shell=3Azsh.notes=3Aweb', '{"item":"x"}');
  expect(await mesh.ask(provisioningVerb, { what: 'collect', collection: 'shell:zsh', module: 'notes' })).toMatchObject(
    {
      entries: [{ parts: { node: 'alpha', collection: 'shell:zsh', contributor: 'notes:web' } }],
    },
  );
  const byHand = await mesh.ask(
    { ...provisioningVerb, request: provisioningVerb.answer.partial().loose() },
    { what: 'registry', node: 'alpha' },
  );
  expect(byHand).toMatchObject({ refused: { kind: 'bad-request', field: 'node' } });
});

test('[P5] a secret is told to the node it is of and to no other, as the blob that is kept; nothing of it is in a bucket', async () => {
  const [alpha, beta] = [await join(mesh.world, 'alpha'), await join(mesh.world, 'beta')];
  await publish(mesh, {
    module: 'postgres',
    listens: { sql: 5432 },
    provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/var/lib/grants' }],
  });
  await publish(mesh, {
    module: 'notes',
    requires: ['postgres-database'],
    secrets: { 'postgres-database': { file: '/etc/notes/db.json', as: 'json' } },
    holds: { cookie: '/etc/notes/cookie' },
  });
  accepted(await assign(mesh.world.store, 'ada', { node: beta, module: module('postgres') }));
  accepted(await assign(mesh.world.store, 'ada', { node: alpha, module: module('notes') }));
  await mesh.world.ask(`
    insert into mesh.pair_secrets (provision, provider_node, provider_module, consumer_node, consumer_module, generation, stage, origin,
        consumer_blob, consumer_fingerprint, provider_blob, provider_fingerprint)
      values ('postgres-database', 'beta', 'postgres', 'alpha', 'notes', 1, 'leaving', 'made', 'old', 'a', 'old', 'b'),
             ('postgres-database', 'beta', 'postgres', 'alpha', 'notes', 2, 'current', 'made', 'to alpha', 'a', 'to beta', 'b');
    insert into mesh.own_secrets (node, module, name, origin, node_blob, node_fingerprint) values ('alpha', 'notes', 'cookie', 'made', 'own of alpha', 'a')`);
  const [of, ofBeta] = [await mesh.client(alpha), await mesh.client(beta)];
  const database = { module: module('notes'), name: partName.parse('postgres-database') };
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  expect(await askVerb(of, secretVerb, database)).toEqual({
    generation: 2,
    login: 'alpha.notes_b',
    sealed: base64('to alpha'),
    fingerprint: 'a',
  });
  expect(await askVerb(of, secretVerb, { ...database, name: partName.parse('cookie') })).toEqual({
    generation: 1,
    sealed: base64('own of alpha'),
    fingerprint: 'a',
  });
  for (const name of ['postgres-database', 'cookie'])
    expect(await askVerb(ofBeta, secretVerb, { ...database, name: partName.parse(name) })).toMatchObject({
      refused: { kind: 'not-found' },
    });
  expect(await mesh.ask(secretVerb, database)).toMatchObject({ refused: { kind: 'refused' } });
  const provision = provisionName.parse('postgres-database');
  const asked = await askVerb(ofBeta, consumersVerb, { module: module('postgres'), provision });
  if (isRefused(asked)) throw new Error(asked.refused.what);
  expect(
    asked.consumers.map(({ node, generation, stage, login, sealed }) => [node, generation, stage, login, sealed]),
  ).toEqual([
    ['alpha', 1, 'leaving', 'alpha.notes_a', base64('old')],
    ['alpha', 2, 'current', 'alpha.notes_b', base64('to beta')],
  ]);
  expect(await askVerb(of, consumersVerb, { module: module('postgres'), provision })).toEqual({ consumers: [] });
  // A client cannot hold a seat, and a provider's program gets its account on its own node alone.
  const holder = { module: module('notes'), node: 'alpha', process: '1' };
  expect(await askVerb(of, holdSeatVerb, { ...holder, leaseMs: 1_000 })).toMatchObject({
    refused: { kind: 'refused' },
  });
  const userKey = makeSeed('user').publicKey;
  expect(await askVerb(of, admitProgramVerb, { module: module('postgres'), userKey })).toMatchObject({
    refused: { kind: 'not-found' },
  });
  const program = await askVerb(ofBeta, admitProgramVerb, { module: module('postgres'), userKey });
  expect(program).toEqual({ userJwt: expect.any(String), servers: [mesh.foundation.nats.url] });
  expect(await askVerb(ofBeta, admitProgramVerb, { module: module('postgres'), userKey })).toEqual(program);
});

test('[P3] a standby waits and takes over when the holder is gone (SIGKILL); a second module is refused, naming the holder', async () => {
  const second = mesh.provisioner();
  await second.untilSays('"state":"waits"');
  const stranger = mesh.provisioner({ module: 'other-provisioner' });
  await stranger.untilSays('seat-held');
  expect(stranger.said()).toContain('held by mesh-provisioner on controller');
  const [held] = await mesh.world.ask(`select process from mesh.seat_leases where seat = '${provisionerSeat}'`);
  expect(held?.['process']).toMatch(new RegExp(`^${first.process.pid}/`));
  await first.kill();
  const killedAt = performance.now();
  await second.untilSays('the provisioner serves');
  // Its lease has 1.5 s, asked for again every half second, and the process starts its worker.
  expect(performance.now() - killedAt).toBeLessThan(8_000);
  expect(await compile()).toMatchObject({ written: 0, deleted: 0 });
  expect(isRefused(await mesh.ask(provisioningVerb, {}))).toBe(false);
  // One that ends in good order leaves the seat at once.
  await second.end();
  expect(await mesh.world.ask('select from mesh.seat_leases')).toEqual([]);
  await expect(mesh.ask(provisioningVerb, {})).rejects.toMatchObject({ reason: 'nobody' });
});

test('[C87] hours that come while nobody works are one run when somebody does: what piled up does not start all at once', async () => {
  const schedule = mesh.temporal.schedule.getHandle(registryId);
  const before = (await schedule.describe()).info;
  // Hours of a second; all else is as the provisioner made it.
  await schedule.update(({ action, policies, state }) => ({
    action,
    policies,
    state,
    spec: { intervals: [{ every: '1s' }] },
  }));
  const counted = async () => {
    const { info } = await schedule.describe();
    return {
      taken: info.numActionsTaken - before.numActionsTaken,
      skipped: info.numActionsSkippedOverlap - before.numActionsSkippedOverlap,
      running: info.runningActions.length,
    };
  };
  await until(async () => (await counted()).skipped >= 2, { withinMs: 20_000, what: 'two hours to be left out' });
  expect(await counted()).toMatchObject({ taken: 1, running: 1 });
  const third = mesh.provisioner();
  await third.untilSays('the provisioner serves');
  await until(async () => (await counted()).running === 0, { withinMs: 20_000, what: 'the one run to end' });
  // Whoever takes the schedule up brings it back to its shape, and says what was left out.
  expect((await schedule.describe()).spec.intervals).toMatchObject([{ every: 3_600_000 }]);
  expect(third.said()).toMatch(/"skipped":[2-9]/);
  expect((await counted()).taken).toBeLessThanOrEqual(2);
});
