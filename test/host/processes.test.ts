import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ProcessResource } from '../../src/domain/declaration/declaration.ts';
import { groupMembers } from '../../src/host/processes/proc.ts';
import { logFile, readRecord, writeRecord } from '../../src/host/processes/record.ts';
import { stopNode } from '../../src/host/stop-node.ts';
import { until } from '../support/until.ts';
import { directory, file, makeNode, patience, processOf, quiet, type TestNode } from './node.ts';

const run = promisify(execFile);
let node: TestNode;
beforeEach(async () => {
  node = await makeNode();
});
afterEach(() => node.remove());

const clean = { failures: [], drift: [], kept: [] };
const soon = (what: string) => ({ withinMs: 10_000, what });
const pidOf = (name: string): number => {
  const pid = node.supervisor.pidOf(`notes.${name}`);
  if (pid === undefined) throw new Error(`${name} does not run`);
  return pid;
};
const log = (name: string) => readFile(logFile(node.stateDir, `notes.${name}`), 'utf8');
const asRoot = process.getuid?.() === 0 ? test : test.skip;
const sleeper = 'echo up; exec sleep 1000';

describe('starting', () => {
  test('[D8] a process gets a clean environment, the root before declared paths, and a session of its own', async () => {
    const script = 'env; pwd; printf "%s\\n" "$@"; exec sleep 1000';
    const declared = [
      directory('/var/lib/notes'),
      file('/etc/notes.conf', 'x'),
      processOf('web', '', {
        command: [
          'sh',
          '-c',
          script,
          'sh',
          '/etc/notes.conf',
          '--data=/var/lib/notes/db',
          '/usr/bin/env',
          '/var/lib/notes2',
          '--x=a=/etc/notes.conf',
        ],
        cwd: '/var/lib/notes',
        env: { CONF: '/etc/notes.conf', TITLE: 'Notes' },
        ports: { http: 20001, 'admin-api': 20002 },
      }),
    ];
    expect(await node.apply(...declared)).toEqual({ declared: 3, applied: 3, ...clean });
    const pid = pidOf('web');
    const lines = (await log('web')).split('\n');
    const env = new Map(
      lines
        .filter((line) => /^[A-Z_]+=/.test(line))
        .map((line) => [line.split('=')[0], line.slice(line.indexOf('=') + 1)]),
    );
    // What the shell itself sets is no inheritance.
    for (const own of ['PWD', 'OLDPWD', 'SHLVL', '_']) env.delete(own);
    expect([...env.keys()].map(String).toSorted()).toEqual([
      'CONF',
      'HOME',
      'LANG',
      'MESH_ADDRESS',
      'MESH_ROOT',
      'PATH',
      'PORT_ADMIN_API',
      'PORT_HTTP',
      'TITLE',
    ]);
    expect(env.get('CONF')).toBe(node.at('/etc/notes.conf'));
    expect(env.get('MESH_ROOT')).toBe(node.root);
    expect(env.get('MESH_ADDRESS')).toBe('127.0.0.1');
    expect(env.get('PORT_ADMIN_API')).toBe('20002');
    expect(env.get('PATH')?.split(':').slice(0, 2)).toEqual([
      path.join(path.dirname(node.root), 'bin'),
      path.dirname(process.execPath),
    ]);
    expect(lines).toContain(node.at('/var/lib/notes'));
    expect(lines.slice(-6)).toEqual([
      node.at('/etc/notes.conf'),
      `--data=${node.at('/var/lib/notes/db')}`,
      '/usr/bin/env',
      '/var/lib/notes2',
      '--x=a=/etc/notes.conf',
      '',
    ]);
    const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ');
    expect([fields?.[2], fields?.[3]]).toEqual([String(pid), String(pid)]);
    expect((await stat(logFile(node.stateDir, 'notes.web'))).mode & 0o777).toBe(0o600);
  });

  test('[D16] a process that ends at once is a failure that names its exit code, and not what it said', async () => {
    const { failures, applied } = await node.apply(
      processOf('web', 'echo hush; echo hush; exit 7'),
      processOf('none', '', { command: ['no-such-program'] }),
      processOf('ok', sleeper),
    );
    expect(applied).toBe(1);
    expect(failures.map(({ resource }) => resource).toSorted()).toEqual(['notes/process/none', 'notes/process/web']);
    const errorOf = (id: string) => failures.find(({ resource }) => resource === id)?.error;
    expect(errorOf('notes/process/web')).toBe('it ended at once, with exit code 7, having written 2 lines to its log');
    expect(errorOf('notes/process/none')).toMatch(/^it ended at once, with exit code 127, /);
  });

  test('ready: a port, a file and a log line are each awaited, and one that never comes is a failure that says which', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    await mkdir(node.at('/run'));
    await writeFile(node.at('/run/stale'), 'from before');
    await new Promise((resolve) => setTimeout(resolve, 100));
    const readyAt = (name: string, ready: ProcessResource['ready'], script = sleeper) =>
      processOf(name, script, { ports: { http: address.port, closed: 1 }, ...(ready === undefined ? {} : { ready }) });
    const { failures } = await node.apply(
      directory('/run'),
      readyAt('port', { port: 'http' }),
      readyAt('file', { file: '/run/fresh' }, 'sleep 0.3; touch "$MESH_ROOT/run/fresh"; exec sleep 1000'),
      readyAt('log', { log: 'I am up' }, 'sleep 0.3; echo "now I am up."; exec sleep 1000'),
      readyAt('closed', { port: 'closed' }),
      readyAt('stale', { file: '/run/stale' }),
      readyAt('other', { port: 'unknown' }),
    );
    server.close();
    expect(Object.fromEntries(failures.map(({ resource, error }) => [resource.split('/')[2], error]))).toEqual({
      other: 'it is to be ready at its port unknown, and it has none of that name',
      closed:
        'it is not ready after 3000 ms: waited in vain for port 1 of 127.0.0.1 to answer; it runs, and has written 1 line to its log',
      stale: `it is not ready after 3000 ms: waited in vain for ${node.at('/run/stale')} to be written; it runs, and has written 1 line to its log`,
    });
  });

  asRoot("a process runs as the user it names, and writes nothing in the host's folder", async () => {
    const { failures } = await node.apply(
      processOf('web', 'id -un; exec sleep 1000', { user: 'nobody' }),
      processOf('who', sleeper, { user: 'no-such-user' }),
    );
    expect(failures).toEqual([{ resource: 'notes/process/who', error: 'the machine has no user named no-such-user' }]);
    expect(await log('web')).toBe('nobody\n');
    expect((await stat(`/proc/${pidOf('web')}`)).uid).not.toBe(0);
  });

  test('a log that grew long is put aside when its process is started', async () => {
    await node.apply(processOf('web', sleeper));
    await truncate(logFile(node.stateDir, 'notes.web'), 9 * 1024 * 1024);
    await node.apply(processOf('web', 'echo anew; exec sleep 1000'));
    expect(await log('web')).toBe('anew\n');
    expect((await readdir(path.join(node.stateDir, 'logs'))).toSorted()).toEqual(['notes.web.log', 'notes.web.log.1']);
  });
});

describe('restarting', () => {
  test('[D11] only a change of a restart-on file, or of the process itself, restarts it', async () => {
    const declared = (a: string, b: string, title = 'Notes') => [
      file('/etc/a', a),
      file('/etc/b', b),
      processOf('web', sleeper, { restartOn: ['/etc/a'], env: { TITLE: title } }),
      processOf('other', sleeper),
    ];
    await node.apply(...declared('1', '1'));
    const [web, other] = [pidOf('web'), pidOf('other')];
    expect(await node.apply(...declared('1', '2'))).toEqual({ declared: 4, applied: 4, ...clean });
    expect(pidOf('web')).toBe(web);
    expect(await node.apply(...declared('2', '2'))).toEqual({ declared: 4, applied: 4, ...clean });
    const restarted = pidOf('web');
    expect(restarted).not.toBe(web);
    // Also when the host that put the file died before it could restart the process.
    await node.restart();
    await node.apply(...declared('2', '3'));
    expect(pidOf('web')).toBe(restarted);
    await node.apply(...declared('2', '3', 'Other notes'));
    expect(pidOf('web')).not.toBe(restarted);
    expect(pidOf('other')).toBe(other);
  });

  test('[D11] a change that a host put but did not live to act on restarts it later', async () => {
    const declared = (a: string) => [file('/etc/a', a), processOf('web', sleeper, { restartOn: ['/etc/a'] })];
    await node.apply(...declared('1'));
    const pid = pidOf('web');
    await node.apply(file('/etc/a', '2'), processOf('web', sleeper));
    expect(pidOf('web')).toBe(pid);
    await node.restart();
    await node.apply(...declared('2'));
    expect(pidOf('web')).not.toBe(pid);
  });

  test('[D13] a process that was killed is started again and that is said; one that ran well at once', async () => {
    await node.apply(processOf('web', sleeper));
    const pid = pidOf('web');
    const turns = node.turns();
    process.kill(pid, 'SIGKILL');
    await until(() => node.turns() > turns, soon('the host to notice'));
    const { drift, failures, applied } = await node.apply(processOf('web', sleeper));
    expect([drift, failures, applied]).toEqual([
      ['the process notes.web had ended by SIGKILL and was started again'],
      [],
      1,
    ]);
    expect(pidOf('web')).not.toBe(pid);
  });

  test('[D16] [C63] one that keeps ending is a failure with growing waits, until it has run for long enough', async () => {
    await node.apply(
      file('/fuse', 'short'),
      processOf(
        'web',
        'read -r fuse < "$MESH_ROOT/fuse"; [ "$fuse" = long ] || { sleep 0.4; exit 3; }; exec sleep 1000',
      ),
    );
    const declared = (fuse: string) => [
      file('/fuse', fuse),
      processOf(
        'web',
        'read -r fuse < "$MESH_ROOT/fuse"; [ "$fuse" = long ] || { sleep 0.4; exit 3; }; exec sleep 1000',
      ),
    ];
    await until(() => node.supervisor.pidOf('notes.web') === undefined, soon('the first ending'));
    // Once may happen: it is started again at once.
    expect((await node.apply(...declared('short'))).failures).toEqual([]);
    await until(() => node.supervisor.pidOf('notes.web') === undefined, soon('the second ending'));
    expect((await node.apply(...declared('short'))).failures).toEqual([
      {
        resource: 'notes/process/web',
        error: expect.stringMatching(
          /^it ended with exit code 3 \(2 times in a row\), having written 0 lines to its log; it is started again in [0-9]+ ms$/,
        ),
      },
    ]);
    const turns = node.turns();
    await until(() => node.turns() > turns, soon('the wait to be over'));
    const revived = await node.apply(...declared('long\n'));
    expect(revived.failures).toEqual([
      {
        resource: 'notes/process/web',
        error: `it ended 2 times in a row and was started again; it counts as running once it has run for ${patience.stableMs} ms`,
      },
    ]);
    const again = node.turns();
    await until(() => node.turns() > again, soon('it to have run for long enough'));
    expect(await node.apply(...declared('long\n'))).toEqual({ declared: 2, applied: 2, ...clean });
  });

  test('[C63] one that ends well although it should run is a failure, too', async () => {
    const { failures } = await node.apply(processOf('web', 'exit 0'));
    expect(failures[0]?.error).toMatch(/^it ended at once, with exit code 0, /);
  });
});

describe('ending', () => {
  test('stop: the signal, a wait, then KILL of the whole group', async () => {
    await node.apply(
      processOf('polite', 'trap "echo bye; exit 0" INT; echo up; while :; do sleep 0.05; done', {
        stop: { signal: 'SIGINT', waitMs: 5_000 },
        ready: { log: 'up' },
      }),
      processOf('stubborn', 'trap "" TERM; sleep 1000 & echo up; while :; do sleep 0.05; done', {
        stop: { signal: 'SIGTERM', waitMs: 300 },
        ready: { log: 'up' },
      }),
    );
    const group = pidOf('stubborn');
    expect((await groupMembers(group)).length).toBeGreaterThanOrEqual(2);
    expect(await node.apply()).toEqual({ declared: 0, applied: 0, ...clean });
    expect(await log('polite')).toBe('up\nbye\n');
    expect(await groupMembers(group)).toEqual([]);
    expect(await readdir(path.join(node.stateDir, 'processes'))).toEqual([]);
  });

  test('[D8] the holder of a port that another process is given is ended before that one is started', async () => {
    const holder = (name: string, module: string) =>
      processOf(
        name,
        'mkdir "$MESH_ROOT/held" || exit 9; trap "rmdir $MESH_ROOT/held; exit 0" TERM; echo up; while :; do sleep 0.02; done',
        {
          id: `${module}/process/${name}`,
          ports: { http: 20001 },
          ready: { log: 'up' },
        },
      );
    await node.apply(holder('old', 'notes'));
    expect((await node.apply(holder('new', 'notes'))).failures).toEqual([]);
  });

  test('stopNode ends all that a node runs, and its next host starts it anew', async () => {
    await node.apply(processOf('a', sleeper), processOf('b', sleeper));
    const pids = [pidOf('a'), pidOf('b')];
    node.supervisor.close();
    await stopNode({ stateDir: node.stateDir, say: quiet });
    expect((await Promise.all(pids.map(groupMembers))).flat()).toEqual([]);
    await node.restart();
    expect((await node.apply(processOf('a', sleeper), processOf('b', sleeper))).applied).toBe(2);
    expect(pids).not.toContain(pidOf('a'));
  });
});

describe('a host that dies', () => {
  test('[D13] its processes are adopted by the next, with the same pid, and looked after', async () => {
    await node.apply(processOf('web', sleeper));
    const pid = pidOf('web');
    await node.restart();
    expect(pidOf('web')).toBe(pid);
    expect(await node.apply(processOf('web', sleeper))).toEqual({ declared: 1, applied: 1, ...clean });
    expect(pidOf('web')).toBe(pid);
    const turns = node.turns();
    process.kill(pid, 'SIGKILL');
    await until(() => node.turns() > turns, soon('the host to notice'));
    expect((await node.apply(processOf('web', sleeper))).drift).toEqual([
      'the process notes.web had ended while no host was looking and was started again',
    ]);
  });

  test('[D15] a launch that never said who it is is forbidden by the next host: it is not lost, and never runs twice', async () => {
    await node.apply(processOf('web', 'echo run; exec sleep 1000'));
    const record = await readRecord(node.stateDir, 'notes.web');
    if (record === undefined) throw new Error('no record');
    const first = pidOf('web');
    process.kill(-first, 'SIGKILL');
    await until(async () => (await groupMembers(first)).length === 0, soon('it to be gone'));
    // A host that died right after the fork: on record, and the shell has not come to its word yet.
    const launch = 'late';
    await writeRecord(node.stateDir, { ...record, launch, ready: false });
    await node.restart();
    expect((await node.apply(processOf('web', 'echo run; exec sleep 1000'))).applied).toBe(1);
    const pid = pidOf('web');
    expect(pid).not.toBe(first);
    expect(await log('web')).toBe('run\nrun\n');
  });

  test('[D15] a shell whose launch was forbidden does not become the program', async () => {
    const { startShell, forbiddenExit } = await import('../../src/host/processes/shell.ts');
    const { adoptOrForbid } = await import('../../src/host/processes/record.ts');
    await node.apply(processOf('web', sleeper));
    const record = await readRecord(node.stateDir, 'notes.web');
    if (record === undefined) throw new Error('no record');
    const late = { ...record, launch: 'late' };
    expect(await adoptOrForbid(node.stateDir, late)).toBeUndefined();
    const spec = {
      key: 'notes.web',
      command: ['echo', 'twice'],
      cwd: '/',
      env: {},
      definition: '',
      restartOn: {},
      stop: record.stop,
    };
    const child = await startShell(node.stateDir, spec, 'late');
    await until(() => child.exitCode !== null, soon('the shell to end'));
    expect(child.exitCode).toBe(forbiddenExit);
    expect(await log('web')).not.toContain('twice');
    // And the other way round: who has said who it is, is adopted.
    expect((await adoptOrForbid(node.stateDir, record))?.pid).toBe(pidOf('web'));
  });

  test("nothing that a process could read tells of the host's keys: its folder is its owner's alone", async () => {
    const { stdout } = await run('find', [node.stateDir, '-perm', '/077', '-not', '-name', '*.pid']);
    expect(stdout).toBe('');
    expect((await stat(node.stateDir)).mode & 0o777).toBe(0o700);
  });
});
