/** Secrets whose values people hand over (S12), and what is never done with them (S13), over a real store. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { pairPath, type SealedCopy } from '../../src/domain/credential/credential.ts';
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { partName, type NodeName } from '../../src/domain/words/names.ts';
import { credentialRecords } from '../../src/operations/act/credential-records.ts';
import { assign } from '../../src/operations/intent/assign.ts';
import { unassign } from '../../src/operations/intent/unassign.ts';
import { planNodes } from '../../src/operations/plan/plan-nodes.ts';
import { acceptSecret, secretToSeal, type SealedValue } from '../../src/operations/secret/accept-secret.ts';
import { askSecret } from '../../src/operations/secret/ask-secret.ts';
import { listSecrets } from '../../src/operations/secret/list-secrets.ts';
import { makeSealingKey, open, seal, sealToEach, type SealingKey } from '../../src/sealing/box.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { Plaintext } from '../../src/sealing/plaintext.ts';
import type { Store } from '../../src/store/store.ts';
import {
  accepted,
  add,
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
let keys: Readonly<Record<'alpha' | 'beta', SealingKey>>;
beforeAll(async () => {
  worlds = await raiseWorlds();
});
afterAll(() => worlds.close());
beforeEach(async () => {
  world = await worlds.make();
  keys = { alpha: makeSealingKey(), beta: makeSealingKey() };
  await join(world, 'alpha', [], keys.alpha);
  await join(world, 'beta', [], keys.beta);
  await add(world, {
    module: 'postgres',
    provides: [{ name: 'postgres-database', scope: 'mesh', listens: 'sql', grants: '/var/lib/grants' }],
    listens: { sql: 5432 },
  });
  await add(world, {
    module: 'notes',
    requires: ['postgres-database'],
    secrets: { 'postgres-database': '/etc/notes/password' },
    holds: { session: '/etc/notes/session' },
  });
  accepted(await assign(world.store, 'ada', { node: node('alpha'), module: module('postgres') }));
  accepted(await assign(world.store, 'ada', { node: node('beta'), module: module('notes') }));
});

const asked = (name: string) => ({ node: node('beta'), module: module('notes'), name: partName.parse(name) });
const own = asked('session');
const pair = asked('postgres-database');
const path = 'alpha/postgres-database/beta/notes';

/** What the command does between its two operations: in the person's process, and nowhere else. */
async function sealedFor(named: typeof own, value: string | Uint8Array, operator?: string): Promise<SealedValue> {
  const { secret, keys: present } = accepted(await secretToSeal(world.store, named));
  const keyOf = (of: NodeName): string => Buffer.from(present.get(of) ?? []).toString('base64');
  const plain = new Plaintext(value);
  if (secret.kind === 'own') return { kind: 'own', node: seal(plain, keyOf(secret.key.node)) };
  const { consumerNode, providerNode } = secret.key;
  return {
    kind: 'pair',
    ...sealToEach(plain, { consumer: keyOf(consumerNode), provider: keyOf(providerNode), operator }),
  };
}
const accept = async (named: typeof own, value: string | Uint8Array, store: Store = world.store) =>
  acceptSecret(store, 'ada', named, await sealedFor(named, value));

const opened = ({ sealed }: SealedCopy, by: SealingKey): string =>
  open(sealed, by).reveal((bytes) => Buffer.from(bytes).toString('utf8'));
const inventory = () => world.store.read((view) => view.inventory());
const generations = async () =>
  (await world.ask(`select generation, stage, origin from mesh.pair_secrets order by generation`)).map((row) =>
    Object.values(row).join(' '),
  );
const events = async () =>
  world.ask(`select person, kind, about, detail from mesh.events where kind like '%-accepted' order by id`);
const locks = () => world.ask('select * from mesh.credential_locks');
const refusalsOf = async (name: string) => {
  const [plan] = accepted(await planNodes(world.store, hash, [node(name)])).nodes;
  return plan?.kind === 'unresolvable' ? plan.refusals : [];
};

/** Makes what is missing, as a push does. */
async function madeByAPush(): Promise<void> {
  const act = await begin(world, `push-${Math.random()}`);
  const { key } = accepted(await secretToSeal(world.store, pair)).secret;
  if (!('provision' in key)) throw new Error('not a pair');
  const made = { consumer: copy('made', keys.beta), provider: copy('made', keys.alpha) };
  await credentialRecords(world.store).keep(
    act,
    [{ key, generation: 1, stage: 'current', earlier: 'withdrawn', ...made }],
    [{ key: own, node: copy('made', keys.beta) }],
  );
}
const copy = (value: string, { publicKey }: SealingKey): SealedCopy => seal(new Plaintext(value), publicKey);

/** Gives a node another key, as a machine that joins anew under its name has. */
async function rekey(name: 'alpha' | 'beta'): Promise<void> {
  keys = { ...keys, [name]: makeSealingKey() };
  const { publicKey, fingerprint } = keys[name];
  await world.ask(`update mesh.nodes set sealing_key = decode('${publicKey}', 'base64'), sealing_fingerprint = '${fingerprint}'
    where node = '${name}'`);
}

describe('an own secret', () => {
  test('[S12] takes the place of the made one, sealed to its node alone, and an event says who handed it over', async () => {
    await madeByAPush();
    expect(accepted(await accept(own, 'mine'))).toEqual({
      kind: 'own',
      path: 'beta/notes/session',
      nodes: ['beta'],
      isNew: false,
    });
    const [secret, more] = (await inventory()).ownSecrets;
    if (secret === undefined) throw new Error('there is none');
    expect(more).toBeUndefined();
    expect(secret).toMatchObject({ origin: 'accepted', node: { fingerprint: keys.beta.fingerprint } });
    expect(opened(secret.node, keys.beta)).toBe('mine');
    expect(await events()).toEqual([
      { person: 'ada', kind: 'own-secret-accepted', about: 'beta/notes/session', detail: {} },
    ]);
    expect(await listSecrets(world.store)).toMatchObject([
      { path, origin: 'made' },
      { path: 'beta/notes/session', origin: 'accepted' },
    ]);
    // Handing over another one is how it changes; a push does not.
    expect(accepted(await accept(own, 'other'))).toMatchObject({ isNew: false });
    await madeByAPush();
    const [now] = (await inventory()).ownSecrets;
    expect(now === undefined ? '' : opened(now.node, keys.beta)).toBe('other');
  });

  test('[C43] [S12] byte for byte, by the operation: every value of the case opens to itself with its node’s key', async () => {
    const caseFile = async (name: string): Promise<unknown> =>
      JSON.parse(await readFile(`test/cases/C43-secret-changed-on-the-way/${name}`, 'utf8'));
    const values = z.array(z.string()).parse(await caseFile('values.json'));
    const { each } = z
      .object({ each: z.array(z.object({ n: z.int(), sha256: z.string() })) })
      .parse(await caseFile('expected.json'));
    for (const { n, sha256 } of each) {
      accepted(await accept(own, values[n] ?? 'absent'));
      const [secret] = (await inventory()).ownSecrets;
      if (secret === undefined) throw new Error('there is none');
      expect([n, open(secret.node.sealed, keys.beta).reveal(sha256Hex)]).toEqual([n, sha256]);
    }
  });
});

describe('a credential', () => {
  test('[S12] is the next generation, in use at once, sealed to both ends; those before it are withdrawn', async () => {
    await madeByAPush();
    expect(accepted(await accept(pair, 'issued'))).toEqual({
      kind: 'pair',
      path,
      nodes: ['beta', 'alpha'],
      generation: 2,
      withdrawn: [1],
    });
    expect(await generations()).toEqual(['1 withdrawn made', '2 current accepted']);
    const [secret] = (await inventory()).pairSecrets;
    if (secret === undefined) throw new Error('there is none');
    expect([opened(secret.consumer, keys.beta), opened(secret.provider, keys.alpha)]).toEqual(['issued', 'issued']);
    expect(secret.consumer.sealed).not.toBe(secret.provider.sealed);
    expect(await events()).toEqual([
      { person: 'ada', kind: 'credential-accepted', about: path, detail: { generation: 2 } },
    ]);
    expect(await locks()).toEqual([]);
    expect(await listSecrets(world.store)).toMatchObject([
      { path, origin: 'accepted', generations: [{ generation: 2, stage: 'current' }] },
      {},
    ]);
  });

  test('[S12] one that nothing was made for yet is the first, and no push makes another', async () => {
    expect(accepted(await accept(pair, 'issued'))).toMatchObject({ generation: 1, withdrawn: [] });
    await madeByAPush();
    expect(await generations()).toEqual(['1 current accepted']);
  });

  test('[S12] a copy for the operator is kept where one was sealed', async () => {
    const operator = makeSealingKey();
    accepted(await acceptSecret(world.store, 'ada', pair, await sealedFor(pair, 'issued', operator.publicKey)));
    const [row] = await world.ask(
      `select encode(operator_blob, 'base64') as blob, operator_fingerprint from mesh.pair_secrets`,
    );
    expect(row?.['operator_fingerprint']).toBe(operator.fingerprint);
    const sealed = z.string().parse(row?.['blob']).replaceAll('\n', '');
    expect(opened({ sealed, fingerprint: operator.fingerprint }, operator)).toBe('issued');
  });

  test('[S12] [A1.0] while an act is changing it, it is refused by the act’s name, and nothing is written', async () => {
    await madeByAPush();
    const rotation = { act: 'run-1', workflowId: `rotate/${path}`, kind: 'rotate', summary: 'Rotate', person: 'bob' };
    await credentialRecords(world.store).lock(rotation, [path], {});
    const said = refused(await accept(pair, 'issued'));
    expect(said).toMatchObject({ kind: 'credential-locked', next: [`mesh act show rotate/${path}`] });
    expect(await generations()).toEqual(['1 current made']);
    expect(await events()).toEqual([]);
    expect(await locks()).toMatchObject([{ act: 'run-1' }]);
  });

  test('[S12] [M22] of several handed over at once, one is in use, and none is lost without a word', async () => {
    const stores = [world.another(), world.another(), world.another()];
    const answers = (await Promise.all(stores.map((store, n) => accept(pair, `value ${n}`, store)))).map(accepted);
    const newest = Math.max(...answers.map((answer) => ('generation' in answer ? answer.generation : 0)));
    expect(newest).toBe(3);
    expect(await generations()).toEqual(['1 withdrawn accepted', '2 withdrawn accepted', '3 current accepted']);
    expect(await locks()).toEqual([]);
  });

  test('[S12] [S13] a rotation that looked before it was handed over and commits after it writes nothing', async () => {
    await madeByAPush();
    const { key } = accepted(await secretToSeal(world.store, pair)).secret;
    if (!('provision' in key)) throw new Error('not a pair');
    accepted(await accept(pair, 'issued'));
    const rotation = { act: 'run-1', workflowId: `rotate/${path}`, kind: 'rotate', summary: 'Rotate', person: 'bob' };
    const credentials = credentialRecords(world.store);
    await credentials.lock(rotation, [pairPath(key)], {});
    const staged = { consumer: copy('made', keys.beta), provider: copy('made', keys.alpha) };
    const late = () =>
      credentials.commit('run-1', async () => [
        { key, generation: 2, stage: 'current', earlier: 'withdrawn', ...staged },
      ]);
    expect([await late(), await late()]).toEqual(['abandoned', 'abandoned']);
    expect(await generations()).toEqual(['1 withdrawn made', '2 current accepted']);
    expect(await locks()).toEqual([]);
    expect(await world.ask(`select stage from mesh.acts where act = 'run-1'`)).toEqual([{ stage: 'abandoned' }]);
  });
});

describe('between looking and writing', () => {
  test('[S12] an end that has another key by then is refused, and nothing is written', async () => {
    for (const [named, changed] of [
      [pair, 'alpha'],
      [pair, 'beta'],
      [own, 'beta'],
    ] as const) {
      const sealed = await sealedFor(named, 'issued');
      await rekey(changed);
      expect(refused(await acceptSecret(world.store, 'ada', named, sealed))).toMatchObject({
        kind: 'sealed-to-another-key',
        next: [`mesh secret accept beta/notes ${named.name}`],
      });
    }
    expect([await generations(), (await inventory()).ownSecrets, await events()]).toEqual([[], [], []]);
  });

  test('[S12] a module that is no longer assigned, or asks for it in another way, is refused', async () => {
    const [sealedPair, sealedOwn] = [await sealedFor(pair, 'issued'), await sealedFor(own, 'issued')];
    expect(refused(await acceptSecret(world.store, 'ada', pair, sealedOwn)).kind).toBe('sealed-to-another-key');
    expect(refused(await acceptSecret(world.store, 'ada', own, sealedPair)).kind).toBe('sealed-to-another-key');
    accepted(await unassign(world.store, 'ada', { node: node('beta'), module: module('notes') }));
    for (const [named, sealed] of [
      [pair, sealedPair],
      [own, sealedOwn],
    ] as const)
      expect(refused(await acceptSecret(world.store, 'ada', named, sealed)).kind).toBe('unknown-assignment');
    expect(refused(await secretToSeal(world.store, { ...own, node: node('gamma') })).kind).toBe('unknown-node');
    expect([await generations(), (await inventory()).ownSecrets]).toEqual([[], []]);
  });
});

describe('after its node was given another key', () => {
  test('[S13] what was accepted is read by nobody: the plan and the node that asks are told to have it accepted again', async () => {
    accepted(await accept(pair, 'issued'));
    accepted(await accept(own, 'mine'));
    expect([await refusalsOf('alpha'), await refusalsOf('beta')]).toEqual([[], []]);
    const { fingerprint: lost } = keys.beta;
    await rekey('beta');
    const remedies = ['mesh secret accept beta/notes postgres-database', 'mesh secret accept beta/notes session'];
    expect((await refusalsOf('beta')).map(({ kind, next }) => [kind, ...next])).toEqual(
      remedies.map((remedy) => ['secret-accepted', remedy]),
    );
    for (const [named, remedy] of [
      [pair, remedies[0]],
      [own, remedies[1]],
    ] as const)
      expect(refused(await askSecret(world.store, named, hash))).toMatchObject({
        kind: 'secret-accepted',
        next: [remedy],
      });
    // It is not made again, whoever pushes.
    await madeByAPush();
    expect(await generations()).toEqual(['1 current accepted']);
    expect((await inventory()).ownSecrets).toMatchObject([{ origin: 'accepted', node: { fingerprint: lost } }]);

    // Handing it over again is the remedy, for each.
    accepted(await accept(pair, 'issued again'));
    accepted(await accept(own, 'mine again'));
    expect([await refusalsOf('alpha'), await refusalsOf('beta')]).toEqual([[], []]);
    const told = await askSecret(world.store, pair, hash);
    if (isRefusal(told)) throw new Error(told.what);
    expect(opened(told, keys.beta)).toBe('issued again');
  });

  test('[S13] the provider’s key counts as well', async () => {
    accepted(await accept(pair, 'issued'));
    await rekey('alpha');
    for (const name of ['alpha', 'beta'])
      expect((await refusalsOf(name)).map(({ kind }) => kind)).toEqual(['secret-accepted']);
    accepted(await accept(pair, 'issued'));
    expect([await refusalsOf('alpha'), await refusalsOf('beta')]).toEqual([[], []]);
  });
});
