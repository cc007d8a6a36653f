import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pairKey, pairPath, type PairKey } from '../../src/domain/credential/credential.ts';
import { localName, partName } from '../../src/domain/words/names.ts';
import { actRecords } from '../../src/operations/act/act-records.ts';
import { busCredentialRecords } from '../../src/operations/act/bus-credential-records.ts';
import { credentialRecords, type MadePair } from '../../src/operations/act/credential-records.ts';
import { declarationRecords } from '../../src/operations/act/declaration-records.ts';
import type { NewAct } from '../../src/operations/ports/act-rows.ts';
import { begin, join, module, node, raiseWorlds, type World, type Worlds } from './world.ts';

let worlds: Worlds;
let world: World;
beforeAll(async () => {
  worlds = await raiseWorlds();
});
afterAll(() => worlds.close());
beforeEach(async () => {
  world = await worlds.make();
  await join(world, 'alpha');
  await join(world, 'beta');
  await world.ask(`insert into mesh.modules (module, version) values ('postgres', '1'), ('notes', '1')`);
});

const key = pairKey.parse({
  provision: 'postgres-database',
  providerNode: 'alpha',
  providerModule: 'postgres',
  consumerNode: 'beta',
  consumerModule: 'notes',
});
const other: PairKey = { ...key, local: localName.parse('reports') };
const partNamed = (name: string) => partName.parse(name);
const blob = (text: string) => ({ sealed: Buffer.from(text).toString('base64'), fingerprint: `of-${text}` });
const made = (with_: Partial<MadePair> = {}): MadePair => ({
  key,
  generation: 1,
  stage: 'current',
  earlier: 'kept',
  consumer: blob('consumer'),
  provider: blob('provider'),
  ...with_,
});
const generations = async (): Promise<readonly string[]> =>
  (await world.ask(`select local, generation, stage from mesh.pair_secrets order by local, generation`)).map((row) =>
    Object.values(row).join(' ').trim(),
  );
const rotating = (act: string): NewAct => ({
  act,
  workflowId: `rotate/${act}`,
  kind: 'rotate',
  summary: `Rotate for ${act}`,
  person: 'ada',
});
const kinds = async (): Promise<readonly unknown[]> =>
  (await world.ask(`select kind from mesh.events order by id`)).map((row) => row['kind']);

describe('an act’s record', () => {
  test('begins once, keeps what it noted, and ends once', async () => {
    const acts = actRecords(world.store);
    await begin(world, 'run-1');
    await acts.note('run-1', { nodes: ['alpha'], waitsFor: ['alpha'] });
    await begin(world, 'run-1');
    await acts.note('run-1', { waitsFor: [] });
    await acts.end('run-1', 'closed', { result: { sent: 1 } });
    await acts.end('run-1', 'failed', { result: { sent: 2 } });
    expect(await acts.read('run-1')).toMatchObject({
      stage: 'closed',
      person: 'ada',
      detail: { nodes: ['alpha'], waitsFor: [], result: { sent: 1 } },
    });
    expect(await acts.read('run-2')).toBeUndefined();
    expect((await kinds()).filter((kind) => String(kind).startsWith('act-'))).toEqual(['act-started', 'act-closed']);
  });

  test('[A1.3] settling before the commit fences it: what comes late writes nothing', async () => {
    await begin(world, 'run-1');
    expect(await actRecords(world.store).settle('run-1')).toBe('abandoned');
    expect(await credentialRecords(world.store).commit('run-1', async () => [made()])).toBe('abandoned');
    await expect(credentialRecords(world.store).lock(rotating('run-1'), [pairPath(key)], {})).rejects.toThrow(
      /has ended/,
    );
    expect(await generations()).toEqual([]);
    expect(await world.ask(`select * from mesh.credential_locks`)).toEqual([]);
  });

  test('[A1.3] settling after the commit says so, also when both come at once', async () => {
    for (let round = 1; round <= 8; round += 1) {
      const act = await begin(world, `run-${round}`);
      const [settled, committed] = await Promise.all([
        actRecords(world.store).settle(act),
        credentialRecords(world.another()).commit(act, async () => [made({ generation: round, stage: 'arriving' })]),
      ]);
      expect(settled).toBe(committed);
      const there = await world.ask(`select from mesh.pair_secrets where act = '${act}'`);
      expect(there).toHaveLength(committed === 'committed' ? 1 : 0);
    }
  });
});

describe('locks', () => {
  test('[A1.0] two acts cannot lock one credential, however they were asked for; all of them or none', async () => {
    const [one, two] = [credentialRecords(world.store), credentialRecords(world.another())];
    expect(await one.lock(rotating('run-1'), ['a', 'b'], { about: 'a and b' })).toEqual({
      about: { about: 'a and b' },
    });
    // What a late attempt found meanwhile does not take the place of what the first wrote down.
    expect(await one.lock(rotating('run-1'), ['a', 'b'], { about: 'else' })).toEqual({ about: { about: 'a and b' } });
    expect(await two.lock(rotating('run-2'), ['b', 'c'], {})).toEqual({ taken: 'b', by: 'rotate/run-1' });
    expect((await world.ask(`select act, detail from mesh.acts`)).map(({ act, detail }) => [act, detail])).toEqual([
      ['run-1', { about: 'a and b' }],
    ]);
    expect(await world.ask(`select credential from mesh.credential_locks order by 1`)).toEqual([
      { credential: 'a' },
      { credential: 'b' },
    ]);
    await actRecords(world.store).end('run-1', 'closed');
    expect(await two.lock(rotating('run-2'), ['b', 'c'], {})).toEqual({ about: {} });
    expect((await kinds()).slice(-3)).toEqual(['act-started', 'act-closed', 'act-started']);
  });

  test('[A1.0] of acts that lock overlapping sets at once, no credential has two, and at most one wins each', async () => {
    const sets = [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'a'],
      ['b', 'a'],
      ['a', 'b', 'c'],
    ];
    const answers = await Promise.all(
      sets.map(async (paths, index) => {
        const store = world.another();
        const act = `run-${index}`;
        const answer = await credentialRecords(store).lock(rotating(act), paths, {});
        return { act, paths, isTaken: 'taken' in answer };
      }),
    );
    const won = answers.filter(({ isTaken }) => !isTaken);
    const rows = await world.ask(`select credential, act from mesh.credential_locks order by credential`);
    expect(rows).toEqual(
      won
        .flatMap(({ act, paths }) => paths.map((credential) => ({ credential, act })))
        .toSorted((a, b) => (a.credential < b.credential ? -1 : 1)),
    );
    // Any two of these sets meet, so two can never both have been given theirs.
    expect(won).toHaveLength(1);
  });

  test('[A1.0] an act that ended holds nothing', async () => {
    await credentialRecords(world.store).lock(rotating('run-1'), ['a'], {});
    await actRecords(world.store).end('run-1', 'failed');
    expect(await world.ask(`select * from mesh.credential_locks`)).toEqual([]);
  });
});

describe('credentials', () => {
  test('[S11] a rotation with overlap: arriving beside current, handed over in one transaction, then withdrawn', async () => {
    const credentials = credentialRecords(world.store);
    await begin(world, 'push');
    expect(await credentials.keep('push', [made(), made({ key: other })], [])).toBe(2);
    await begin(world, 'rotate');
    expect(await credentials.commit('rotate', async () => [made({ generation: 2, stage: 'arriving' })])).toBe(
      'committed',
    );
    expect(await generations()).toEqual(['1 current', '2 arriving', 'reports 1 current']);
    expect(await credentials.madeBy('rotate')).toEqual([
      { key, generation: 2, stage: 'arriving', origin: 'made', consumer: blob('consumer'), provider: blob('provider') },
    ]);
    await credentials.handOver('rotate', { overlapFrom: 'then' });
    // Told again after an answer was lost: nothing moves twice, and the time stays what it was.
    expect((await credentials.handOver('rotate', { overlapFrom: 'later' })).detail).toEqual({
      overlapFrom: 'then',
      waitsFor: [],
    });
    expect(await generations()).toEqual(['1 leaving', '2 current', 'reports 1 current']);
    await credentials.withdrawLeaving('rotate', {});
    await credentials.withdrawLeaving('rotate', {});
    expect(await generations()).toEqual(['1 withdrawn', '2 current', 'reports 1 current']);
    expect(await kinds()).toEqual(
      expect.arrayContaining(['credential-made', 'credentials-handed-over', 'credential-withdrawn']),
    );
  });

  test('[S11] a rotation without overlap takes the old generation away in the transaction that brings the new', async () => {
    const credentials = credentialRecords(world.store);
    await begin(world, 'push');
    await credentials.keep('push', [made()], []);
    await begin(world, 'rotate');
    await credentials.commit('rotate', async () => [made({ generation: 2, earlier: 'withdrawn' })]);
    await credentials.commit('rotate', async () => [
      made({ generation: 2, earlier: 'withdrawn', consumer: blob('a second value') }),
    ]);
    expect(await generations()).toEqual(['1 withdrawn', '2 current']);
    expect((await credentials.madeBy('rotate'))[0]?.consumer).toEqual(blob('consumer'));
  });

  test('[S11] who is still bound to a provider is known by keys: of one module to one provider, for one provision', async () => {
    const credentials = credentialRecords(world.store);
    await world.ask(`insert into mesh.bindings (node, module, provision, provider_node, provider_module)
      values ('beta', 'notes', 'postgres-database', 'alpha', 'postgres')`);
    const elsewhere: PairKey = { ...key, providerNode: node('beta') };
    const another: PairKey = { ...key, consumerModule: module('postgres') };
    expect(await credentials.bound([key, other, elsewhere, another])).toEqual(
      new Set([pairPath(key), pairPath(other)]),
    );
    await world.ask(`delete from mesh.bindings`);
    expect(await credentials.bound([key, other])).toEqual(new Set());
  });

  test('[S3] of two pushes that make the same secret at once, one value stays, and it is never remade', async () => {
    const values = await Promise.all(
      ['push-1', 'push-2', 'push-3'].map(async (act) => {
        const store = world.another();
        await begin({ ...world, store }, act);
        return credentialRecords(store).keep(
          act,
          [made({ consumer: blob(act) })],
          [
            {
              key: { node: node('beta'), module: module('notes'), name: partNamed('cookie') },
              node: { ...blob(act), fingerprint: 'of-beta' },
            },
          ],
        );
      }),
    );
    expect(values.reduce((sum, one) => sum + one, 0)).toBe(2);
    const [before] = await world.ask(`select encode(consumer_blob, 'escape') as blob from mesh.pair_secrets`);
    await begin(world, 'push-4');
    expect(await credentialRecords(world.store).keep('push-4', [made({ consumer: blob('push-4') })], [])).toBe(0);
    expect(await world.ask(`select encode(consumer_blob, 'escape') as blob from mesh.pair_secrets`)).toEqual([before]);
  });

  test('[S4] what is sealed to another key is remade, once an act; what another act is changing is left to it', async () => {
    const credentials = credentialRecords(world.store);
    const own = {
      key: { node: node('beta'), module: module('notes'), name: partNamed('cookie') },
      node: blob('old-key'),
    };
    await begin(world, 'push-1');
    await credentials.keep('push-1', [made()], [own]);
    await begin(world, 'push-2');
    const remade = [made({ generation: 2, earlier: 'withdrawn' })];
    expect(await credentials.keep('push-2', remade, [{ ...own, node: blob('new-key') }])).toBe(2);
    expect(await credentials.keep('push-2', remade, [{ ...own, node: blob('newer-key') }])).toBe(0);
    expect(await generations()).toEqual(['1 withdrawn', '2 current']);
    await credentials.lock(rotating('rotate'), [pairPath(key)], {});
    await begin(world, 'push-3');
    expect(await credentials.keep('push-3', [made({ generation: 3, earlier: 'withdrawn' })], [])).toBe(0);
    expect(await generations()).toEqual(['1 withdrawn', '2 current']);
    expect(await world.ask(`select act from mesh.credential_locks`)).toEqual([{ act: 'rotate' }]);
  });
});

describe('declarations', () => {
  const sent = (number: number, digest: string) => ({
    node: node('alpha'),
    digest,
    number,
    streamSequence: number * 10,
    resources: new Map([['notes/file/x', digest]]),
  });

  test('[D4] of two sendings the higher number stays, in whichever order they are recorded', async () => {
    const declarations = declarationRecords(world.store);
    await declarations.recordSent(sent(2, 'second'));
    await declarations.recordSent(sent(1, 'first'));
    const { resources, ...second } = sent(2, 'second');
    expect(await world.store.read((view) => view.sentRows([node('alpha')]))).toMatchObject([second]);
    expect(await world.store.read((view) => view.sentResources([node('alpha')]))).toEqual(
      new Map([[node('alpha'), resources]]),
    );
    await declarations.recordSent(sent(3, 'third'));
    const { sent: rows, number } = await declarations.numbered();
    expect(rows.get(node('alpha'))).toMatchObject({ digest: 'third', streamSequence: 30 });
    expect((await declarations.numbered()).number).toBeGreaterThan(number);
    expect((await kinds()).filter((kind) => kind === 'declaration-sent')).toHaveLength(2);
  });

  test('the sealing keys of nodes that have proven one', async () => {
    const keys = await declarationRecords(world.store).sealingKeys([node('alpha'), node('nobody')]);
    expect([...keys].map(([name, bytes]) => [name, bytes.length])).toEqual([['alpha', 32]]);
  });
});

describe('bus credentials', () => {
  const credential = (accountKey: string) => ({
    kind: 'node' as const,
    name: 'alpha',
    accountKey,
    accountJwt: `jwt of ${accountKey}`,
    userKey: 'U1',
    userJwt: 'jwt of U1',
  });
  test('[U15] one live credential a name: prepared twice it is the first, and a new one only after it was taken', async () => {
    const credentials = busCredentialRecords(world.store);
    const both = await Promise.all([
      credentials.prepare(credential('A1')),
      busCredentialRecords(world.another()).prepare(credential('A2')),
    ]);
    expect(both[0]?.accountKey).toBe(both[1]?.accountKey);
    const first = both[0]?.accountKey ?? '';
    expect(await credentials.record(first)).toBe(true);
    expect(await credentials.liveOf('node', 'alpha')).toMatchObject({ accountKey: first, pushedAt: expect.any(Date) });
    expect(await credentials.revoke(first)).toBe(true);
    expect(await credentials.revoke(first)).toBe(false);
    expect(await credentials.record(first)).toBe(false);
    expect(await credentials.liveOf('node', 'alpha')).toBeUndefined();
    expect(await credentials.prepare(credential('A3'))).toMatchObject({ accountKey: 'A3' });
    expect(await credentials.live()).toHaveLength(1);
  });
});
