/** The granter of Postgres tells its consumers' facts on the bus (P2): a real program on real servers, with the account that a host got for it. */
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { lastChange, openBucket, readBucket } from '../../src/bus/buckets.ts';
import { bound, boundBucket, type Bound } from '../../src/domain/provisioning/values.ts';
import { admitPrograms } from '../../src/host/provisioning/programs.ts';
import { declarationOf, startProgramBus, type ProgramBus } from '../host/program-bus.ts';
import { raiseForTests, type TestServers } from '../support/foundation.ts';
import { until } from '../support/until.ts';
import {
  ask,
  grantDirectory,
  grantOf,
  newPassword,
  startGranter,
  type GrantDirectory,
  type RunningGranter,
} from './granting.ts';

const bucket = boundBucket('postgres');
const at = { host: '127.0.0.9', port: 20_000 };
let servers: TestServers;
let mesh: ProgramBus;
let grants: GrantDirectory;
let granter: RunningGranter | undefined;
beforeAll(async () => {
  [servers, mesh] = await Promise.all([raiseForTests({ postgres: true }), startProgramBus(['postgres', 'mysql'])]);
}, 60_000);
afterAll(async () => {
  await mesh.stop();
  await servers.close();
});
beforeEach(async () => {
  grants = await grantDirectory();
});
afterEach(async () => {
  await granter?.stop();
  granter = undefined;
  await grants.remove();
  for (const key of Object.keys(await standing())) await (await openBucket(mesh.bus.mesh, bucket)).delete(key);
});

const granting = (consumer: string, generation = 1) => ({
  grant: grantOf(consumer, generation),
  password: newPassword(),
});
const keyOf = (consumer: string): string => {
  const [node, module, ...local] = consumer.split('.');
  return [node, module, 'postgres-database', ...local].join('.');
};
const named = (owner: string): Bound => ({ ...at, database: owner, owner });

/** As the node's host does it: the account of the program, in the folder beside the grants directory. */
async function admit(): Promise<void> {
  const root = path.dirname(grants.directory);
  const declaration = declarationOf({ module: 'postgres', directory: '/grants', grants: [] });
  expect(await admitPrograms(mesh.client, declaration, root, new Map())).toEqual([]);
}

async function standing(): Promise<Record<string, Bound>> {
  const { entries } = await readBucket(mesh.bus.mesh, bucket);
  return Object.fromEntries([...entries].map(([key, { value }]) => [key, bound.parse(JSON.parse(value))]));
}

async function stands(facts: Record<string, Bound>, what: string): Promise<void> {
  let last: Record<string, Bound> = {};
  const wanted = JSON.stringify(sorted(facts));
  await until(
    async () => {
      last = await standing();
      return JSON.stringify(sorted(last)) === wanted;
    },
    { withinMs: 15_000, what },
  ).catch((cause: unknown) => {
    throw new Error(`${what}; there stands ${JSON.stringify(last)}, said was ${granter?.said.join('; ')}`, { cause });
  });
}

const sorted = (facts: Record<string, Bound>) =>
  Object.entries(facts)
    .map(([key, value]) => [key, Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));

test('[P2] [S6] facts come with a consumer, move by no rotation, go with it, and hold nothing secret', async () => {
  const [one, two] = [granting('n1.notes'), granting('n1.notes', 2)];
  const reports = granting('n2.ledger.reports');
  const base = granting('n3.site');
  const fixed = { ...base, grant: { ...base.grant, keepsLogin: true as const } };
  const consumers = ['n1.notes', 'n2.ledger', 'n2.ledger.reports', 'n3.site'];
  await mesh.consumers('postgres', consumers.map(keyOf));
  granter = startGranter(servers, grants);
  await grants.write([one, reports, fixed], undefined, at);
  await grants.state(fixed.grant, 'granted');
  // The account comes when it comes: the program looks for it.
  await admit();
  const all = {
    [keyOf('n1.notes')]: named('n1.notes'),
    [keyOf('n2.ledger')]: at,
    [keyOf('n2.ledger.reports')]: named('n2.ledger.reports'),
    [keyOf('n3.site')]: { ...named('n3.site'), login: 'n3.site_a' },
  };
  await stands(all, 'the facts of each consumer');

  const revision = await lastChange(mesh.bus.mesh, bucket);
  await grants.write([one, two, reports, fixed], undefined, at);
  await grants.state(two.grant, 'granted');
  await ask(servers, two, 'select 1');
  await grants.write([two, reports, fixed], 0, at);
  await grants.state(one.grant, 'withdrawn');
  await granter.stop();
  granter = startGranter(servers, grants);
  // Something that does move the bucket, and stands there after whatever the rotation wrote.
  const other = granting('n4.late');
  await mesh.consumers('postgres', [...consumers, 'n4.late'].map(keyOf));
  await grants.write([two, reports, fixed, other], 0, at);
  await stands({ ...all, [keyOf('n4.late')]: named('n4.late') }, 'the facts of a new consumer');
  expect(await lastChange(mesh.bus.mesh, bucket)).toBe((revision ?? 0) + 1);

  const { [keyOf('n2.ledger')]: _, [keyOf('n2.ledger.reports')]: __, ...rest } = all;
  await grants.write([two, fixed], 0, at);
  await stands(rest, 'the facts of a consumer that was removed gone');

  const manager = await mesh.bus.mesh.nats.jetstreamManager({ checkAPI: false });
  const kept: string[] = [];
  for (let sequence = 1; sequence <= ((await lastChange(mesh.bus.mesh, bucket)) ?? 0); sequence += 1)
    kept.push(
      (await manager.streams.getMessage(`KV_${bucket}`, { seq: sequence }).catch(() => undefined))?.string() ?? '',
    );
  const text = [...kept, ...granter.said, await readFile(grants.statusFile, 'utf8')].join('\n');
  expect(kept.join('')).toContain('n3.site_a');
  const seed = (await readFile(path.join(`${grants.directory}.program`, 'user.seed'), 'utf8')).trim();
  for (const secret of [one, two, reports, fixed, other].map(({ password }) => password).concat(seed))
    expect(text.includes(secret)).toBe(false);
}, 60_000);

test('[P2] the program writes the keys of its own consumers alone, by the account it has now, and what it may not holds up nothing', async () => {
  await mesh.consumers('postgres', [keyOf('n1.mine')]);
  await admit();
  const foreign = { ...bound.parse(named('n9.theirs')), host: '127.0.0.77' };
  const theirs = await openBucket(mesh.bus.mesh, bucket);
  await theirs.put(keyOf('n9.theirs'), JSON.stringify(foreign));
  granter = startGranter(servers, grants);
  const [mine, other] = [granting('n1.mine'), granting('n9.theirs')];
  await grants.write([other, mine], undefined, at);
  await stands({ [keyOf('n1.mine')]: named('n1.mine'), [keyOf('n9.theirs')]: foreign }, 'its own alone');
  // It is granted all the same: who is granted what is the list's to say.
  expect(await ask(servers, other, 'select 1')).toEqual([1]);
  await until(() => granter?.said.some((one) => one.includes(`$KV.${bucket}.${keyOf('n9.theirs')}`)) === true, {
    withinMs: 5_000,
    what: 'that it cannot be told, said',
  });
  expect((await readBucket(mesh.bus.mesh, boundBucket('mysql'))).entries.size).toBe(0);

  // Once it is a consumer of its own, it is told.
  await mesh.consumers('postgres', ['n1.mine', 'n9.theirs'].map(keyOf));
  await stands({ [keyOf('n1.mine')]: named('n1.mine'), [keyOf('n9.theirs')]: named('n9.theirs') }, 'both');

  // Another account takes the place of the one it has: only that one is told of a new consumer.
  await rm(`${grants.directory}.program`, { recursive: true });
  await admit();
  await mesh.consumers('postgres', ['n1.mine', 'n9.theirs', 'n5.new'].map(keyOf));
  await grants.write([mine, other, granting('n5.new')], undefined, at);
  await until(async () => keyOf('n5.new') in (await standing()), { withinMs: 15_000, what: 'the new one told' });
  // What another provider told of one since is left when that one goes.
  await theirs.put(keyOf('n9.theirs'), JSON.stringify(foreign));
  await grants.write([], undefined, at);
  await stands({ [keyOf('n9.theirs')]: foreign }, 'its own gone, and the other’s left');
}, 60_000);

test('[S8] it grants without a bus, whatever there is of an account, and tells the facts when the bus is back', async () => {
  await mesh.consumers('postgres', ['n1.first', 'n1.second'].map(keyOf));
  await admit();
  granter = startGranter(servers, grants);
  const [first, second] = [granting('n1.first'), granting('n1.second')];
  await grants.write([first], undefined, at);
  await stands({ [keyOf('n1.first')]: named('n1.first') }, 'the first');
  await mesh.bus.kill();
  await grants.write([first, second], undefined, at);
  await grants.state(second.grant, 'granted');
  expect(await ask(servers, second, 'select 1')).toEqual([1]);
  await granter.stop();
  // One that starts without a bus, too.
  await grants.write([second], undefined, at);
  granter = startGranter(servers, grants);
  await grants.state(first.grant, 'withdrawn');
  await until(() => granter?.said.some((one) => one.startsWith('cannot connect to the bus')) === true, {
    withinMs: 5_000,
    what: 'that there is no bus, said',
  });
  await mesh.bus.start();
  await until(() => mesh.bus.mesh.isConnected(), { withinMs: 15_000, what: 'the mesh on its bus again' });
  await stands({ [keyOf('n1.second')]: named('n1.second') }, 'what was granted meanwhile');
}, 60_000);
