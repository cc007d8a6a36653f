import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { lookOn } from '../../cli/render/look.ts';
import { drawStatus } from '../../cli/render/status.ts';
import type { Report } from '../../src/domain/report/report.ts';
import { credentialRecords } from '../../src/operations/act/credential-records.ts';
import { declarationRecords } from '../../src/operations/act/declaration-records.ts';
import { partName, provisionName } from '../../src/domain/words/names.ts';
import { actRecords } from '../../src/operations/act/act-records.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { inviteNode } from '../../src/operations/node/invite-node.ts';
import { planNodes } from '../../src/operations/plan/plan-nodes.ts';
import { status } from '../../src/operations/plan/status.ts';
import { recordReport, recordUnreadable } from '../../src/operations/report/record-report.ts';
import { why } from '../../src/operations/why/why.ts';
import {
  accepted,
  add,
  aReport,
  begin,
  hash,
  join,
  module,
  node,
  raiseWorlds,
  refused,
  type World,
  type Worlds,
} from './world.ts';

let worlds: Worlds;
let world: World;
beforeAll(async () => {
  worlds = await raiseWorlds();
});
afterAll(() => worlds.close());
beforeEach(async () => {
  world = await worlds.make();
});

const provision = (name: string) => provisionName.parse(name);
const clock = Date.parse('2026-05-01T12:00:00Z');
const files = {
  module: 'motd',
  resources: [
    { kind: 'file', path: '/etc/motd', content: 'hello' },
    { kind: 'file', path: '/etc/issue', content: 'x' },
  ],
};
const see = (now = clock) => status(world.store, hash, now);
const plan = async (...names: string[]) =>
  accepted(await planNodes(world.store, hash, names.length > 0 ? names.map(node) : undefined));

/** Sends a node what it should be now, as an act does; answers what was sent. */
async function send(name: string): Promise<{ digest: string; number: number }> {
  const [one] = (await plan(name)).nodes;
  if (one?.kind !== 'resolvable') throw new Error(`${name} cannot be resolved`);
  const { number } = await declarationRecords(world.store).numbered();
  const resources = new Map(one.difference.added.map((id) => [id, 'sha256:first']));
  await declarationRecords(world.store).recordSent({
    node: node(name),
    digest: one.digest,
    number,
    streamSequence: number,
    resources,
  });
  return { digest: one.digest, number };
}

let sequence = 1;
async function say(name: string, with_: Partial<Report>, at = clock) {
  sequence += 1;
  return recordReport(world.store, aReport(name, { sequence, ...with_ }), at);
}
const whole = { outcome: 'applied', declared: 2, applied: 2 } as const;

async function aNodeWithFiles(name = 'alpha'): Promise<void> {
  await join(world, name);
  await add(world, files);
  accepted(await assign(world.store, 'ada', { node: node(name), module: module('motd') }));
}

describe('reports', () => {
  test('[D16] [D20] one row a node: a later counter replaces, an older one and one already heard do not', async () => {
    await aNodeWithFiles();
    const sent = await send('alpha');
    await say('alpha', { ...whole, ...sent, boot: 2, sequence: 5 });
    expect(
      await recordReport(world.store, aReport('alpha', { boot: 1, sequence: 900, outcome: 'failed' }), clock),
    ).toMatchObject({ kind: 'ignored' });
    expect(
      await recordReport(world.store, aReport('alpha', { boot: 2, sequence: 5, outcome: 'failed' }), clock),
    ).toMatchObject({ kind: 'ignored' });
    expect(await world.ask(`select boot, sequence, outcome from mesh.reports`)).toEqual([
      { boot: '2', sequence: '5', outcome: 'applied' },
    ]);
    await recordReport(world.store, aReport('alpha', { boot: 3, sequence: 1, outcome: 'failed' }), clock);
    expect(await world.ask(`select boot, sequence, outcome from mesh.reports`)).toEqual([
      { boot: '3', sequence: '1', outcome: 'failed' },
    ]);
  });

  test('[D20] reports that arrive at once, in any order, leave the highest counter', async () => {
    await aNodeWithFiles();
    const order = [7, 3, 9, 4, 8, 2, 6, 5];
    await Promise.all(
      order.map((one) => recordReport(world.another(), aReport('alpha', { boot: 2, sequence: one }), clock)),
    );
    expect(await world.ask(`select boot, sequence from mesh.reports`)).toEqual([{ boot: '2', sequence: '9' }]);
  });

  test('[D4] a report that is faster than the record of its send is kept; one of a number never taken is not', async () => {
    await aNodeWithFiles();
    const { number } = await declarationRecords(world.store).numbered();
    expect(await say('alpha', { ...whole, digest: 'sha256:x', number })).toMatchObject({ kind: 'recorded' });
    expect(await say('alpha', { ...whole, digest: 'sha256:x', number: number + 1 })).toMatchObject({ kind: 'ignored' });
  });

  test('[D17] [D18] the present failure: since when, how often; another failure starts again, a clean apply clears', async () => {
    await aNodeWithFiles();
    const sent = await send('alpha');
    const failed = (error: string, resource = 'motd/file/etc/motd') => ({
      ...sent,
      outcome: 'failed' as const,
      declared: 2,
      applied: 1,
      failures: [{ resource, error }],
    });
    const row = async () => (await see()).nodes[0]?.lastReport?.failing;
    await say('alpha', failed('took 3 s'), clock);
    await say('alpha', failed('took 4 s'), clock + 1000);
    expect(await row()).toEqual({ reports: 2, stuck: false, since: '2026-05-01T12:00:00.000Z' });
    await say('alpha', failed('took 5 s'), clock + 2000);
    expect(await row()).toEqual({ reports: 3, stuck: true, since: '2026-05-01T12:00:00.000Z' });
    await say('alpha', failed('no', 'motd/file/etc/issue'), clock + 3000);
    expect(await row()).toEqual({ reports: 1, stuck: false, since: '2026-05-01T12:00:03.000Z' });
    await say('alpha', { ...whole, ...sent }, clock + 4000);
    expect(await row()).toBeUndefined();
    await world.ask(`update mesh.reports set outcome = 'failed', failing_reports = 9, failing_since = null`);
    expect(await row()).toEqual({ reports: 9, stuck: false });
  });

  test('[D19] only a whole report says what the machine can do and carries; what granters say counts either way', async () => {
    await join(world, 'alpha', [{ name: 'firewall', present: true, detail: { kind: 'nft' } }]);
    const entry = {
      node: node('beta'),
      module: module('notes'),
      generation: 1,
      login: 'x_a',
      state: 'granted' as const,
      seen: 3,
      sessionsEnded: 0,
    };
    const granters: Report['granters'] = [
      {
        module: module('postgres'),
        status: {
          schema: 'mesh.granter-status',
          version: 1,
          provision: provision('postgres-database'),
          entries: [entry],
        },
      },
    ];
    const machine = () =>
      world.ask(
        `select name as is from mesh.node_capabilities where present union all select port::text from mesh.carried_ports order by 1`,
      );
    await say('alpha', {
      ...whole,
      carriedPorts: [{ protocol: 'tcp', port: 22 }],
      capabilities: [{ name: 'wireguard', present: true, detail: {} }],
      granters,
    });
    expect(await machine()).toEqual([{ is: '22' }, { is: 'wireguard' }]);
    for (const part of [
      { outcome: 'failed', declared: 2, applied: 1 },
      { outcome: 'refused', declared: 2, applied: 0 },
      { outcome: 'applied', declared: 2, applied: 1 },
    ] as const)
      await say('alpha', { ...part, carriedPorts: [], capabilities: [], granters: [] });
    expect(await machine()).toEqual([{ is: '22' }, { is: 'wireguard' }]);
    const asked = [{ node: node('alpha'), module: module('postgres'), provision: provision('postgres-database') }];
    expect((await credentialRecords(world.store).ends([], asked)).entries).toEqual([
      { ...entry, provider: 'alpha', providerModule: 'postgres', provision: 'postgres-database' },
    ]);
    await say('alpha', {
      outcome: 'failed',
      declared: 2,
      applied: 1,
      granters: [
        {
          module: module('postgres'),
          status: { schema: 'mesh.granter-status', version: 1, provision: provision('postgres-database'), entries: [] },
        },
      ],
    });
    expect((await credentialRecords(world.store).ends([], asked)).entries).toEqual([]);
  });

  test('[M11] never reported and reported nothing are different answers', async () => {
    await join(world, 'alpha');
    await inviteNode(world.store, 'ada', {
      node: node('beta'),
      tokenId: 't',
      userKey: 'U',
      expiresAt: new Date(Date.now() + 60_000),
    });
    const [alpha, beta] = (await declarationRecords(world.store).snapshot()).inventory.nodes;
    expect(alpha).toMatchObject({ name: 'alpha', capabilities: [] });
    expect(beta).not.toHaveProperty('capabilities');
  });

  test('[U17] a message that nobody can read is kept aside and counted', async () => {
    await recordUnreadable(world.store, {
      subject: 'mesh.report.alpha',
      reason: 'not JSON',
      body: new Uint8Array([0, 255, 10]),
    });
    await recordUnreadable(world.store, { subject: 'mesh.report.alpha', reason: 'not JSON', body: new Uint8Array() });
    expect(await see()).toMatchObject({
      unreadable: { count: 2, subjects: ['mesh.report.alpha'] },
      needsAttention: true,
    });
    expect(await world.ask(`select encode(body, 'hex') as body from mesh.unreadable_messages order by id`)).toEqual([
      { body: '00ff0a' },
      { body: '' },
    ]);
  });
});

describe('status', () => {
  test('[D21] first what is broken, then what does not answer, then what is out of date', async () => {
    for (const name of ['delta', 'echo', 'fox', 'golf', 'hotel']) await aNodeWithFiles(name);
    await inviteNode(world.store, 'ada', {
      node: node('india'),
      tokenId: 't',
      userKey: 'U',
      expiresAt: new Date(Date.now() + 60_000),
    });
    const sent = new Map<string, { digest: string; number: number }>();
    for (const name of ['delta', 'echo', 'fox', 'golf', 'hotel']) sent.set(name, await send(name));
    await say('delta', { ...whole, ...sent.get('delta') });
    await say('echo', { ...whole, digest: 'sha256:older', number: 1 });
    await say('fox', { ...whole, ...sent.get('fox') }, clock - 3 * 60_000 - 1);
    await say('golf', {
      ...sent.get('golf'),
      outcome: 'refused',
      declared: 2,
      applied: 0,
      refusal: { kind: 'signature', detail: 'of another key' },
    });
    await say('hotel', {
      ...sent.get('hotel'),
      outcome: 'failed',
      declared: 2,
      applied: 1,
      failures: [{ resource: 'motd/file/etc/motd', error: 'no space' }],
    });
    const seen = await see();
    expect(seen.nodes.map(({ node: name, concern }) => [name, concern])).toEqual([
      ['golf', 'broken'],
      ['hotel', 'broken'],
      ['fox', 'not answering'],
      ['india', 'not answering'],
      ['echo', 'out of date'],
      ['delta', 'well'],
    ]);
    expect(seen.nodes.map(({ outcome }) => outcome)).toEqual([
      'refused',
      'failed',
      'applied',
      undefined,
      'applied',
      'applied',
    ]);
    expect(seen.nodes[1]?.lastReport).toMatchObject({
      applied: 1,
      declared: 2,
      failures: [{ resource: 'motd/file/etc/motd', error: 'no space' }],
    });
    expect(seen.needsAttention).toBe(true);
  });

  test('[D23] what was sent, what was reported and how it went are three facts', async () => {
    await aNodeWithFiles();
    const words = async () => {
      const { told, report, outcome, concern } = present((await see()).nodes[0]);
      return [told, report, outcome, concern];
    };
    expect(await words()).toEqual(['never told', undefined, 'idle', 'out of date']);
    const sent = await send('alpha');
    expect(await words()).toEqual(['same', 'waiting', 'idle', 'out of date']);
    await say('alpha', { ...whole, ...sent });
    expect(await words()).toEqual(['same', 'current', 'applied', 'well']);
    await add(world, { ...files, version: '2.0.0', resources: [] });
    expect(await words()).toEqual(['behind', 'current', 'applied', 'out of date']);
    await world.ask(
      `insert into mesh.modules (module, version) values ('ghost', '1'); insert into mesh.assignments (node, module) values ('alpha', 'ghost')`,
    );
    expect(await words()).toEqual(['unresolvable', 'current', 'applied', 'out of date']);
    expect((await see()).nodes[0]?.unresolvable).toMatchObject([{ kind: 'unknown-module' }]);
  });

  test('[D22] no null anywhere, no time for a node that never spoke, no key like a secret’s', async () => {
    for (const name of ['alpha', 'beta']) await aNodeWithFiles(name);
    await world.ask(
      `insert into mesh.modules (module, version) values ('ghost', '1'); insert into mesh.assignments (node, module) values ('beta', 'ghost')`,
    );
    const sent = await send('alpha');
    await say('alpha', {
      ...sent,
      outcome: 'failed',
      declared: 2,
      applied: 1,
      failures: [{ resource: 'a', error: 'b' }],
      drift: ['x'],
      kept: ['y'],
    });
    await inviteNode(world.store, 'ada', {
      node: node('india'),
      tokenId: 't',
      userKey: 'U',
      expiresAt: new Date(Date.now() + 60_000),
    });
    await declarationRecords(world.store).recordSent({
      node: node('india'),
      digest: 'd',
      number: 99,
      streamSequence: 1,
      resources: new Map(),
    });
    await begin(world, 'run-1');
    await actRecords(world.store).note('run-1', { waitsFor: ['alpha to report what it was sent'], secret: null });
    const json: unknown = JSON.parse(JSON.stringify(await see()));
    const found: string[] = [];
    walk(json, (path, value) => {
      if (value === null) found.push(`${path} is null`);
      if (/pass|secret|token|credential|private|blob|sealed|seed|jwt|key$/i.test(path.split('.').at(-1) ?? ''))
        found.push(`${path} is named like a secret`);
    });
    expect(found).toEqual([]);
    const silent = (await see()).nodes.find((one) => one.node === 'india');
    const times: string[] = [];
    walk(silent, (path, value) => {
      if (/^\d{4}-\d\d-\d\dT/.test(String(value)) || (typeof value === 'number' && value > 1e9)) times.push(path);
    });
    expect(silent).toMatchObject({ hearing: 'silent', sent: { digest: 'd' } });
    expect(times).toEqual([]);
    expect((await see()).acts).toMatchObject([{ act: 'rotate/run-1', waitsFor: ['alpha to report what it was sent'] }]);
  });
});

describe('plan', () => {
  test('[S3] planning writes nothing: no row, no transaction that changed anything, no number taken', async () => {
    for (const name of ['alpha', 'beta']) await join(world, name);
    await add(world, { module: 'notes', holds: { 'cookie-key': { file: '/etc/notes/cookie.key' } } });
    accepted(await assign(world.store, 'ada', { node: node('alpha'), module: module('notes') }));
    const before = await fingerprint();
    const planned = await plan();
    expect(await fingerprint()).toEqual(before);
    // Postgres itself takes a transaction's id now and then, to keep its house; a plan that took one would do so each time.
    const taken: number[] = [];
    for (let times = 0; times < 5; times += 1) {
      const first = await nextTransaction();
      await plan();
      taken.push((await nextTransaction()) - first);
    }
    expect(taken).toContain(0);
    expect(planned).toMatchObject({
      hasChanges: true,
      nodes: [
        { node: 'alpha', wouldMake: [{ kind: 'own', path: 'alpha/notes/cookie-key', why: 'missing' }] },
        { node: 'beta' },
      ],
    });
  });

  test('[D5] [D6] resource by resource against what was last sent, and why a node is sent nothing', async () => {
    await aNodeWithFiles();
    const [first] = (await plan('alpha')).nodes;
    expect(first).toMatchObject({
      kind: 'resolvable',
      standing: { told: 'never told' },
      difference: {
        added: ['motd/file/etc/issue', 'motd/file/etc/motd'].map((id) => expect.stringContaining(id)),
        changed: [],
        removed: [],
      },
    });
    await send('alpha');
    expect(await plan()).toMatchObject({
      hasChanges: false,
      nodes: [{ difference: { added: [], changed: [], removed: [] } }],
    });
    await add(world, {
      ...files,
      version: '2.0.0',
      resources: [{ kind: 'file', path: '/etc/motd', content: 'hello again' }],
    });
    expect(await plan()).toMatchObject({
      hasChanges: true,
      nodes: [
        {
          standing: { told: 'behind' },
          difference: {
            added: [],
            changed: [expect.stringContaining('/etc/motd')],
            removed: [expect.stringContaining('/etc/issue')],
          },
        },
      ],
    });
    await world.ask(
      `insert into mesh.modules (module, version) values ('ghost', '1'); insert into mesh.assignments (node, module) values ('alpha', 'ghost')`,
    );
    expect(await plan()).toMatchObject({
      hasChanges: false,
      nodes: [{ kind: 'unresolvable', refusals: [{ kind: 'unknown-module' }] }],
    });
    expect(refused(await planNodes(world.store, hash, [node('nowhere')]))).toMatchObject({ kind: 'unknown-node' });
  });
});

async function nextTransaction(): Promise<number> {
  const [row] = await world.ask(`select pg_snapshot_xmax(pg_current_snapshot())::text as next`);
  return Number(row?.['next']);
}

async function fingerprint(): Promise<unknown> {
  const tables = await world.ask(
    `select table_name from information_schema.tables where table_schema = 'mesh' order by 1`,
  );
  const counts = [];
  for (const { table_name: table } of tables)
    counts.push(
      ...(await world.ask(
        `select '${String(table)}' as of, count(*), max(xmin::text::bigint) as last from mesh.${String(table)}`,
      )),
    );
  return [counts, await world.ask(`select last_value, is_called from mesh.declaration_number`)];
}

function walk(value: unknown, visit: (path: string, value: unknown) => void, path = ''): void {
  visit(path, value);
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) walk(inner, visit, `${path}.${key}`);
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('it is not there');
  return value;
}

describe('postponed modules', () => {
  const look = lookOn({ isTTY: false }, {}, true, clock);
  const postponed = [
    {
      module: module('motd'),
      since: '2026-05-01T11:00:00Z',
      reason: 'version 2.0.0 of motd is not published',
      waitsFor: [partName.parse('image')],
    },
  ];

  test('[P10] status says which, since when and why, for a person to look at; the next report without it takes the words back', async () => {
    await aNodeWithFiles();
    const sent = await send('alpha');
    await say('alpha', { ...whole, ...sent, postponed });
    const seen = await see();
    expect(seen).toMatchObject({
      needsAttention: true,
      nodes: [{ node: 'alpha', told: 'same', report: 'current', outcome: 'applied', concern: 'out of date' }],
    });
    expect(seen.nodes[0]?.lastReport?.postponed).toEqual(postponed);
    expect(JSON.stringify(seen)).not.toContain('null');
    expect(drawStatus({ ...seen, temporalUi: 'http://x' }, look)).toContain(
      'motd is postponed: version 2.0.0 of motd is not published, and waits for its build of image, since 2026-05-01T11:00:00Z; its files stay as they are',
    );
    const chain = accepted(await why(world.store, hash, clock, 'alpha/motd'));
    expect(chain.links.at(-1)).toMatchObject({ of: 'report', holds: false });
    expect(chain.next).toEqual(['mesh provisioner health --node alpha']);

    await say('alpha', { ...whole, ...sent });
    const after = await see();
    expect(after).toMatchObject({ needsAttention: false, nodes: [{ concern: 'well' }] });
    expect(after.nodes[0]?.lastReport).not.toHaveProperty('postponed');
    expect(drawStatus({ ...after, temporalUi: 'http://x' }, look)).not.toContain('postponed');
  });

  test('[P10] a report that postpones nothing says nothing of it', async () => {
    await aNodeWithFiles();
    await say('alpha', { ...whole, ...(await send('alpha')), postponed: [] });
    expect(await see()).toMatchObject({ needsAttention: false });
    expect(JSON.stringify(await see())).not.toContain('postponed');
  });
});
