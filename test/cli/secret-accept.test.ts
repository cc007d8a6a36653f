/** Values that people hand over, on a real mesh of two nodes: from a file, a pipe and the keyboard to what a program reads (S12, C43). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { z } from 'zod';

import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { moduleName, nodeName, partName } from '../../src/domain/words/names.ts';
import { readFoundation } from '../../src/foundation/foundation.ts';
import { acceptSecret, secretToSeal } from '../../src/operations/secret/accept-secret.ts';
import { seal } from '../../src/sealing/box.ts';
import { Plaintext } from '../../src/sealing/plaintext.ts';
import { openStore } from '../../src/store/store.ts';
import { watchedFolder } from '../support/foundation.ts';
import { until } from '../support/until.ts';
import { asJson, meshInShell, runLineOnTerminal, runMesh, type How } from './run-mesh.ts';

const caseFile = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../cases/C43-secret-changed-on-the-way/${name}`, import.meta.url), 'utf8'));
const written = z.array(z.string()).parse(caseFile('values.json'));
const expected = z
  .object({ each: z.array(z.object({ n: z.int(), sha256: z.string(), bytes: z.int() })), also: z.string() })
  .parse(caseFile('expected.json'));
const long = { value: 'k'.repeat(64 * 1024), sha256: expected.also.split(' ').at(-1) };
const values = [...expected.each.map(({ n, sha256 }) => ({ value: written[n] ?? 'absent', sha256 })), long];
const valueOf = (n: number): string => values[n]?.value ?? 'absent';

let state = '';
let close: () => Promise<void> = () => Promise.resolve();
const on = (node: string, file: string): string => path.join(state, 'nodes', node, 'root', file);
async function json(args: readonly string[], how: How = {}) {
  const { code, stdout } = await runMesh([...args, '--state', state, '--json'], how);
  return { code, body: asJson(stdout) };
}
async function done(...args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, body } = await json(args);
  if (code !== 0) throw new Error(`mesh ${args.join(' ')} ended with ${code}: ${JSON.stringify(body)}`);
  return body;
}
const accept = (...args: readonly string[]): readonly string[] => ['secret', 'accept', ...args];

/** A value in a file, as a person keeps one. */
async function fileWith(name: string, value: string | Uint8Array): Promise<string> {
  const file = path.join(state, 'brought', name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, value, { mode: 0o600 });
  return file;
}
async function addModule(name: string, manifest: object): Promise<void> {
  const folder = path.join(state, 'modules', name);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'module.yaml'), JSON.stringify({ module: name, version: '1', ...manifest }));
  await done('module', 'add', folder);
}

/** What the module keeper holds: each value of the case once by the command and once by the operation, and one that is typed. */
const held = [...values.keys()].flatMap((n) => [`cli-${n}`, `api-${n}`]);
const consumers = [
  ['in-json', 'json'],
  ['alone', 'password'],
  ['made', 'password'],
  ['in-pgpass', 'pgpass'],
] as const;
const pathOf = (module: string): string => `alpha/postgres-database/beta/${module}`;

beforeAll(async () => {
  ({ stateDir: state, close } = await watchedFolder('mesh-accept-'));
  await done('up', '--nodes', '2');
  await done('module', 'add', fileURLToPath(new URL('../../examples/postgres', import.meta.url)));
  await addModule('keeper', {
    holds: Object.fromEntries([...held, 'typed', 'refused'].map((name) => [name, `/etc/keeper/${name}`])),
  });
  await Promise.all(
    consumers.map(([module, as]) =>
      addModule(module, {
        requires: ['postgres-database'],
        secrets: { 'postgres-database': { file: `/etc/${module}/access`, as } },
        binds: { 'postgres-database': `/etc/${module}/facts.json` },
      }),
    ),
  );
  await done('assign', 'alpha', 'postgres');
  for (const module of ['keeper', ...consumers.map(([name]) => name)]) await done('assign', 'beta', module);
}, 180_000);

afterAll(async () => {
  await runMesh(['down', '--state', state]);
  await close();
}, 60_000);

/** As a program does: with what stands in its own files, and nothing else. */
async function logsIn(module: string): Promise<string | undefined> {
  const text = await readFile(on('beta', `/etc/${module}/access`), 'utf8');
  const facts = z
    .object({ host: z.string(), port: z.int(), database: z.string(), login: z.string().optional() })
    .parse(JSON.parse(await readFile(on('beta', `/etc/${module}/facts.json`), 'utf8')));
  const access =
    facts.login === undefined
      ? z.object({ login: z.string(), password: z.string() }).parse(JSON.parse(text))
      : { login: facts.login, password: text };
  const { host, port, database } = facts;
  const client = new pg.Client({ host, port, database, user: access.login, password: access.password });
  try {
    await client.connect();
    const { rows } = await client.query<{ login: string }>('select session_user as login');
    return rows[0]?.login;
  } catch {
    // Not yet: the granter has its own time.
    return undefined;
  } finally {
    await client.end().catch(() => undefined);
  }
}

const loggedIn = (module: string, as: string) =>
  until(async () => (await logsIn(module)) === as, { withinMs: 20_000, what: `${module} to log in as ${as}` });

/** Through the operation, as another way in than the command would. */
async function acceptByOperation(): Promise<void> {
  const foundation = await readFoundation(state);
  if (foundation === undefined) throw new Error('there is no mesh');
  const store = openStore(foundation.postgres);
  try {
    for (const [n, { value }] of values.entries()) {
      const named = {
        node: nodeName.parse('beta'),
        module: moduleName.parse('keeper'),
        name: partName.parse(`api-${n}`),
      };
      const toSeal = await secretToSeal(store, named);
      if (isRefusal(toSeal)) throw new Error(toSeal.what);
      const key = Buffer.from(toSeal.keys.get(named.node) ?? []).toString('base64');
      const accepted = await acceptSecret(store, 'ada', named, {
        kind: 'own',
        node: seal(new Plaintext(value), key),
      });
      if (isRefusal(accepted)) throw new Error(accepted.what);
    }
  } finally {
    await store.close();
  }
}

const prompt = 'it is not shown): ';

describe('handed over', () => {
  test('[S12] [C43] every value of the case, from a file and a pipe, and by the operation', async () => {
    const acceptOne = async (n: number): Promise<void> => {
      const { value } = values[n] ?? long;
      const one = accept('beta/keeper', `cli-${n}`);
      const { code, body } =
        n % 2 === 0
          ? await json([...one, '--from', await fileWith(`c43-${n}`, value)])
          : await json([...one, '--from', '-'], { input: value });
      expect({ n, code, body }).toMatchObject({
        n,
        code: 0,
        body: {
          schema: 'mesh.accepted',
          path: `beta/keeper/cli-${n}`,
          kind: 'own',
          origin: 'accepted',
          bytes: Buffer.byteLength(value),
          nodes: ['beta'],
        },
      });
    };
    const waiting = [...values.keys()];
    const worker = async (): Promise<void> => {
      for (let n = waiting.shift(); n !== undefined; n = waiting.shift()) await acceptOne(n);
    };
    await Promise.all([worker(), worker(), worker(), acceptByOperation()]);
  }, 120_000);

  test('[S12] [C94] typed at a terminal: asked for on stderr, not shown, and not in the JSON', async () => {
    const line = `${meshInShell} secret accept beta/keeper typed --json --state ${state} >${state}/typed.json`;
    // One line is cleared and begun anew, and a character of several bytes taken back.
    const keys = 'nothing\u0015tippy\u0008ed-in-é🔑\u007fword\r';
    const { code, stdout } = await runLineOnTerminal(line, { input: keys, after: prompt });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Value of beta/keeper/typed (${prompt}\r\n` });
    const said = await readFile(path.join(state, 'typed.json'), 'utf8');
    expect(asJson(said)).toMatchObject({ path: 'beta/keeper/typed', bytes: Buffer.byteLength('tipped-in-éword') });
    expect(said).not.toContain('word');
  }, 30_000);

  test('[S12] [U1] [U2] a typed one that is broken off, or of several lines, is not taken; nor is the echo left off', async () => {
    const terminal = async (keys: string) => {
      const line = `${meshInShell} secret accept beta/keeper refused --state ${state}; echo ended with $?; stty -a`;
      return (await runLineOnTerminal(line, { input: keys, after: prompt })).stdout;
    };
    const [stopped, several] = await Promise.all([terminal('half a val\u0003'), terminal('first\rsecond\r')]);
    expect(stopped).toContain('ended with 130');
    expect(several).toContain('ended with 64');
    for (const said of [stopped, several]) {
      expect(said).toMatch(/[^-]icanon.*[^-]echo /s);
      expect(said).not.toMatch(/half|first|second/);
    }
  }, 30_000);

  test('[S12] for a pair: to both ends, in a form that carries the login and as the password alone', async () => {
    // Made ones first, so that there is something to take the place of.
    await done('push');
    await loggedIn('in-json', 'beta.in-json_a');
    const [inJson, alone] = await Promise.all([
      json(accept('beta/in-json', 'postgres-database', '--from', await fileWith('in-json', valueOf(17)))),
      json(accept('beta/alone', 'postgres-database', '--provider', 'alpha', '--from', '-'), { input: valueOf(21) }),
    ]);
    for (const { code, body } of [inJson, alone])
      expect({ code, body }).toMatchObject({
        code: 0,
        body: { kind: 'pair', origin: 'accepted', nodes: ['beta', 'alpha'], generation: 2, withdrawn: [1] },
      });
    const text = await runMesh([
      ...accept('beta/in-json', 'postgres-database', '--state', state, '--from', await fileWith('again', valueOf(9))),
    ]);
    expect(text.stdout).toContain('mesh push alpha beta');
    expect(await done('push', 'alpha', 'beta')).toMatchObject({ failedCount: 0, applied: 2 });
  }, 120_000);
});

describe('sent', () => {
  test('[S12] [C43] [S10] each own one is in its file, byte for byte, for its owner alone', async () => {
    const digest = async (name: string): Promise<string> =>
      createHash('sha256')
        .update(await readFile(on('beta', `/etc/keeper/${name}`)))
        .digest('hex');
    for (const way of ['cli', 'api'])
      for (const [n, { sha256 }] of values.entries())
        expect([way, n, await digest(`${way}-${n}`)]).toEqual([way, n, sha256]);
    expect((await stat(on('beta', '/etc/keeper/cli-0'))).mode & 0o777).toBe(0o600);
    expect(await readFile(on('beta', '/etc/keeper/typed'), 'utf8')).toBe('tipped-in-éword');
    // What was broken off left the made one as it was.
    expect(await readFile(on('beta', '/etc/keeper/refused'), 'utf8')).toMatch(/^[\w-]{43}$/);
  });

  test('[S12] [S8] [C43] the provider’s granter gives each a login that really works, and takes the one before it away', async () => {
    // Two generations further, so the same of its two logins: what was made before it is no password any more.
    await loggedIn('in-json', 'beta.in-json_a');
    await loggedIn('alone', 'beta.alone_a');
    await loggedIn('made', 'beta.made_a');
    const access: unknown = JSON.parse(await readFile(on('beta', '/etc/in-json/access'), 'utf8'));
    expect(access).toEqual({ login: 'beta.in-json_a', password: valueOf(9) });
    expect(await readFile(on('beta', '/etc/alone/access'), 'utf8')).toBe(valueOf(21));
  }, 60_000);

  test('[S13] it is listed as accepted, and a rotation refuses it, and with it the lot until it is left out', async () => {
    const { secrets } = z
      .object({ secrets: z.array(z.object({ path: z.string(), origin: z.string() })) })
      .parse(await done('secret', 'list'));
    const origins = new Map(secrets.map((one) => [one.path, one.origin]));
    expect(['in-json', 'alone', 'made'].map((module) => origins.get(pathOf(module)))).toEqual([
      'accepted',
      'accepted',
      'made',
    ]);
    expect(origins.get('beta/keeper/cli-0')).toBe('accepted');
    const all = ['secret', 'rotate', '--all', '--provider', 'alpha', '--provision', 'postgres-database'];
    const [alone, lot] = await Promise.all([json(['secret', 'rotate', 'beta/alone']), json(all)]);
    const accepting = (module: string): string => `mesh secret accept beta/${module} postgres-database`;
    expect(alone).toMatchObject({ code: 3, body: { kind: 'secret-accepted', next: [accepting('alone')] } });
    const except = ['--except', pathOf('alone'), '--except', pathOf('in-json')];
    expect(lot).toMatchObject({
      code: 3,
      body: {
        kind: 'secret-accepted',
        next: [`mesh ${[...all, ...except].join(' ')}`, accepting('alone'), accepting('in-json')],
      },
    });
    // in-pgpass is nobody's program: it is never seen with its new one.
    const rest = [...all, ...except, '--except', pathOf('in-pgpass')];
    expect(await json(rest)).toMatchObject({ code: 0, body: { schema: 'mesh.rotation', credentials: 1 } });
    expect(await json([...all, '--except', pathOf('nobody')])).toMatchObject({ code: 4 });
    expect(await logsIn('alone')).toBe('beta.alone_a');
  }, 60_000);
});

test('[S12] [C43] [U1] what cannot be taken is refused with what it is and the limit, and nothing is written', async () => {
  const before = (await done('events', '--limit', '1'))['events'];
  const planted = 'planted-value';
  const [nul, tooLong, lines, empty] = await Promise.all([
    fileWith('nul', `${planted}\0`),
    fileWith('too-long', planted.repeat(6_000)),
    fileWith('lines', `${planted}\n`),
    fileWith('empty', ''),
  ]);
  const own = accept('beta/keeper', 'refused', '--from');
  const cases: readonly (readonly [readonly string[], number, string, RegExp])[] = [
    [[...own, nul], 3, 'value-unfit', /NUL byte/],
    [[...own, tooLong], 3, 'value-unfit', /more than 65536 bytes/],
    [accept('beta/in-pgpass', 'postgres-database', '--from', lines), 3, 'value-unfit', /line break/],
    [accept('beta/alone', 'postgres-database', '--from', empty), 3, 'value-unfit', /empty/],
    [accept('beta/alone', 'postgres-database', '--from', empty, '--provider', 'beta'), 4, 'unknown-credential', /beta/],
    [accept('beta/keeper', 'nothing', '--from', nul), 4, 'unknown-credential', /nothing asks for nothing/],
    [accept('alpha/keeper', 'typed', '--from', nul), 4, 'unknown-assignment', /does not run on alpha/],
    [[...own, path.join(state, 'nowhere')], 1, 'fault', /cannot be read/],
    [accept('beta/keeper', 'refused'), 64, 'usage', /--from/],
    [accept('beta/keeper', 'refused', planted), 64, 'usage', /more than it takes/],
  ];
  const answers = await Promise.all(
    cases.map(async ([args, exitCode, kind, what]) => ({ args, exitCode, kind, what, ...(await json(args)) })),
  );
  for (const { args, exitCode, kind, what, code, body } of answers) {
    expect({ args, code, body }).toMatchObject({ args, code: exitCode, body: { kind } });
    expect(body['what']).toMatch(what);
    expect(JSON.stringify(body)).not.toContain(planted);
  }
  expect((await done('events', '--limit', '1'))['events']).toEqual(before);
}, 60_000);
