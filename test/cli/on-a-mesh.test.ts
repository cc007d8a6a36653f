/** The command on a real mesh of two nodes, as a person has it: raised by `mesh up`, every word through the built command. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { z } from 'zod';

import { readFoundation } from '../../src/foundation/foundation.ts';
import { connectionOf } from '../../src/store/address.ts';
import { watchedFolder } from '../support/foundation.ts';
import { until } from '../support/until.ts';
import { asJson, runMesh, runMeshOnTerminal, startMesh, type Ran } from './run-mesh.ts';
import { shapes, statusShape } from './shapes.ts';

let state = '';
let close: () => Promise<void> = () => Promise.resolve();
const mesh = (...args: string[]): Promise<Ran> => runMesh([...args, '--state', state]);
async function json(
  ...args: string[]
): Promise<{ readonly code: number | null; readonly body: Record<string, unknown> }> {
  const { code, stdout } = await mesh(...args, '--json');
  const body = asJson(stdout);
  expectClean(body);
  return { code, body };
}

/** D22's properties, of every answer in JSON: no null anywhere, no key that is called like a secret, times in UTC. */
function expectClean(body: unknown, at = '$'): void {
  expect({ at, isNull: body === null }).toEqual({ at, isNull: false });
  if (typeof body !== 'object' || body === null) return;
  for (const [name, value] of Object.entries(body)) {
    expect(`${at}.${name}`).not.toMatch(
      /\.(?:password|passwd|secret|seed|jwt|private[a-z_-]*key|sealed|blob|credential)$/i,
    );
    if (/At$|^at$/.test(name) && typeof value === 'string') expect(value).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expectClean(value, `${at}.${name}`);
  }
}

/** A few commands side by side: each is a process, and the machine is small. */
async function atOnce<Item>(items: readonly Item[], run: (item: Item) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += 3) await Promise.all(items.slice(from, from + 3).map(run));
}

async function moduleFolder(name: string, manifest: string): Promise<string> {
  const folder = path.join(state, 'modules', name);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'module.yaml'), `module: ${name}\nversion: "1"\n${manifest}`);
  return folder;
}
const file = (at: string, content = 'x'): string => `resources: [{ kind: file, path: ${at}, content: "${content}" }]\n`;

/** Ends a program that `mesh up` left running, as a crash would. */
async function kill(title: string): Promise<void> {
  const pid = Number(readFileSync(path.join(state, 'run', `${title}.pid`), 'utf8').split('\n')[0]);
  process.kill(pid, 'SIGKILL');
  await until(() => !alive(pid), { withinMs: 5_000, what: `${title} to be gone` });
}
/** Of the store's server: what it wrote down itself. */
async function storesProcess(): Promise<{ readonly pid: number }> {
  const written = await readFile(path.join(state, 'postgres', 'postmaster.pid'), 'utf8');
  return { pid: Number(written.split('\n')[0]) };
}
function alive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

beforeAll(async () => {
  ({ stateDir: state, close } = await watchedFolder('mesh-cli-up-'));
  const { code, stderr } = await mesh('up', '--nodes', '2');
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
}, 120_000);

afterAll(async () => {
  await mesh('down');
  await close();
}, 60_000);

describe('a mesh of two nodes', () => {
  test('[U11] up again changes nothing and says the same places', async () => {
    const before = await readFile(path.join(state, 'foundation.json'), 'utf8');
    const { code, body } = await json('up', '--nodes', '2');
    expect(code).toBe(0);
    expect(body).toMatchObject({ schema: 'mesh.up', version: 1, nodes: [{ node: 'alpha' }, { node: 'beta' }] });
    expect(await readFile(path.join(state, 'foundation.json'), 'utf8')).toBe(before);
  });

  test('[U1] every read answers with 0 in both forms, JSON without a null or a secret', async () => {
    await atOnce(Object.entries(shapes), async ([line, shape]) => {
      const args = line.split(' ');
      const text = await mesh(...args);
      expect({ line, code: text.code, stderr: text.stderr }).toEqual({ line, code: 0, stderr: '' });
      const { code, body } = await json(...args);
      expect({ line, code, wrong: shape.safeParse(body).error?.issues }).toEqual({ line, code: 0, wrong: undefined });
    });
  });

  test('[U1][U5] what is not there ends with 4, what the rules refuse with 3, and nothing is made', async () => {
    await mesh('module', 'add', await moduleFolder('asks', `requires: [thing-service]\n${file('/asks')}`));
    await mesh('module', 'add', await moduleFolder('needs', `capabilities: [quantum]\n${file('/needs')}`));
    const before = (await json('events', '--limit', '500')).body['events'];
    const cases: readonly (readonly [readonly string[], number, string])[] = [
      [['node', 'show', 'gamma'], 4, 'unknown-node'],
      [['plan', 'gamma'], 4, 'unknown-node'],
      [['push', 'gamma'], 4, 'unknown-node'],
      [['assign', 'gamma', 'asks'], 4, 'unknown-node'],
      [['assign', 'alpha', 'nothing'], 4, 'unknown-module'],
      [['module', 'show', 'nothing'], 4, 'unknown-module'],
      [['unassign', 'alpha', 'asks', '--yes'], 4, 'unknown-assignment'],
      [['unpin', 'alpha', 'thing-service'], 4, 'unknown-pin'],
      [['act', 'show', 'push/nothing'], 4, 'unknown-act'],
      [['act', 'cancel', 'push/nothing'], 4, 'unknown-act'],
      [['secret', 'rotate', 'alpha/asks'], 4, 'unknown-credential'],
      [['set', 'alpha/asks', 'title=x'], 4, 'unknown-setting'],
      [['set', 'alpha/asks', 'http=x', '--label'], 4, 'unknown-route'],
      [['set', 'alpha/asks', 'http=under_score', '--label'], 3, 'invalid-name'],
      [['node', 'set', 'gamma', 'public-domain=a.example'], 4, 'unknown-node'],
      [['node', 'set', 'alpha', 'public-domain=https://a.example'], 3, 'invalid-name'],
      [['pin', 'beta', 'thing-service', 'alpha'], 3, 'pin-at-nothing'],
      [['assign', 'alpha', 'asks'], 3, 'no-provider'],
      [['assign', 'alpha', 'needs'], 3, 'capability-missing'],
      [['node', 'invite', 'alpha', '--out', path.join(state, 'alpha.token')], 3, 'node-exists'],
      [['node', 'invite', 'Alpha', '--out', path.join(state, 'alpha.token')], 3, 'invalid-name'],
      [['assign', 'alpha', 'As_Ks'], 3, 'invalid-name'],
    ];
    await atOnce(cases, async ([args, exitCode, kind]) => {
      const { code, body } = await json(...args);
      expect({ args, code, body }).toMatchObject({
        args,
        code: exitCode,
        body: { schema: 'mesh.error', kind, exitCode },
      });
      expect(body['next']).not.toEqual([]);
    });
    expect((await json('events', '--limit', '500')).body['events']).toEqual(before);
    await expect(stat(path.join(state, 'alpha.token'))).rejects.toThrow('ENOENT');
  });

  test('[U1] plan ends with 2 when it was asked to and there are changes, and with 0 once they were pushed', async () => {
    await mesh('module', 'add', await moduleFolder('files', file('/etc/files/one')));
    expect((await json('assign', 'alpha', 'files')).body).toMatchObject({
      schema: 'mesh.assigned',
      change: 'assigned',
    });
    expect((await json('assign', 'alpha', 'files')).body).toMatchObject({ change: 'same' });
    expect((await mesh('plan', 'alpha')).code).toBe(0);
    const planned = await json('plan', 'alpha', '--detailed-exitcode');
    expect(planned.code).toBe(2);
    expect(planned.body).toMatchObject({
      hasChanges: true,
      nodes: [{ node: 'alpha', add: ['files/file/etc/files/one'] }],
    });
    expect(await json('push')).toMatchObject({
      code: 0,
      body: { schema: 'mesh.push', applied: 2, failedCount: 0, attached: false },
    });
    expect(await readFile(path.join(state, 'nodes/alpha/root/etc/files/one'), 'utf8')).toBe('x');
    expect((await mesh('plan', '--detailed-exitcode')).code).toBe(0);
    expect(await json('push')).toMatchObject({ code: 0, body: { sent: 0, alreadySent: 2 } });
    expect(await json('push', '--behind')).toMatchObject({ code: 0, body: { sent: 0 } });
    expect(await json('status')).toMatchObject({ code: 0, body: { schema: 'mesh.status', needsAttention: false } });
  });

  test('[M23] [M25] [M26] a name is made of label and domain, is held once, and stands in the hosts file of the module that asks', async () => {
    const routed = `listens: { http: 80 }\nroutes: [{ label: memo, listens: http }]\n`;
    await mesh('module', 'add', await moduleFolder('memo', routed + file('/etc/memo')));
    await mesh('module', 'add', await moduleFolder('other', routed + file('/etc/other')));
    const proxy = `claims: [{ name: reverse-proxy, scope: node }]\n`;
    const hosts = `resources: [{ kind: file, path: /etc/front/hosts, format: raw, content: "\${resolution:hosts}\\n" }]\n`;
    await mesh('module', 'add', await moduleFolder('front', proxy + hosts));
    await mesh('assign', 'alpha', 'memo');
    await mesh('assign', 'beta', 'front');
    expect((await mesh('plan', 'alpha')).stdout).toContain('alpha has no public domain: no name is composed');
    expect((await json('node', 'set', 'alpha', 'public-domain=a.example')).body).toMatchObject({
      schema: 'mesh.node-set',
      publicDomain: 'a.example',
    });
    expect((await json('node', 'show', 'alpha')).body).toMatchObject({ publicDomain: 'a.example' });
    expect(await json('assign', 'alpha', 'other')).toMatchObject({ code: 3, body: { kind: 'route-held' } });
    expect((await json('set', 'alpha/memo', 'http=Pad', '--label')).body).toMatchObject({ schema: 'mesh.label-set' });
    expect((await json('settings')).body).toMatchObject({ labels: [{ node: 'alpha', module: 'memo', label: 'Pad' }] });
    expect((await json('plan', 'alpha')).body).toMatchObject({ nodes: [{ routes: [{ name: 'Pad.a.example' }] }] });
    expect((await json('push')).code).toBe(0);
    expect((await runMesh(['complete', '--state', state, '--', 'why', 'Pad'])).stdout).toBe('Pad.a.example\n');
    expect((await json('why', 'pad.a.example')).body).toMatchObject({ kind: 'route', next: [] });
    const written = path.join(state, 'nodes/beta/root/etc/front/hosts');
    const addressOf = async (name: string) =>
      z.object({ address: z.string() }).parse((await json('node', 'show', name)).body).address;
    const [alpha, beta] = [await addressOf('alpha'), await addressOf('beta')];
    expect(await readFile(written, 'utf8')).toBe(
      `${alpha} alpha.internal\n${beta} beta.internal\n${beta} pad.a.example\n`,
    );
    // What changes on one node is in the file of another without a push.
    expect((await json('set', 'alpha/memo', 'http', '--label', '--unset')).code).toBe(0);
    await until(async () => (await readFile(written, 'utf8')).includes(`${beta} memo.a.example`), {
      withinMs: 30_000,
      what: 'the file to have the other name',
    });
    expect((await json('node', 'set', 'alpha', 'public-domain', '--unset')).body).not.toHaveProperty('publicDomain');
    await mesh('unassign', 'alpha', 'memo', '--yes');
    await mesh('unassign', 'beta', 'front', '--yes');
    expect((await json('push')).code).toBe(0);
  }, 120_000);

  test('[U6] a time is relative on a terminal and RFC 3339 elsewhere', async () => {
    expect((await mesh('node', 'list')).stdout).toMatch(/\d{4}-\d\d-\d\dT[\d:.]+Z/);
    const shown = await runMeshOnTerminal(['node', 'list', '--state', state]);
    expect(shown.stdout).toMatch(/(?:\d+[smhd] ago|just now)/);
    expect(shown.stdout).not.toMatch(/\d{4}-\d\d-\d\dT/);
  });

  test('[U3] unassigning asks, takes no for an answer, and without a terminal names the flag', async () => {
    const gone = ['unassign', 'alpha', 'files'];
    expect(await json(...gone)).toMatchObject({
      code: 3,
      body: { kind: 'confirmation-needed', facts: { flag: '--yes' } },
    });
    const no = await runMeshOnTerminal([...gone, '--state', state], { input: 'n\n' });
    expect(no.code).toBe(3);
    expect(no.stdout).toContain('was not confirmed');
    expect((await json('node', 'show', 'alpha')).body).toMatchObject({ modules: ['files'] });
    const yes = await runMeshOnTerminal([...gone, '--state', state], { input: 'y\n' });
    expect(yes.code).toBe(0);
    expect((await json('node', 'show', 'alpha')).body).toMatchObject({ modules: [] });
  });

  test('[U1] what a node cannot apply ends a push with 6, and status too until it is mended', async () => {
    const broken = `resources: [{ kind: file, path: /etc/files, content: "in the way" }, { kind: process, name: gone, command: [/no/such/program] }]\n`;
    await mesh('module', 'add', await moduleFolder('broken', broken));
    await mesh('assign', 'beta', 'broken');
    const pushed = await json('push', 'beta');
    expect(pushed).toMatchObject({ code: 6, body: { schema: 'mesh.push', failed: ['beta'], failedCount: 1 } });
    const status = await json('status');
    expect(statusShape.safeParse(status.body).error?.issues).toBeUndefined();
    expect(status).toMatchObject({
      code: 6,
      body: {
        needsAttention: true,
        nodes: [{ node: 'beta', concern: 'broken', outcome: 'failed' }, { node: 'alpha' }],
      },
    });
    expect((await mesh('status')).stdout).toContain('broken/process/gone');
    await mesh('unassign', 'beta', 'broken', '--yes');
    expect((await json('push')).code).toBe(0);
  });

  test('[U16] a token is printed alone, kept out of JSON, and good for one machine that joins from a file or a pipe', async () => {
    expect(await json('node', 'invite', 'gamma')).toMatchObject({ code: 64, body: { kind: 'usage' } });
    const { code, stdout, stderr } = await mesh('node', 'invite', 'gamma');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^mesh-[\w-]+\n$/);
    expect(stderr).not.toContain(stdout.trim());
    const elsewhere = path.join(state, 'elsewhere');
    const join = ['node', 'join', '--address', '127.0.0.1', '--state', elsewhere];
    const joined = await runMesh([...join, '--json'], { input: stdout });
    expect({ code: joined.code, body: asJson(joined.stdout) }).toMatchObject({
      code: 0,
      body: { schema: 'mesh.joined', node: 'gamma', already: false },
    });
    expect(asJson((await runMesh([...join, '--json'], { input: stdout })).stdout)).toMatchObject({ already: true });
    expect((await runMesh([...join, '--json'], { input: 'mesh-nonsense' })).code).toBe(3);
    expect((await runMeshOnTerminal(join)).code).toBe(64);
    expect(await json('node', 'invite', 'gamma', '--out', path.join(state, 'twice'))).toMatchObject({
      code: 3,
      body: { kind: 'node-exists' },
    });
    expect(await json('act', 'cancel', 'enrol/gamma')).toMatchObject({
      code: 0,
      body: { schema: 'mesh.act-cancelled' },
    });
  });

  test('[U2] a wait has a bound: 5 and how to follow it; Ctrl-C is 130; [A16] asking again joins; the act goes on', async () => {
    await kill('host-beta');
    await mesh('module', 'add', await moduleFolder('files', file('/etc/files/two')));
    await mesh('assign', 'beta', 'files');
    const late = await json('push', 'beta', '--timeout', '2s');
    expect(late).toMatchObject({
      code: 5,
      body: { kind: 'wait-timed-out', facts: { waitsFor: ['beta to report what it was sent'] } },
    });
    const said = z.object({ facts: z.object({ act: z.string() }), next: z.tuple([z.string()]) }).parse(late.body);
    expect(said.next[0]).toMatch(/^mesh act show push\/[0-9a-f]+ --wait$/);
    expect((await json('act', 'show', said.facts.act)).body).toMatchObject({
      schema: 'mesh.act',
      waitsFor: ['beta to report what it was sent'],
    });

    const left = startMesh(['push', 'beta', '--state', state]);
    await until(() => left.stderr().includes('Waiting for beta'), {
      withinMs: 20_000,
      what: 'the push to say what it waits for',
    });
    left.child.kill('SIGINT');
    expect(await left.ended).toBe(130);
    expect(left.stderr()).toContain('Joined what runs already');
    expect(left.stderr()).toContain('mesh act show push/');

    expect(await json('push', 'beta', '--detach')).toMatchObject({
      code: 0,
      body: { schema: 'mesh.act-started', attached: true, begun: true },
    });
    const waiting = startMesh(['push', 'beta', '--json', '--state', state]);
    await until(() => waiting.stderr().includes('Joined'), { withinMs: 20_000, what: 'the push to be joined' });
    expect((await json('up')).code).toBe(0);
    expect(await waiting.ended).toBe(0);
    expect(asJson(waiting.stdout())).toMatchObject({ attached: true, applied: 1 });
  }, 120_000);

  test('[A15] without a controller it says so within five seconds, naming the process to start', async () => {
    await kill('controller');
    const waiting = startMesh(['push', 'alpha', '--timeout', '8s', '--json', '--state', state]);
    // Counted from when it has asked: how long a busy machine takes to start a process is another matter.
    await until(() => waiting.stderr().includes('push/'), { withinMs: 20_000, what: 'the push to be asked for' });
    const started = performance.now();
    await until(() => waiting.stderr().includes('mesh work controller'), {
      withinMs: 10_000,
      what: 'the missing controller to be named',
    });
    expect(performance.now() - started).toBeLessThan(8_000);
    expect(await waiting.ended).toBe(5);
    expect(asJson(waiting.stdout())).toMatchObject({ kind: 'no-worker', exitCode: 5 });
    const { body } = await json(
      'act',
      'show',
      z.object({ facts: z.object({ workflowId: z.string() }) }).parse(asJson(waiting.stdout())).facts.workflowId,
    );
    expect(body).toMatchObject({ stage: 'not begun' });
    expect(await json('node', 'invite', 'delta', '--timeout', '1s', '--out', path.join(state, 'delta'))).toMatchObject({
      code: 3,
      body: { kind: 'no-controller' },
    });
    expect((await json('up')).code).toBe(0);
    expect(await json('node', 'invite', 'delta', '--out', path.join(state, 'delta'))).toMatchObject({
      code: 0,
      body: { schema: 'mesh.invitation', node: 'delta' },
    });
    expect((await stat(path.join(state, 'delta'))).mode & 0o777).toBe(0o600);
  }, 120_000);

  test('[C94] a command and a store of different versions: it says which of them is older', async () => {
    const foundation = await readFoundation(state);
    if (foundation === undefined) throw new Error('there is no mesh');
    const client = new pg.Client(connectionOf(foundation.postgres));
    await client.connect();
    const [, last] = (await client.query<{ name: string }>('select name from mesh.migrations order by id')).rows;
    const newer = `insert into mesh.migrations (name, run_on) values ('9999-later', now())`;
    const older = `delete from mesh.migrations where name = '${last?.name}'`;
    /** The answer of a command while the store is of another version, in which a column is called otherwise. */
    const whileIsSo = async (migrations: string, back: string) => {
      await client.query(`alter table mesh.nodes rename column address to place; ${migrations}`);
      try {
        return await json('status');
      } finally {
        await client.query(`alter table mesh.nodes rename column place to address; ${back}`);
      }
    };
    try {
      expect(await whileIsSo(newer, `delete from mesh.migrations where name = '9999-later'`)).toMatchObject({
        code: 3,
        body: { kind: 'other-version', facts: { older: 'command', migrations: ['9999-later'] } },
      });
      const again = `insert into mesh.migrations (name, run_on) values ('${last?.name}', now())`;
      expect(await whileIsSo(older, again)).toMatchObject({
        code: 3,
        body: { kind: 'other-version', facts: { older: 'store', migrations: [last?.name] }, next: ['mesh up'] },
      });
      expect((await json('status')).body).not.toMatchObject({ kind: 'other-version' });
    } finally {
      await client.end();
    }
  }, 60_000);

  test('[U1] a world that is down is a fault: 1, in words, with no stack; [U11] and everything is there again after up', async () => {
    // Of all that can be down, the store is what everything is kept in: it is said by name, also to whoever waits for an act.
    const { pid } = await storesProcess();
    process.kill(pid, 'SIGKILL');
    await until(() => !alive(pid), { withinMs: 5_000, what: 'the store to be gone' });
    for (const line of ['status', 'acts', 'secret rotate alpha/files', 'why alpha'])
      expect({ line, ...(await json(...line.split(' '))) }).toMatchObject({
        code: 1,
        body: { kind: 'store-down', what: expect.stringContaining('the store does not answer at'), next: ['mesh up'] },
      });
    expect(await json('push', '--timeout', '2s')).toMatchObject({
      code: 5,
      body: {
        kind: 'wait-timed-out',
        why: expect.stringContaining('the store does not answer at'),
        next: ['mesh up', 'mesh act show push/all --wait'],
      },
    });
    expect((await json('down')).code).toBe(0);
    const { code, stderr } = await mesh('status');
    expect(code).toBe(1);
    expect(stderr).toContain('mesh up');
    expect(stderr).not.toMatch(/\n\s+at /);
    expect((await json('up')).code).toBe(0);
    expect((await json('node', 'show', 'beta')).body).toMatchObject({ modules: ['files'] });
  }, 120_000);
});

test('[U1] a state folder without a mesh is refused with 3 and says how to raise one', async () => {
  for (const args of [['status'], ['down'], ['push'], ['work', 'controller'], ['unassign', 'a', 'b', '-y']]) {
    const { code, stdout } = await runMesh([...args, '--json']);
    expect({ args, code, body: asJson(stdout) }).toMatchObject({ args, code: 3, body: { kind: 'no-mesh' } });
  }
  const { code, stdout } = await runMesh(['host', '--json']);
  expect({ code, body: asJson(stdout) }).toMatchObject({ code: 3, body: { kind: 'no-node-here' } });
});
