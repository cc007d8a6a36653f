/**
 * S5 and S23 on a whole mesh: every value that it makes is known to the test, and looked for in everything that the mesh
 * leaves anywhere; and what one node's keys open of all that lies in the store, on the bus and in the histories.
 */
import { randomBytes } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { z } from 'zod';

import { commandTable } from '../../cli/command-table.ts';
import { boundBucket, buckets } from '../../src/domain/provisioning/values.ts';
import { keysAt } from '../../src/host/keys.ts';
import type { SealingKey } from '../../src/sealing/box.ts';
import { until } from '../support/until.ts';
import { finderOf, type Known } from './finder.ts';
import { knownValues } from './known-values.ts';
import { ownSecrets, raiseLeakingMesh, type LeakingMesh } from './leaking-mesh.ts';
import { openAll } from './sealed-copies.ts';
import {
  filesIn,
  historiesOf,
  messagesOf,
  searchAll,
  tablesOf,
  watchProcesses,
  type Hit,
  type Place,
  type ProcessWatch,
} from './places.ts';

const seed = randomBytes(8).toString('hex');
/** More than this mesh makes; the last is never made, and is what the test leaks by hand. */
const values = knownValues(seed, 40);
const planted = values.at(-1) ?? '';
const plantedAs = `value ${values.length - 1}`;
/** Neither do these come from its random source: a person hands them over (S12), the last one in a way that is refused. */
const brought = { own: values.at(-2) ?? '', pair: values.at(-3) ?? '', refused: values.at(-4) ?? '' };
const known: readonly Known[] = values.flatMap((value, n) => [
  { of: `value ${n}`, secret: Buffer.from(value) },
  // What the value is the text of says as much.
  { of: `value ${n}`, secret: Buffer.from(value, 'base64url') },
]);
const find = finderOf(known);
const example = (name: string): string => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));

let mesh: LeakingMesh;
let watch: ProcessWatch;
const startedAt = Date.now();

beforeAll(async () => {
  watch = watchProcesses(find, 100);
  mesh = await raiseLeakingMesh(seed);
  await useEveryCommand(mesh);
}, 240_000);
afterAll(async () => {
  watch.stop();
  await mesh.close();
}, 60_000);

/** Failed, refused, not found, or called wrongly: none of the things for which the mesh is not well. */
const refused = [1, 3, 4, 64];

/** A process has a log and no answer; the demo raises a mesh of its own; `down` is the last test's. */
const others = ['demo', 'down', 'work controller', 'work provisioner', 'host', 'provide postgres', 'serve postgres'];
const isUsed = ({ said }: LeakingMesh, name: string): boolean =>
  said.some(({ args }) => args.join(' ').startsWith(name));

/** Every command in both forms, the ones that fail included: what it says is kept. */
async function useEveryCommand(used: LeakingMesh): Promise<void> {
  const { run, read, temporary } = used;
  for (const module of ['postgres', 'notes', 'ledger']) await run(['module', 'add', example(module)]);
  await run(['assign', 'alpha', 'postgres', '--json']);
  await run(['assign', 'beta', 'notes']);
  await run(['assign', 'gamma', 'ledger']);
  await read(['plan']);
  await run(['push']);
  await run(['secret', 'rotate', 'beta/notes', '--json']);
  await run(['secret', 'rotate', '--all', '--provider', 'alpha', '--provision', 'postgres-database']);
  await acceptSome(used);
  await run(['push', '--json']);
  const token = path.join(temporary, 'token');
  await run(['node', 'invite', 'delta', '--out', token, '--json']);
  await run(['pin', 'beta', 'postgres-database', 'alpha']);
  await run(['unpin', 'beta', 'postgres-database', '--json']);
  await Promise.all([
    read(['module', 'check', example('notes')]),
    read(['module', 'schema']),
    read(['module', 'list']),
    read(['module', 'show', 'postgres']),
    read(['node', 'list']),
    read(['node', 'show', 'alpha']),
  ]);
  await Promise.all([
    read(['settings']),
    read(['status'], [0, 6]),
    read(['events', '--limit', '500']),
    read(['acts']),
    read(['secret', 'list']),
    read(['act', 'show', 'push/all']),
  ]);
  await Promise.all([
    read(['act', 'show', 'rotate/alpha/postgres-database/beta/notes']),
    read(['act', 'cancel', 'push/all'], refused),
    read(['set', 'beta/notes', 'colour=red'], refused),
    read(['node', 'join', '--token-file', path.join(temporary, 'absent')], refused),
    read(['secret', 'rotate', 'beta/absent'], refused),
    read(['unassign', 'alpha', 'postgres'], refused),
    read(['node', 'remove', 'alpha'], refused),
    read(['module', 'forget', 'postgres'], refused),
    read(['up', '--nodes', '3']),
  ]);
  // What is new says at least what it says when it is called without arguments.
  for (const { name } of commandTable)
    if (!isUsed(used, name) && !others.includes(name)) await read(name.split(' '), [0, 6, ...refused]);
}

/** Values that a person brings: from a file, which is gone afterwards, and from a pipe. */
async function acceptSome({ run, read, temporary }: LeakingMesh): Promise<void> {
  const folder = path.join(temporary, 'keeper');
  const file = path.join(temporary, 'brought');
  await mkdir(folder);
  await writeFile(
    path.join(folder, 'module.yaml'),
    'module: keeper\nversion: "1"\nholds: { key: /etc/keeper/key }\nresources: []\n',
  );
  await run(['module', 'add', folder]);
  await run(['assign', 'alpha', 'keeper']);
  await writeFile(file, brought.pair, { mode: 0o600 });
  const pair = ['secret', 'accept', 'gamma/ledger', 'postgres-database', '--from'];
  await run([...pair, file]);
  const own = ['secret', 'accept', 'alpha/keeper', 'key', '--from', '-'];
  await run([...own, '--json'], [0], brought.own);
  await writeFile(file, `${brought.refused}\0`);
  await read([...pair, file], refused);
  await rm(file);
  await read([...pair, '-', '--provider', 'beta'], refused);
  await read(['secret', 'rotate', 'gamma/ledger'], refused);
}

/** Where each value may lie, and must: the consumer's file, the provider's grants, the own secret's file (S6, S7, S10). */
const files = () => ({
  notes: path.join(mesh.root('beta'), 'etc/notes/database.url'),
  ledger: path.join(mesh.root('gamma'), 'etc/ledger/database.password'),
  superuser: path.join(mesh.root('alpha'), 'etc/postgres/superuser'),
  keeper: path.join(mesh.root('alpha'), 'etc/keeper/key'),
  granted: (consumer: string, generation: number) =>
    path.join(mesh.root('alpha'), 'var/lib/postgres-grants', `${consumer}.${generation}`),
});

async function current() {
  const at = files();
  return {
    notes: decodeURIComponent(new URL(await readFile(at.notes, 'utf8')).password),
    ledger: await readFile(at.ledger, 'utf8'),
    superuser: await readFile(at.superuser, 'utf8'),
    keeper: await readFile(at.keeper, 'utf8'),
  };
}
const nameOf = (value: string): string => `value ${values.indexOf(value)}`;
const placesOf = (hits: readonly Hit[]): readonly string[] =>
  [...new Set(hits.map(({ of, place }) => `${of} in ${place}`))].toSorted();

/** The files that a mesh leaves: its state folder, which the nodes here are in as well. */
const stateFiles = () => filesIn(mesh.stateDir);
/** Temporary folders of everything on this machine that was written since we began, as deep as is bearable. */
async function* temporaryFiles(): AsyncGenerator<Place> {
  for (const folder of new Set(['/tmp', '/var/tmp', '/dev/shm', tmpdir()])) yield* filesIn(folder, 2, startedAt);
}

/** Real values alone: what was leaked by hand is a matter of the test that did. */
const real = (hits: readonly Hit[]): readonly Hit[] => hits.filter(({ of }) => of !== plantedAs);

describe('a value that the mesh made, or a person handed over', () => {
  test('[S5] [S12] [S22] is one that the test knows, and is what really opens the database', async () => {
    const now = await current();
    for (const value of Object.values(now)) expect(values).toContain(value);
    expect(new Set(Object.values(now)).size).toBe(4);
    expect([now.ledger, now.keeper]).toEqual([brought.pair, brought.own]);
    const server = await mesh.provider();
    const facts = z
      .object({ login: z.string(), database: z.string() })
      .parse(JSON.parse(await readFile(path.join(mesh.root('gamma'), 'etc/ledger/database-facts.json'), 'utf8')));
    const client = new pg.Client({ ...server, user: facts.login, database: facts.database, password: now.ledger });
    await client.connect();
    await client.end();
  });

  test("[S5] [C44] lies in its consumer's file, its provider's grants or its own file, and in no other file of the mesh", async () => {
    const [at, now] = [files(), await current()];
    const { hits, places, bytes } = await searchAll(find, stateFiles());
    const generation = async (consumer: string): Promise<number> => {
      const { granted } = at;
      for (let each = 1; each < 20; each += 1)
        if ((await readFile(granted(consumer, each), 'utf8').catch(() => '')) !== '') return each;
      throw new Error(`nothing is granted to ${consumer}`);
    };
    expect(placesOf(real(hits))).toEqual(
      [
        `${nameOf(now.notes)} in ${at.notes}`,
        `${nameOf(now.notes)} in ${at.granted('beta.notes', await generation('beta.notes'))}`,
        `${nameOf(now.ledger)} in ${at.ledger}`,
        `${nameOf(now.ledger)} in ${at.granted('gamma.ledger', await generation('gamma.ledger'))}`,
        `${nameOf(now.superuser)} in ${at.superuser}`,
        `${nameOf(now.keeper)} in ${at.keeper}`,
      ].toSorted(),
    );
    // All of it was looked at: two servers' data, JetStream, Temporal's file, logs.
    expect(places).toBeGreaterThan(2_000);
    expect(bytes).toBeGreaterThan(80_000_000);
    const names = new Set<string>();
    for await (const { place } of stateFiles()) names.add(path.relative(mesh.stateDir, place));
    for (const part of [
      /^postgres\/global\//,
      /^postgres\/pg_wal\//,
      /^nats\/.*\.blk$/,
      /^temporal\/temporal\.sqlite$/,
    ])
      expect([...names].some((name) => part.test(name))).toBe(true);
    for (const part of [
      /^logs\/controller/,
      /^logs\/postgres/,
      /^logs\/provisioner/,
      /nodes\/beta\/node\/provisioner\.json$/,
      /nodes\/alpha\/node\/logs\//,
      /nodes\/alpha\/root\/var\/lib\/postgres\/.*\/pg_wal\//,
    ])
      expect([...names].some((name) => part.test(name))).toBe(true);
  });

  test('[S5] is in no row of the store, and of the provider in none but as a SCRAM verifier', async () => {
    const store = await searchAll(find, tablesOf(await mesh.store()));
    expect(store.hits).toEqual([]);
    expect(store.places).toBeGreaterThan(200);
    const provider = await mesh.provider();
    expect((await searchAll(find, tablesOf(provider))).hits).toEqual([]);
    const client = new pg.Client(provider);
    await client.connect();
    const { rows } = await client.query<{ rolname: string; rolpassword: string }>(
      `select rolname, rolpassword from pg_authid where rolcanlogin order by 1`,
    );
    await client.end();
    expect(rows.map(({ rolname }) => rolname)).toEqual([
      expect.stringMatching(/^beta\.notes_[ab]$/),
      'gamma.ledger_a',
      'postgres',
    ]);
    for (const { rolpassword } of rows) expect(rolpassword).toMatch(/^SCRAM-SHA-256\$4096:/);
  });

  test('[S5] is in no message of a stream, and in no history of a workflow', async () => {
    const messages = await searchAll(find, messagesOf(mesh.bus));
    expect(messages.hits).toEqual([]);
    // What clients, the controller, the provisioner and the granter keep in buckets is in streams like any other.
    const streams = new Set<string>();
    for await (const { place } of messagesOf(mesh.bus)) streams.add(place.split(' ')[0] ?? '');
    const kept = [buckets.needs, buckets.applied, buckets.registry, buckets.assignments, boundBucket('postgres')];
    expect([...streams]).toEqual(
      expect.arrayContaining(['MESH_DECLARATIONS', ...kept.map((bucket) => `KV_${bucket}`)]),
    );
    const histories = await searchAll(find, historiesOf(mesh.temporal));
    expect(histories.hits).toEqual([]);
    // Three nodes joined, two pushes, two rotations at least; each has a history and a description.
    expect(histories.places).toBeGreaterThanOrEqual(14);
  });

  test('[S5] [S12] [C44] is in nothing that a command said, as text or JSON, on either stream', async () => {
    expect((await searchAll(find, mesh.saidPlaces())).hits).toEqual([]);
    const unused = commandTable.filter(({ name }) => !isUsed(mesh, name)).map(({ name }) => name);
    expect(unused.toSorted()).toEqual(others.toSorted());
    expect(mesh.said.filter(({ args }) => args.includes('--json')).length).toBeGreaterThanOrEqual(20);
  });

  test('[S5] [C44] was at no time among the arguments or in the environment of any process', () => {
    expect([...watch.hits.values()]).toEqual([]);
    expect(watch.looks()).toBeGreaterThan(100);
    expect(watch.processes()).toBeGreaterThan(40);
  });

  test('[S5] [C44] is in no temporary folder', async () => {
    // The mesh of this test lies in one as well: its own files are the matter of another test.
    const outside = (hits: readonly Hit[]) => hits.filter(({ place }) => !place.startsWith(mesh.stateDir));
    expect(outside((await searchAll(find, temporaryFiles())).hits)).toEqual([]);
    expect((await searchAll(find, filesIn(mesh.temporary))).hits).toEqual([]);
  });

  test("[S5] [S21] neither is a node's or the foundation's own secret: each lies in its one file", async () => {
    const own = await ownSecrets(mesh);
    expect(own.length).toBeGreaterThanOrEqual(18);
    const findOwn = finderOf(own);
    const expected = own.map(({ of, file }) => `${of} in ${file}`).toSorted();
    expect(placesOf((await searchAll(findOwn, stateFiles())).hits)).toEqual(expected);
    expect((await searchAll(findOwn, mesh.saidPlaces())).hits).toEqual([]);
    expect((await searchAll(findOwn, tablesOf(await mesh.store()))).hits).toEqual([]);
    expect((await searchAll(findOwn, historiesOf(mesh.temporal))).hits).toEqual([]);
    expect((await searchAll(findOwn, messagesOf(mesh.bus))).hits).toEqual([]);
  });
});

async function* together(...all: AsyncIterable<Place>[]): AsyncGenerator<Place> {
  for (const each of all) yield* each;
}

test("[S23] with a node's private keys, the store, the bus and every history, exactly that node's credentials open", async () => {
  const nodes = ['alpha', 'beta', 'gamma'];
  const keys = new Map<string, SealingKey>();
  for (const node of nodes) {
    const { sealing } = await keysAt(path.join(mesh.stateDir, 'nodes', node, 'node'));
    keys.set(node, sealing);
  }
  const { opened, tried } = await openAll(
    keys,
    together(tablesOf(await mesh.store()), messagesOf(mesh.bus), historiesOf(mesh.temporal)),
  );
  expect(tried).toBeGreaterThan(20);
  // By the rows' own names: how many generations and own secrets each node is an end of.
  const client = new pg.Client({ ...(await mesh.store()), database: 'mesh' });
  await client.connect();
  const { rows } = await client.query<{ node: string; count: number }>(
    `select n as node, (select count(*)::int from mesh.pair_secrets where n in (consumer_node, provider_node))
            + (select count(*)::int from mesh.own_secrets where node = n) as count
       from unnest($1::text[]) n`,
    [nodes],
  );
  await client.end();
  const opens = (node: string): readonly string[] => [
    ...new Set(opened.filter(({ by }) => by === node).map(({ value }) => value)),
  ];
  expect(nodes.map((node) => ({ node, count: opens(node).length }))).toEqual(rows);
  expect(rows.every(({ count }) => count > 0)).toBe(true);
  for (const { value } of opened) expect(values).toContain(value);
  // No blob for two: who holds one node's keys has nothing of another's.
  expect(new Set(opened.map(({ blob }) => blob)).size).toBe(opened.length);
  const now = await current();
  expect(opens('beta')).toContain(now.notes);
  expect(opens('gamma')).toContain(now.ledger);
  expect(opens('beta').filter((value) => opens('gamma').includes(value))).toEqual([]);
  expect(opens('alpha').toSorted()).toEqual(
    [...opens('beta'), ...opens('gamma'), now.superuser, now.keeper].toSorted(),
  );
});

/** Every kind of place: a way to leak into it by hand, and the search that has to see it there. */
type Bite = {
  readonly into: string;
  readonly leak: () => Promise<unknown>;
  readonly search: () => Promise<readonly Hit[]>;
  readonly where: RegExp;
};
const hitsIn = async (places: AsyncIterable<Place> | Iterable<Place>): Promise<readonly Hit[]> =>
  (await searchAll(find, places)).hits;
const inFiles = () => hitsIn(stateFiles());

async function sql(server: Promise<pg.ClientConfig>, database: string, ...statements: readonly string[]) {
  const client = new pg.Client({ ...(await server), database });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

const bites: readonly Bite[] = [
  {
    into: 'a log',
    leak: () => appendFile(path.join(mesh.stateDir, 'logs/controller.log'), `{"msg":"with ${planted}"}\n`),
    search: inFiles,
    where: /logs\/controller\.log$/,
  },
  {
    into: "another file of a node, in base64 after somebody's name",
    leak: () => writeFile(path.join(mesh.root('beta'), 'etc/basic'), Buffer.from(`user:${planted}`).toString('base64')),
    search: inFiles,
    where: /beta\/root\/etc\/basic$/,
  },
  {
    into: 'a temporary folder, in hex',
    leak: () => writeFile(path.join(tmpdir(), 'mesh-leak-planted'), Buffer.from(planted).toString('hex')),
    search: () => hitsIn(temporaryFiles()),
    where: /mesh-leak-planted$/,
  },
  {
    into: 'a row of the store',
    leak: () =>
      sql(
        mesh.store(),
        'mesh',
        `insert into mesh.events (person, kind, about, detail) values ('ada', 'x', 'y', '{"a": ["${planted}"]}')`,
        'checkpoint',
      ),
    search: async () => hitsIn(tablesOf(await mesh.store())),
    where: /^mesh mesh\.events$/,
  },
  {
    into: "the store's files",
    leak: async () => undefined,
    search: inFiles,
    where: /\/postgres\/base\/\d+\/\d+$/,
  },
  {
    into: "the provider's tables, as bytes",
    leak: () =>
      sql(
        mesh.provider(),
        'gamma.ledger',
        `create table leak (b bytea)`,
        `insert into leak values ('\\x${Buffer.from(planted).toString('hex')}')`,
        'checkpoint',
      ),
    search: async () => hitsIn(tablesOf(await mesh.provider())),
    where: /^gamma\.ledger public\.leak$/,
  },
  {
    into: "the provider's files",
    leak: async () => undefined,
    search: inFiles,
    where: /alpha\/root\/var\/lib\/postgres\/postgres-18\/(base|pg_wal)\//,
  },
  {
    into: 'a message',
    leak: () =>
      mesh.bus.nats.jetstream({ checkAPI: false }).publish('mesh.declare.nobody', `{"password":"${planted}"}`),
    search: () => hitsIn(messagesOf(mesh.bus)),
    where: /^MESH_DECLARATIONS \d+ mesh\.declare\.nobody$/,
  },
  {
    into: 'a bucket, percent-encoded in an address',
    leak: () =>
      mesh.bus.nats
        .jetstream({ checkAPI: false })
        .publish(
          `$KV.${buckets.needs}.nobody.notes.config.x`,
          `postgresql://me:${encodeURIComponent(planted)}@host/db`,
        ),
    search: () => hitsIn(messagesOf(mesh.bus)),
    where: /^KV_mesh-provisioner_needs \d+ \$KV\.mesh-provisioner_needs\.nobody\./,
  },
  {
    into: "a client's record",
    leak: () =>
      appendFile(
        path.join(mesh.stateDir, 'nodes/beta/node/provisioner.json.planted'),
        JSON.stringify({ [planted]: null }),
      ),
    search: inFiles,
    where: /beta\/node\/provisioner\.json\.planted$/,
  },
  { into: "JetStream's files", leak: async () => undefined, search: inFiles, where: /nats\/.*\.blk$/ },
  {
    into: "a workflow's input",
    leak: async () => {
      await mesh.temporal.workflow.start('leak', {
        taskQueue: 'nobody',
        workflowId: 'leak',
        args: [{ password: planted }],
      });
      // The server lists it a moment later, and it is by the list that histories are found.
      await until(async () => (await listed()).includes('leak'), { withinMs: 10_000, what: 'Temporal to list it' });
    },
    search: () => hitsIn(historiesOf(mesh.temporal)),
    where: /^leak history$/,
  },
  {
    into: "Temporal's database",
    leak: async () => undefined,
    search: inFiles,
    where: /temporal\/temporal\.sqlite(-wal)?$/,
  },
  {
    into: 'what a command says',
    leak: () => mesh.run(['node', 'show', planted, '--json'], refused),
    search: () => hitsIn(mesh.saidPlaces()),
    where: /^std(out|err) of mesh node show/,
  },
  {
    into: 'arguments',
    leak: () => untilSampled('cmdline', ['-e', 'setTimeout(() => {}, 20_000)', planted], {}),
    search: async () => [...watch.hits.values()],
    where: /^cmdline of/,
  },
  {
    into: 'an environment',
    leak: () => untilSampled('environ', ['-e', 'setTimeout(() => {}, 20_000)'], { PASSWORD: planted }),
    search: async () => [...watch.hits.values()],
    where: /^environ of/,
  },
];

async function listed(): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { workflowId } of mesh.temporal.workflow.list()) found.push(workflowId);
  return found;
}

async function untilSampled(kind: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [...args], { env, stdio: 'ignore' });
  const seen = () => [...watch.hits.values()].some(({ place }) => place.startsWith(kind));
  try {
    await until(async () => seen(), { withinMs: 10_000, what: `the ${kind} of a process to be seen` });
  } finally {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}

describe('the search bites', () => {
  test.each(bites)('[S5] a value leaked by hand into $into is found there', async ({ leak, search, where }) => {
    await leak();
    const there = (await search()).filter(({ of, place }) => of === plantedAs && where.test(place));
    expect(there).not.toEqual([]);
  });

  test('[S5] and after `down`, when everything is on disk, there is still no other', async () => {
    const before = placesOf(real(await inFiles()));
    await mesh.run(['down', '--json']);
    expect(placesOf(real(await inFiles()))).toEqual(before);
    expect(real(await hitsIn(mesh.saidPlaces()))).toEqual([]);
  });
});
