import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  decidePass,
  emptyRecord,
  passRecord,
  type Decision,
  type PassReads,
  type PassRecord,
} from '../../../src/domain/provisioning/pass.ts';
import { parsePlaceholder, type Placeholder } from '../../../src/domain/provisioning/placeholders.ts';
import { needsOf, settlePass, type FillOutcome, type PassWrites } from '../../../src/domain/provisioning/settle.ts';
import {
  applied,
  assignmentIndex,
  collected,
  health,
  need,
  type PendingBuild,
} from '../../../src/domain/provisioning/values.ts';
import { moduleName, nodeName, partName, type ModuleName } from '../../../src/domain/words/names.ts';

const node = nodeName.parse('alpha');
const named = (name: string): ModuleName => moduleName.parse(name);
const build: PendingBuild = { version: '2', waitsFor: [partName.parse('image')], since: '2026-01-01T00:00:00.000Z' };
const minute = (n: number): string => new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString();

/** What a pass read: modules by name, `!` after one that waits for its build, `?` after one that could not be read. */
function reads(modules: string | undefined): PassReads {
  const all = (modules ?? '').split(' ').filter((one) => one !== '');
  const names = all.map((one) => named(one.replace(/[!?]$/, '')));
  const some = (mark: string) => all.filter((one) => one.endsWith(mark)).map((one) => named(one.slice(0, -1)));
  return {
    index:
      modules === undefined
        ? undefined
        : assignmentIndex.parse({
            modules: Object.fromEntries(names.map((name) => [name, { version: '1', settings: [], bound: [] }])),
          }),
    unread: new Map(some('?').map((name) => [name, 'its plan could not be read'])),
    plans: new Map(some('!').map((name) => [name, { build }])),
    compositions: new Map(names.filter((name) => !some('!').includes(name)).map((name) => [name, { version: '1' }])),
  };
}
const placeholder = (written: string): Placeholder => {
  const read = parsePlaceholder(written);
  if (read.kind !== 'placeholder') throw new Error(read.says);
  return read;
};
function outcome(digest: string, part: Partial<FillOutcome> = {}): FillOutcome {
  return {
    files: [{ file: '/etc/a', placeholders: [placeholder('${config:title}')], reasonOf: () => undefined }],
    applied: { version: '1', digest, generations: { 'postgres-database': 1 } },
    contributions: [{ collection: 'route', contributor: 'notes', item: { name: digest } }],
    ...part,
  };
}

/** A node whose client goes through passes, and the buckets that it writes into. */
class Client {
  record: PassRecord = emptyRecord;
  readonly held = new Map<string, string>();

  decide(modules: string | undefined, at: number): readonly Decision[] {
    return decidePass({ ...reads(modules), record: this.record, now: minute(at) });
  }

  /** One pass; killed after so many writes if `dies` says so. */
  pass(
    modules: string | undefined,
    at: number,
    digests: (module: ModuleName) => FillOutcome,
    dies?: number,
  ): PassWrites {
    const decisions = this.decide(modules, at);
    const filled = decisions.filter((one) => one.kind === 'fill').map((one) => one.module);
    const outcomes = new Map(filled.map((module) => [module, digests(module)]));
    const writes = settlePass({ node, decisions, outcomes, record: this.record, now: minute(at) });
    this.record = passRecord.parse(JSON.parse(JSON.stringify(writes.before)));
    const steps = [
      ...writes.puts.map(
        ({ bucket, key, value }) =>
          () =>
            this.held.set(`${bucket}/${key}`, value),
      ),
      ...writes.deletes.map(
        ({ bucket, key }) =>
          () =>
            this.held.delete(`${bucket}/${key}`),
      ),
    ];
    for (const step of steps.slice(0, dies)) step();
    if (dies === undefined) this.record = passRecord.parse(JSON.parse(JSON.stringify(writes.after)));
    return writes;
  }

  read(key: string): unknown {
    const text = this.held.get(key);
    return text === undefined ? undefined : JSON.parse(text);
  }
}
const kinds = (decisions: readonly Decision[]) => decisions.map(({ kind, module }) => `${kind} ${module}`);
const changed = ({ puts, deletes }: PassWrites) => [
  ...puts.map(({ bucket, key }) => `put ${bucket}/${key}`),
  ...deletes.map(({ bucket, key }) => `delete ${bucket}/${key}`),
];

describe('deciding', () => {
  const client = new Client();
  client.pass('gone notes wiki', 0, (module) =>
    outcome('d', { contributions: [{ collection: 'a', contributor: module, item: 1 }] }),
  );

  test('[P9] a published module is filled, one that is not is postponed', () => {
    expect(kinds(client.decide('gone notes wiki!', 1))).toEqual(['fill gone', 'fill notes', 'postpone wiki']);
  });

  test('[P9] a module whose published version is another one waits for its own', () => {
    const read = reads('notes');
    const compositions = new Map([[named('notes'), { version: '2' }]]);
    expect(decidePass({ ...read, compositions, record: emptyRecord, now: minute(0) })).toEqual([
      {
        kind: 'postpone',
        module: 'notes',
        since: minute(0),
        passes: 1,
        reason: 'version 1 of notes is assigned, and version 2 is published',
      },
    ]);
  });

  test('[P8] nothing retires on an incomplete read: of the index, or of any key that it names', () => {
    expect(kinds(client.decide('notes wiki?', 1))).toEqual(['hold gone', 'fill notes', 'hold wiki']);
    expect(kinds(client.decide(undefined, 1))).toEqual(['hold gone', 'hold notes', 'hold wiki']);
    expect(kinds(client.decide('notes wiki', 1))).toEqual(['retire gone', 'fill notes', 'fill wiki']);
    expect(kinds(client.decide('', 1))).toEqual(['retire gone', 'retire notes', 'retire wiki']);
  });

  test('[P10] a removed consumer retires beside a postponed module', () => {
    expect(kinds(client.decide('notes wiki!', 1))).toEqual(['retire gone', 'fill notes', 'postpone wiki']);
  });

  test('[P8] whatever was read and recorded, a module retires only when the index was read whole and does not name it', () => {
    const names = fc.subarray(['a', 'b', 'c', 'd']);
    const marks = fc.array(fc.constantFrom('', '!', '?'), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(names, fc.option(names), marks, (recorded, assigned, mark) => {
        const text = assigned?.map((name, index) => `${name}${mark[index] ?? ''}`).join(' ');
        const record = { modules: Object.fromEntries(recorded.map((name) => [name, { written: {} }])) };
        const decisions = decidePass({ ...reads(text), record, now: minute(0) });
        expect(decisions.map((one) => one.module)).toEqual([...new Set([...recorded, ...(assigned ?? [])])].toSorted());
        for (const { kind, module } of decisions)
          expect(kind === 'retire').toBe(
            text !== undefined && !text.includes('?') && assigned?.includes(module) === false,
          );
      }),
    );
  });
});

describe('writing', () => {
  test('[P2] [P9] a filled module has its needs, what is applied and its contributions, each under the node’s own keys', () => {
    const client = new Client();
    const writes = client.pass('notes', 0, () => outcome('d1'));
    expect(changed(writes)).toEqual([
      'put mesh-provisioner_needs/alpha.notes.config.title',
      'put mesh-provisioner_collect/alpha.route.notes',
      'put mesh-provisioner_applied/alpha.notes',
    ]);
    expect(need.parse(client.read('mesh-provisioner_needs/alpha.notes.config.title'))).toEqual({
      files: ['/etc/a'],
      placeholders: ['${config:title}'],
      met: true,
    });
    expect(applied.parse(client.read('mesh-provisioner_applied/alpha.notes'))).toEqual({
      version: '1',
      digest: 'd1',
      generations: { 'postgres-database': 1 },
      at: minute(0),
    });
    expect(collected.parse(client.read('mesh-provisioner_collect/alpha.route.notes'))).toEqual({
      item: { name: 'd1' },
    });
  });

  test('[P11] unchanged inputs write nothing, and when it was applied stays', () => {
    const client = new Client();
    client.pass('notes wiki!', 0, () => outcome('d1'));
    for (const at of [1, 2]) client.pass('notes wiki!', at, () => outcome('d1'));
    const record = client.record;
    expect(changed(client.pass('notes wiki!', 3, () => outcome('d1')))).toEqual([]);
    expect(client.record.modules[named('notes')]).toEqual(record.modules[named('notes')]);
    expect(changed(client.pass('notes wiki!', 4, () => outcome('d2')))).toEqual([
      'put mesh-provisioner_collect/alpha.route.notes',
      'put mesh-provisioner_applied/alpha.notes',
    ]);
    expect(applied.parse(client.read('mesh-provisioner_applied/alpha.notes')).at).toBe(minute(4));
  });

  test('[P10] postponed more than two passes in a row is said once with its build and since when; published again, the words go', () => {
    const client = new Client();
    client.pass('notes', 0, () => outcome('d1'));
    expect(changed(client.pass('notes!', 1, () => outcome('d1')))).toEqual([]);
    expect(changed(client.pass('notes!', 2, () => outcome('d1')))).toEqual([]);
    expect(changed(client.pass('notes!', 3, () => outcome('d1')))).toEqual(['put provisioner_health/alpha.notes']);
    expect(health.parse(client.read('provisioner_health/alpha.notes'))).toEqual({
      since: minute(1),
      passes: 3,
      build,
      reason: 'version 2 of notes is not published',
    });
    // A pass that cannot read anything neither counts nor takes the words back.
    expect(changed(client.pass(undefined, 4, () => outcome('d1')))).toEqual([]);
    expect(changed(client.pass('notes!', 5, () => outcome('d1')))).toEqual([]);
    expect(client.held.size).toBe(4);
    expect(changed(client.pass('notes', 6, () => outcome('d1')))).toEqual(['delete provisioner_health/alpha.notes']);
    expect(changed(client.pass('notes!', 7, () => outcome('d1')))).toEqual([]);
  });

  test('[P10] a module that is assigned while it waits is said too, and retires without ever having been filled', () => {
    const client = new Client();
    for (const at of [0, 1, 2]) client.pass('notes!', at, () => outcome('d1'));
    expect([...client.held.keys()]).toEqual(['provisioner_health/alpha.notes']);
    expect(changed(client.pass('', 3, () => outcome('d1')))).toEqual(['delete provisioner_health/alpha.notes']);
    expect(client.record).toEqual(emptyRecord);
  });

  test('[P9] what a postponed or unread module had stays; a retired one leaves nothing', () => {
    const client = new Client();
    client.pass('notes', 0, () => outcome('d1'));
    expect(changed(client.pass('notes!', 1, () => outcome('d2')))).toEqual([]);
    expect(changed(client.pass('notes?', 2, () => outcome('d2')))).toEqual([]);
    expect(changed(client.pass('', 3, () => outcome('d2')))).toEqual([
      'delete mesh-provisioner_needs/alpha.notes.config.title',
      'delete mesh-provisioner_collect/alpha.route.notes',
      'delete mesh-provisioner_applied/alpha.notes',
    ]);
    expect(client.held.size).toBe(0);
  });

  test('[P12] a file that could not be filled says its need with the reason, and what was applied before stays said', () => {
    const client = new Client();
    client.pass('notes', 0, () => outcome('d1'));
    const files = [
      {
        file: '/etc/b',
        placeholders: [placeholder('${config:title}'), placeholder('${weather:berlin}')],
        reasonOf: ({ of }: Placeholder) => (of === 'weather' ? 'nobody answers it' : undefined),
      },
    ];
    const { applied: _, ...unapplied } = outcome('d1', { files });
    const writes = client.pass('notes', 1, () => unapplied);
    expect(changed(writes)).toEqual([
      'put mesh-provisioner_needs/alpha.notes.config.title',
      'put mesh-provisioner_needs/alpha.notes.weather.berlin',
    ]);
    expect(need.parse(client.read('mesh-provisioner_needs/alpha.notes.weather.berlin'))).toMatchObject({
      met: false,
      reason: 'nobody answers it',
    });
  });

  test('[P12] what several files and fields ask for is one need, met when all of it is', () => {
    const files = [
      {
        file: '/b',
        placeholders: [placeholder('${secret:db.a:login}'), placeholder('${secret:db.a|url}')],
        reasonOf: () => undefined,
      },
      {
        file: '/a',
        placeholders: [placeholder('${secret:db.a}'), placeholder('${secret:db}')],
        reasonOf: () => 'sealed to another key',
      },
    ];
    expect(needsOf(files)).toEqual([
      {
        kind: 'secret',
        name: 'db',
        value: { files: ['/a'], placeholders: ['${secret:db}'], met: false, reason: 'sealed to another key' },
      },
      {
        kind: 'secret',
        name: 'db.a',
        value: {
          files: ['/a', '/b'],
          placeholders: ['${secret:db.a:login}', '${secret:db.a|url}', '${secret:db.a}'],
          met: false,
          reason: 'sealed to another key',
        },
      },
    ]);
  });

  test('[P11] killed after any of its writes, the next pass makes the buckets what they should be and leaves nothing behind', () => {
    const module = fc.constantFrom('a', 'b', 'constructor');
    const step = fc.record({
      modules: fc.uniqueArray(fc.tuple(module, fc.constantFrom('', '', '!', '?')), { selector: ([name]) => name }),
      digest: fc.constantFrom('1', '2'),
      dies: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
    });
    const own = (name: ModuleName, digest: string): FillOutcome =>
      outcome(digest, { contributions: [{ collection: 'c', contributor: name, item: digest }] });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), fc.subarray(['a', 'b', 'constructor']), (steps, last) => {
        const client = new Client();
        for (const [at, { modules, digest, dies }] of steps.entries())
          client.pass(modules.map(([name, mark]) => `${name}${mark}`).join(' '), at, (name) => own(name, digest), dies);
        client.pass(last.join(' '), 20, (name) => own(name, 'last'));
        const fresh = new Client();
        fresh.pass(last.join(' '), 20, (name) => own(name, 'last'));
        expect(client.held).toEqual(fresh.held);
        expect(changed(client.pass(last.join(' '), 21, (name) => own(name, 'last')))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});
