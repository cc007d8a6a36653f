/** The compiled host as a process of its own, killed at any moment. Run by `npm test`, which compiles it first. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readNode, statePaths, writeAccepted, writeState } from '../../src/host/state.ts';
import { until } from '../support/until.ts';
import { anvil, directory, file, makeNode, processOf, type TestNode } from './node.ts';

const compiled = path.resolve('dist/src/host/loop.js');
// Numbers of seconds that nothing else on this machine sleeps for: how the test knows the processes.
const marks = [0, 1, 2].map((n) => `${100_000 + process.pid}.${n}`);
let node: TestNode;
let host: ChildProcess | undefined;
beforeEach(async () => {
  node = await makeNode();
  await writeState(node.stateDir, statePaths.node, {
    schema: 'mesh.host-node',
    version: 1,
    name: anvil,
    address: '127.0.0.1',
    // The bus is away: the host holds up what it accepted.
    servers: ['nats://127.0.0.1:1'],
    verifyKey: node.declarationKey.publicKey,
    userJwt: 'none',
  });
  expect((await readNode(node.stateDir))?.name).toBe(anvil);
});
afterEach(async () => {
  await kill();
  await node.restart();
  await node.remove();
});

function start(): ChildProcess {
  const script = `
    const { runHost } = await import(${JSON.stringify(compiled)});
    const abort = new AbortController();
    process.on('SIGTERM', () => abort.abort());
    const say = { info() {}, warn() {}, error: (fields, text) => console.error(text, fields) };
    await runHost({ stateDir: ${JSON.stringify(node.stateDir)}, root: ${JSON.stringify(node.root)}, bin: '/nowhere', intervalMs: 200, say, signal: abort.signal });`;
  host = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'ignore', 'inherit'] });
  return host;
}
async function kill(): Promise<void> {
  const running = host;
  host = undefined;
  if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
  const ended = once(running, 'exit');
  running.kill('SIGKILL');
  await ended;
}

/** The pids of all processes that sleep for this mark. */
async function sleepers(mark: string): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name));
  const lines = await Promise.all(
    pids.map(async (pid) => ({ pid, line: await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '') })),
  );
  return lines.flatMap(({ pid, line }) => (line === `sleep\0${mark}\0` ? [pid] : []));
}
const everyone = async () => Promise.all(marks.map(sleepers));

const contentOf = (round: number) => `${round}\n`.repeat(200_000);
const declared = (round: number) =>
  node.declare(
    directory('/etc/notes'),
    file('/etc/notes/big', contentOf(round)),
    node.secret(`secret ${round}`, { path: '/etc/notes/db' }),
    ...marks.map((mark, n) =>
      processOf(`p${n}`, '', { command: ['sleep', mark], restartOn: n === 0 ? ['/etc/notes/db'] : [] }),
    ),
  );

test('[D9] [D13] [D15] killed at any moment: no file is ever a part, no process is lost or runs twice, the next start completes', async () => {
  const rounds = 8;
  for (let round = 1; round <= rounds; round += 1) {
    await writeAccepted(node.stateDir, await node.sign(declared(round), round));
    start();
    // Where the kill falls is the one thing that is left to chance here.
    await pause(150 + Math.random() * 900);
    await kill();
    const big = await node.read('/etc/notes/big').catch(() => undefined);
    const whole = Array.from({ length: round }, (_, n) => contentOf(n + 1));
    expect(big === undefined || whole.includes(big)).toBe(true);
    for (const pids of await everyone()) expect(pids.length).toBeLessThanOrEqual(1);
  }
  start();
  const isWhole = async () =>
    (await node.read('/etc/notes/db').catch(() => '')) === `secret ${rounds}` &&
    (await node.read('/etc/notes/big')) === contentOf(rounds) &&
    (await everyone()).every((pids) => pids.length === 1);
  await until(isWhole, { withinMs: 20_000, what: 'the apply to be completed' });
  expect((await readdir(node.at('/etc/notes'))).toSorted()).toEqual(['big', 'db']);
  const before = await everyone();
  await kill();
  expect(await everyone()).toEqual(before);
  const next = start();
  // A second start is through when it has put right what was done in between.
  await writeFile(node.at('/etc/notes/big'), 'edited');
  await until(async () => (await node.read('/etc/notes/big')) === contentOf(rounds), {
    withinMs: 20_000,
    what: 'the next host to work',
  });
  expect(await everyone()).toEqual(before);
  // SIGTERM ends the host itself, and leaves them running.
  const ended = once(next, 'exit');
  next.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(await everyone()).toEqual(before);
});
