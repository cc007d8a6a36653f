/** What a granter cannot do, although all was sent and applied: `mesh status` and `mesh why` say so, and how it is cured. */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { lookOn } from '../../cli/render/look.ts';
import { drawStatusChanges } from '../../cli/render/status-changes.ts';
import { drawStatus } from '../../cli/render/status.ts';
import { granterStatus, type GranterEntry, type GranterStatus } from '../../src/domain/report/report.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { unassign } from '../../src/operations/intent/unassign.ts';
import { status } from '../../src/operations/plan/status.ts';
import { recordReport } from '../../src/operations/report/record-report.ts';
import { why } from '../../src/operations/why/why.ts';
import { accepted, add, aReport, hash, join, module, node, raiseWorlds, type World, type Worlds } from './world.ts';

let worlds: Worlds;
let world: World;
beforeAll(async () => {
  worlds = await raiseWorlds();
});
afterAll(() => worlds.close());

const path = 'alpha/postgres-database/beta/notes';
const refused = 'the server refuses the password of "beta.notes_a": password must contain a digit (22023)';
const since = '2026-05-01T11:00:00.000Z';
const look = lookOn({ isTTY: false }, {}, true, Date.parse(since));
const see = () => status(world.store, hash, Date.now());
const drawn = async () => drawStatus({ ...(await see()), temporalUi: 'http://x' }, look);

let sequence = 1;
/** What the granter on alpha says now. */
async function granterSays(said: Partial<GranterEntry>, more: Partial<GranterStatus> = {}): Promise<void> {
  sequence += 1;
  const [beta, notes] = [node('beta'), module('notes')];
  const status = granterStatus.parse({
    schema: 'mesh.granter-status',
    version: 1,
    provision: 'postgres-database',
    entries: [{ node: beta, module: notes, generation: 1, login: 'x', seen: 0, sessionsEnded: 0, ...said }],
    ...more,
  });
  const granters = [{ module: module('postgres'), status }];
  await recordReport(world.store, aReport('alpha', { sequence, granters }), Date.now());
}

beforeEach(async () => {
  world = await worlds.make();
  sequence = 1;
  for (const name of ['alpha', 'beta']) await join(world, name);
  await add(world, {
    module: 'postgres',
    provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/var/lib/grants' }],
    listens: { sql: 5432 },
  });
  await add(world, {
    module: 'notes',
    requires: ['postgres-database'],
    secrets: { 'postgres-database': '/etc/notes/db' },
  });
  for (const [where, what] of [
    ['alpha', 'postgres'],
    ['beta', 'notes'],
  ] as const)
    accepted(await assign(world.store, 'ada', { node: node(where), module: module(what) }));
  await world.ask(`insert into mesh.pair_secrets (provision, provider_node, provider_module, consumer_node, consumer_module,
      generation, stage, origin, consumer_blob, consumer_fingerprint, provider_blob, provider_fingerprint)
    values ('postgres-database', 'alpha', 'postgres', 'beta', 'notes', 1, 'current', 'made', 'c', 'k', 'p', 'k')`);
});

test('[C34] a value that the server refuses is named with its reason, and the command that makes another', async () => {
  await granterSays({ state: 'granted' });
  const before = await see();
  expect(before.ungranted).toEqual([]);
  await granterSays({ state: 'fault', fault: refused, faultSince: since, valueRefused: true });
  const now = await see();
  expect(now).toMatchObject({
    needsAttention: true,
    ungranted: [
      {
        provider: 'alpha',
        provision: 'postgres-database',
        to: 'notes@beta',
        path,
        reason: refused,
        since,
        next: ['mesh secret rotate beta/notes --provision postgres-database'],
      },
    ],
  });
  const says = `alpha cannot grant postgres-database to notes@beta, which cannot log in: ${refused}`;
  expect(await drawn()).toContain(
    `not granted\n  ${says}, since ${since}\n    mesh secret rotate beta/notes --provision postgres-database\n`,
  );
  expect(drawStatusChanges(before, now, look)).toContain(`${says} → mesh secret rotate beta/notes`);
  expect(drawStatusChanges(now, before, look)).toContain('no more: alpha cannot grant');
  const chain = accepted(await why(world.store, hash, Date.now(), path));
  expect(chain.links.find((link) => link.of === 'granter')).toMatchObject({
    holds: false,
    says: expect.stringContaining(refused),
    next: ['mesh secret rotate beta/notes --provision postgres-database', 'mesh status --watch'],
  });
});

test('[S13] [C34] one that a person handed over is accepted anew, and what is no value’s fault is looked into', async () => {
  await world.ask(`update mesh.pair_secrets set origin = 'accepted'`);
  await granterSays({ state: 'fault', fault: refused, valueRefused: true });
  expect((await see()).ungranted).toMatchObject([{ next: ['mesh secret accept beta/notes postgres-database'] }]);
  await granterSays({ state: 'fault', fault: 'the role is in use by something the granter did not make' });
  expect((await see()).ungranted).toMatchObject([{ next: [`mesh why ${path}`] }]);
});

test('[S8] a granter that can do nothing is said once, and not for each of its consumers', async () => {
  const fault = 'the server at 127.0.0.1:5432: connect ECONNREFUSED';
  await granterSays({ state: 'fault', fault: refused, valueRefused: true }, { fault, faultSince: since });
  expect(await see()).toMatchObject({
    needsAttention: true,
    ungranted: [{ provider: 'alpha', provision: 'postgres-database', reason: fault, since, next: [] }],
  });
  expect(await drawn()).toContain(
    `alpha can grant no postgres-database for now, and tries again by itself: ${fault}, since ${since}`,
  );
});

test('[M14] [S11] what is said of a consumer that is gone, or of a generation that is not in use, needs nobody', async () => {
  await granterSays({ state: 'fault', fault: refused, valueRefused: true, generation: 2 });
  expect((await see()).ungranted).toEqual([]);
  await granterSays({ state: 'fault', fault: refused, valueRefused: true });
  expect((await see()).ungranted).toHaveLength(1);
  accepted(await unassign(world.store, 'ada', { node: node('beta'), module: module('notes') }));
  expect((await see()).ungranted).toEqual([]);
});
