/** A mesh with one node whose host looks every moment: what a person sees of drift, of what is stuck, of a plan, as it happens. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

import { watchedFolder } from '../support/foundation.ts';
import { until } from '../support/until.ts';
import { asJson, meshInShell, runLineOnTerminal, runMesh, runMeshOnTerminal, startMesh, type Ran } from './run-mesh.ts';

const run = promisify(execFile);
let state = '';
let close: () => Promise<void> = () => Promise.resolve();
let host: ReturnType<typeof startMesh> | undefined;
const mesh = (...args: string[]): Promise<Ran> => runMesh([...args, '--state', state]);
async function json(...args: string[]) {
  const { code, stdout } = await mesh(...args, '--json');
  return { code, body: asJson(stdout) };
}
const rootOf = (nodePath: string): string => path.join(state, 'nodes/alpha/root', nodePath);

async function add(name: string, manifest: string): Promise<void> {
  const folder = path.join(state, 'modules', name);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'module.yaml'), `module: ${name}\nversion: "1"\n${manifest}`);
  const { code, stderr } = await mesh('module', 'add', folder);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
}
const numbered = (changed: string): string =>
  Array.from({ length: 9 }, (_, n) => (n === 4 ? changed : `line ${n + 1}`)).join('\\n');
const web = (line: string, title: string): string => `settings: { size: {} }
listens: { http: 80 }
resources:
  - { kind: file, path: /etc/web, content: "${numbered(line)}" }
  - { kind: process, name: web, command: [sleep, "1000"], env: { TITLE: "${title}" } }
`;

/** The same mesh, seen from a state folder in which one part of it has another port: one that nothing listens on, where none is given. */
async function meshWithout(part: string, port = 1): Promise<string> {
  const folder = await mkdtemp(path.join(state, `without-${part}-`));
  await symlink(path.join(state, 'secrets'), path.join(folder, 'secrets'));
  const kept = z
    .looseObject({ ports: z.record(z.string(), z.int()) })
    .parse(JSON.parse(await readFile(path.join(state, 'foundation.json'), 'utf8')));
  expect(Object.keys(kept.ports)).toContain(part);
  await writeFile(
    path.join(folder, 'foundation.json'),
    JSON.stringify({ ...kept, ports: { ...kept.ports, [part]: port } }),
  );
  return folder;
}

beforeAll(async () => {
  ({ stateDir: state, close } = await watchedFolder('mesh-cli-live-'));
  const { code, stderr } = await mesh('up', '--nodes', '1');
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  // The host that `up` left is ended as a crash would, and one that looks every moment takes its node over.
  process.kill(Number(readFileSync(path.join(state, 'run/host-alpha.pid'), 'utf8').split('\n')[0]), 'SIGKILL');
  const at = path.join(state, 'nodes/alpha');
  host = startMesh(['host', '--state', at, '--root', rootOf('').replace(/\/$/, ''), '--interval', '700ms']);
}, 120_000);

afterAll(async () => {
  host?.child.kill('SIGTERM');
  await host?.ended;
  await mesh('down');
  await close();
}, 60_000);

const statusNow = async () =>
  z
    .looseObject({
      nodes: z.tuple([
        z.looseObject({ concern: z.string(), lastReport: z.looseObject({ drift: z.array(z.string()) }) }),
      ]),
    })
    .parse((await json('status')).body).nodes[0];

describe('plan', () => {
  test('[D6] --full shows the lines of a file and the fields of a process, against what stands on the node’s subject', async () => {
    await add('web', web('five', 'a'));
    expect((await mesh('assign', 'alpha', 'web')).code).toBe(0);
    expect((await json('push')).code).toBe(0);
    expect((await json('plan', '--full', '--detailed-exitcode')).code).toBe(0);
    await add('web', web('FIVE', 'b'));
    const plain = await json('plan', 'alpha', '--detailed-exitcode');
    expect(plain).toMatchObject({
      code: 2,
      body: { nodes: [{ told: 'behind', change: ['web/file/etc/web', 'web/process/web'] }] },
    });
    expect(JSON.stringify(plain.body)).not.toContain('FIVE');
    const { code, body } = await json('plan', 'alpha', '--full', '--detailed-exitcode');
    expect({ code, body }).toMatchObject({
      code: 2,
      body: {
        nodes: [
          {
            changes: [
              {
                id: 'web/file/etc/web',
                fields: [],
                hunks: [
                  {
                    before: 2,
                    after: 2,
                    lines: [
                      ...['line 2', 'line 3', 'line 4'].map((text) => ({ is: 'same', text })),
                      { is: 'gone', text: 'five' },
                      { is: 'new', text: 'FIVE' },
                      ...['line 6', 'line 7', 'line 8'].map((text) => ({ is: 'same', text })),
                    ],
                  },
                ],
              },
              { id: 'web/process/web', fields: [{ field: 'env.TITLE', before: '"a"', after: '"b"' }] },
            ],
          },
        ],
      },
    });
    const { stdout } = await mesh('plan', 'alpha', '--full');
    expect(stdout).toContain('- five');
    expect(stdout).toContain('+ FIVE');
    expect(stdout).toContain('env.TITLE: "a" → "b"');
    expect(stdout).not.toContain('line 9');
  });

  test('[D6] a bus that does not answer leaves the plan as it is, and says what cannot be told', async () => {
    // The same store, and a bus that does not answer: the plan is shown, and what it cannot tell is said.
    const elsewhere = await meshWithout('nats');
    const { code, stdout, stderr } = await runMesh(['plan', 'alpha', '--full', '--json', '--state', elsewhere]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(asJson(stdout)).toMatchObject({
      nodes: [
        {
          change: { length: 2 },
          changesUnknown: expect.stringMatching(/the bus at \S+ cannot be used: no NATS server greets there/),
        },
      ],
    });
    expect((await json('push')).code).toBe(0);
  });
});

describe('drift, and what is stuck', () => {
  test('[D13] [D24] a file that is edited by hand is put back; status shows it, --watch says it as it happens, events keep it', async () => {
    const watching = startMesh(['status', '--watch', '--state', state]);
    const watchingJson = startMesh(['status', '--watch', '--json', '--state', state]);
    await until(() => watching.stdout().includes('All is well') && watchingJson.stdout().includes('\n'), {
      withinMs: 20_000,
      what: 'the first pictures',
    });
    await writeFile(rootOf('/etc/web'), 'edited by hand');
    const sentence = '/etc/web had been changed and was put back';
    await until(() => watching.stdout().includes(`put right: ${sentence}`), { withinMs: 20_000, what: 'the drift' });
    expect(await readFile(rootOf('/etc/web'), 'utf8')).toContain('FIVE');
    // Until the next report the state itself says it; here that comes with every report, since somebody goes on spoiling the file.
    const spoiling = setInterval(() => void rm(rootOf('/etc/web'), { force: true }), 20);
    try {
      await until(async () => (await statusNow()).lastReport.drift.some((one) => one.includes('/etc/web')), {
        withinMs: 30_000,
        what: 'status to show the drift',
      });
    } finally {
      clearInterval(spoiling);
    }
    const events = (await json('events', '--about', 'alpha')).body['events'];
    expect(events).toContainEqual(
      expect.objectContaining({ kind: 'drift-put-right', detail: { drift: [sentence] }, person: 'controller' }),
    );
    watching.child.kill('SIGINT');
    watchingJson.child.kill('SIGINT');
    expect([await watching.ended, await watchingJson.ended]).toEqual([130, 130]);
    // A line for each change, and not one of them an escape: this is no terminal.
    expect(watching.stdout()).not.toContain('\u001b');
    const lines = watchingJson.stdout().trimEnd().split('\n').map(asJson);
    expect(lines.length).toBeGreaterThanOrEqual(3);
    expect(lines.at(-1)).toMatchObject({ schema: 'mesh.error', kind: 'interrupted', exitCode: 130 });
    for (const line of lines.slice(0, -1)) expect(line).toMatchObject({ schema: 'mesh.status' });
    expect(lines.some((line) => JSON.stringify(line).includes(sentence))).toBe(true);
  }, 120_000);

  test('[D18] the same failure three times is stuck, in words and JSON, with since when; mended, it is gone', async () => {
    await add('gone', 'resources: [{ kind: process, name: gone, command: [/no/such/program] }]\n');
    expect((await mesh('assign', 'alpha', 'gone')).code).toBe(0);
    const before = Date.now();
    expect((await json('push')).code).toBe(6);
    const failing = z.object({ reports: z.int(), stuck: z.boolean(), since: z.iso.datetime() });
    await until(async () => failing.safeParse((await statusNow()).lastReport['failing']).data?.stuck === true, {
      withinMs: 60_000,
      what: 'it to be stuck',
    });
    const { code, body } = await json('status');
    expect({ code, body }).toMatchObject({
      code: 6,
      body: { needsAttention: true, nodes: [{ concern: 'broken', outcome: 'failed' }] },
    });
    const said = failing.parse((await statusNow()).lastReport['failing']);
    expect(said.reports).toBeGreaterThanOrEqual(3);
    expect(Date.parse(said.since)).toBeGreaterThan(before - 1_000);
    const text = await mesh('status');
    expect(text.code).toBe(6);
    expect(text.stdout).toMatch(/alpha +stuck/);
    expect(text.stdout).toMatch(new RegExp(`stuck: \\d+ reports in a row said so, since ${said.since}`));
    expect((await mesh('unassign', 'alpha', 'gone', '--yes')).code).toBe(0);
    expect((await json('push')).code).toBe(0);
    expect((await mesh('status')).stdout).not.toContain('stuck');
  }, 120_000);

  test('[D24] on a terminal the picture is painted over the last one, and Ctrl-C ends it with 130', async () => {
    const line = `${meshInShell} status --watch --state ${state} & pid=$!; sleep 4; kill -INT $pid; wait $pid; echo "ended with $?"`;
    const { stdout } = await runLineOnTerminal(line);
    expect(stdout).toContain('\u001b[H');
    expect(stdout).toContain('ended with 130');
    const dumb = await runLineOnTerminal(line, { env: { TERM: 'dumb' } });
    expect(dumb.stdout).not.toContain('\u001b');
    expect(dumb.stdout).toContain('ended with 130');
  }, 60_000);
});

describe('what goes with a module', () => {
  test('[M16] [C56] is listed as JSON and in words, with 3, and everything is still there; no act was started', async () => {
    const acts = (await json('acts')).body['acts'];
    const { code, body } = await json('module', 'forget', 'web');
    expect({ code, body }).toMatchObject({
      code: 3,
      body: {
        schema: 'mesh.error',
        kind: 'forget-destroys',
        facts: { module: 'web', assignments: ['alpha/web'], ports: ['20000/tcp of alpha (http)'] },
      },
    });
    const said = await mesh('module', 'forget', 'web');
    expect(said.code).toBe(3);
    expect(said.stderr).toContain('port 20000/tcp of alpha (http)');
    expect(said.stderr).toContain('--and-what-it-holds');
    expect((await json('module', 'forget', 'nothing')).code).toBe(4);
    expect((await json('acts')).body['acts']).toEqual(acts);
    expect((await json('node', 'show', 'alpha')).body).toMatchObject({ modules: ['web'] });
  });
});

describe('completion', () => {
  const complete = async (...words: string[]) =>
    (await runMesh(['complete', '--', ...words], { env: { MESH_STATE: state } })).stdout
      .split('\n')
      .filter((one) => one !== '');

  test('[U6] names are those of the mesh as it is now', async () => {
    expect(await complete('node', 'show', '')).toEqual(['alpha']);
    expect(await complete('assign', 'alpha', '')).toEqual(['gone', 'web']);
    expect(await complete('assign', 'alpha', 'w')).toEqual(['web']);
    expect(await complete('set', 'al')).toEqual(['alpha/web']);
    expect(await complete('act', 'show', 'enrol')).toEqual(['enrol/alpha']);
    expect(await complete('push', '--timeout', '1s', 'alpha', '')).toEqual(['alpha']);
    expect(await runMesh(['complete', '--', '--state', state, 'node', 'show', ''])).toMatchObject({
      stdout: 'alpha\n',
    });
    expect(await runMesh(['complete', '--', 'node', 'show', ''])).toMatchObject({ code: 0, stdout: '', stderr: '' });
  });

  test('[U6] bash hands its line over and shows what comes back', async () => {
    const { stdout: script } = await runMesh(['completion', 'bash']);
    const folder = path.join(state, 'bin');
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, 'mesh'), `#!/bin/sh\nexec ${meshInShell} "$@"\n`, {
      mode: 0o755,
    });
    const line = `${script}\nCOMP_WORDS=(mesh node show al); COMP_CWORD=3; _mesh_complete; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await run('bash', ['-c', line], {
      env: { PATH: `${folder}:${process.env['PATH'] ?? ''}`, HOME: state, MESH_STATE: state },
    });
    expect(stdout).toBe('alpha\n');
  });
});

describe('[C94] JSON that is', () => {
  test('[C94] a number that would lose digits is refused, and a text with a quote, a line end and an emoji comes back as it was', async () => {
    const odd = 'a "quote",\na line end and 🎉';
    expect((await json('set', 'alpha/web', `size=${odd}`)).code).toBe(0);
    expect((await json('settings')).body['settings']).toEqual([
      { node: 'alpha', module: 'web', name: 'size', value: odd },
    ]);
    expect(await json('set', 'alpha/web', 'size=9007199254740993', '--parse')).toMatchObject({
      code: 64,
      body: { kind: 'usage' },
    });
    expect(await json('set', 'alpha/web', 'size={"n":[1,-9007199254740993]}', '--parse')).toMatchObject({ code: 64 });
    expect((await json('set', 'alpha/web', 'size={"n":"9007199254740993","m":9007199254740991}', '--parse')).code).toBe(
      0,
    );
    expect(await json('set', 'alpha/web', `si"ze=1`)).toMatchObject({ code: 3, body: { kind: 'invalid-name' } });
  });

  test('[C94] a question goes to the terminal, never into the JSON', async () => {
    const file = path.join(state, 'answer.json');
    const line = `${meshInShell} unassign alpha web --json --state ${state} > ${file}`;
    expect((await runLineOnTerminal(line, { input: 'n\n' })).stdout).toContain('[y/N]');
    expect(asJson(await readFile(file, 'utf8'))).toMatchObject({ schema: 'mesh.error', kind: 'declined', exitCode: 3 });
  });

  test('[C94] Ctrl-C while waiting: 130, and one object that says that the work goes on', async () => {
    host?.child.kill('SIGSTOP');
    try {
      await add('late', 'resources: [{ kind: file, path: /etc/late, content: x }]\n');
      await mesh('assign', 'alpha', 'late');
      const waiting = startMesh(['push', 'alpha', '--json', '--state', state]);
      await until(() => waiting.stderr().includes('Waiting for alpha'), { withinMs: 20_000, what: 'it to wait' });
      waiting.child.kill('SIGINT');
      expect(await waiting.ended).toBe(130);
      expect(asJson(waiting.stdout())).toMatchObject({ kind: 'interrupted', what: expect.stringContaining('goes on') });
    } finally {
      host?.child.kill('SIGCONT');
    }
    expect((await json('push', 'alpha')).code).toBe(0);
  }, 60_000);

  test('[C94] a reader that closes early is no fault, and a file gets no colours', async () => {
    const { stderr, stdout } = await run('sh', [
      '-c',
      `${meshInShell} events --limit 500 --json --state ${state} | head -c 1`,
    ]);
    expect({ stderr, stdout }).toEqual({ stderr: '', stdout: '{' });
    expect((await mesh('status')).stdout).not.toContain('\u001b');
    expect((await runMeshOnTerminal(['status', '--json', '--state', state])).stdout).not.toContain('\u001b');
  });

  test('[A15] where Temporal does not answer, which acts have not begun is not known, and that is said', async () => {
    const { code, stdout } = await runMesh(['status', '--json', '--state', await meshWithout('temporal')]);
    const body = asJson(stdout);
    expect({ code, body }).toMatchObject({
      code: 6,
      body: { needsAttention: true, unbegunUnknown: expect.stringContaining('Temporal does not answer') },
    });
    expect(body).not.toHaveProperty('unbegun');
  });

  test('[U5] a server that takes the line and says nothing keeps no command waiting: which one it is, is said', async () => {
    const lines = new Set<Socket>();
    const server = createServer((line) => lines.add(line.on('error', () => undefined)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = z.object({ port: z.int() }).parse(server.address());
    const asked = async (part: string, ...args: string[]) => {
      const { code, stdout } = await runMesh([...args, '--json', '--state', await meshWithout(part, port)]);
      return { code, body: asJson(stdout) };
    };
    const [store, listed, bus, push] = await Promise.all([
      asked('postgres', 'status'),
      asked('temporal', 'status'),
      asked('nats', 'ask', 'the-controller'),
      asked('temporal', 'push'),
    ]);
    for (const line of lines) line.destroy();
    server.close();
    const at = `127.0.0.1:${port}`;
    expect(store).toMatchObject({
      code: 1,
      body: { kind: 'store-down', what: expect.stringContaining(`takes connections at ${at}`), next: ['mesh doctor'] },
    });
    expect(listed).toMatchObject({ code: 6, body: { unbegunUnknown: expect.stringContaining(at) } });
    expect(bus).toMatchObject({
      code: 1,
      body: { kind: 'fault', what: expect.stringContaining(`${at} cannot be used`) },
    });
    expect(push).toMatchObject({
      code: 1,
      body: { kind: 'fault', what: expect.stringContaining(`Temporal does not answer at ${at}`) },
    });
  }, 60_000);

  test('[C94] a store that does not answer is a fault, as JSON, for every read', async () => {
    const down = await meshWithout('postgres');
    for (const args of [['status'], ['plan'], ['node', 'list'], ['module', 'forget', 'web'], ['events']]) {
      const { code, stdout, stderr } = await runMesh([...args, '--json', '--state', down]);
      expect({ args, code, stderr }).toEqual({ args, code: 1, stderr: '' });
      expect(asJson(stdout)).toMatchObject({ schema: 'mesh.error', kind: 'store-down' });
    }
  });
});
