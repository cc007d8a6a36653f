import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';

import { holdState } from '../../src/foundation/lock.ts';
import { freePorts, keepAddresses, readKeptAddresses } from '../../src/foundation/ports.ts';
import {
  isAlive,
  type Process,
  readPidFile,
  startDetached,
  startedMark,
  stopProcess,
} from '../../src/foundation/processes.ts';
import { watchedFolder } from '../support/foundation.ts';
import { until } from '../support/until.ts';

let folder: Awaited<ReturnType<typeof watchedFolder>>;
let place: (name: string) => string;
beforeAll(async () => {
  folder = await watchedFolder('mesh-processes-');
  place = (name) => path.join(folder.stateDir, name);
});
afterAll(() => folder.close());

let started = 0;
async function start(script: string): Promise<{ readonly running: Process; readonly log: string }> {
  started += 1;
  const [log, pidFile] = [place(`${started}.log`), place(`${started}.pid`)];
  // The folder in the arguments is what the run's last look for left processes goes by.
  await startDetached({
    program: '/bin/sh',
    args: ['-c', script, folder.stateDir],
    cwd: folder.stateDir,
    env: { WORD: 'said' },
    logFile: log,
    pidFile,
  });
  const running = await readPidFile(pidFile);
  if (running === undefined) throw new Error('it is not known');
  return { running, log };
}

test('[U11] a started program is known by pid and start, has only the environment given, and its output is kept', async () => {
  const { running, log } = await start('echo $WORD ${HOME-none}; sleep 30');
  expect(await isAlive(running)).toBe(true);
  expect(await startedMark(running.pid)).toBe(running.startedMark);
  await until(async () => (await readFile(log, 'utf8')) === 'said none\n', { withinMs: 5_000, what: 'its output' });
  await stopProcess(running, { signal: 'SIGKILL', graceMs: 5_000 });
  expect(await isAlive(running)).toBe(false);
});

test('[U11] a pid that is another process’s by now is not ours, and is not ended', async () => {
  const other = spawn('sleep', ['30']);
  await once(other, 'spawn');
  const known: Process = { pid: other.pid ?? 0, startedMark: 'an earlier boot 12345' };
  expect(await isAlive(known)).toBe(false);
  await stopProcess(known, { signal: 'SIGKILL', graceMs: 1_000 });
  expect(other.exitCode).toBeNull();
  expect(other.kill('SIGKILL')).toBe(true);
  await once(other, 'exit');
});

test('[U11] one that does not heed the signal is killed after its grace', async () => {
  const { running, log } = await start('trap "" TERM; echo deaf; while :; do sleep 0.1; done');
  await until(async () => (await readFile(log, 'utf8')) === 'deaf\n', { withinMs: 5_000, what: 'the trap' });
  await stopProcess(running, { signal: 'SIGTERM', graceMs: 200 });
  expect(await isAlive(running)).toBe(false);
});

test('[U11] a half-written pid file names nobody', async () => {
  const whole = `${process.pid}\n${'boot'}\n1 (a) b) S 1 ${'0 '.repeat(17)}777 rest\n.\n`;
  await writeFile(place('whole.pid'), whole);
  expect(await readPidFile(place('whole.pid'))).toEqual({ pid: process.pid, startedMark: 'boot 777' });
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: whole.length - 1 }), async (length) => {
      await writeFile(place('cut.pid'), whole.slice(0, length));
      return (await readPidFile(place('cut.pid'))) === undefined;
    }),
  );
});

test('[U13] ports and the nodes’ range are chosen once; more ports join them, none moves', async () => {
  const first = await keepAddresses(folder.stateDir, ['one', 'two']);
  const second = await keepAddresses(folder.stateDir, ['one', 'three']);
  expect(second).toEqual({ ...first, ports: { ...first.ports, three: expect.any(Number) } });
  expect(new Set(Object.values(second.ports)).size).toBe(3);
  expect(await readKeptAddresses(folder.stateDir)).toEqual(second);
  expect(second.nodePrefix).toMatch(/^127\.(?!0\.)\d+\.\d+\.$/);
});

test('[U13] what is kept was written by mesh or is said to be broken; it is never chosen anew', async () => {
  const broken = await watchedFolder('mesh-processes-');
  await writeFile(path.join(broken.stateDir, 'foundation.json'), '{"version":1,"id":"');
  await expect(keepAddresses(broken.stateDir, ['one'])).rejects.toThrow('is not as mesh wrote it');
  await broken.close();
});

test('[U13] free ports are different, and below those that the kernel gives to outgoing connections', async () => {
  const [first = 0] = (await readFile('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')).split('\t').map(Number);
  const many = (await Promise.all(Array.from({ length: 8 }, () => freePorts('127.0.0.1', 6)))).map(
    (each) => new Set(each).size,
  );
  expect(many).toEqual(Array.from({ length: 8 }, () => 6));
  expect((await freePorts('127.0.0.1', 20)).every((port) => port < Math.max(first, 16_001))).toBe(true);
});

test('[U11] one at a time raises a mesh; whoever was killed while doing so holds nobody up', async () => {
  const other = await watchedFolder('mesh-processes-');
  const lock = path.join(other.stateDir, 'raising.lock');
  const release = await holdState(lock);
  await expect(holdState(lock, 200)).rejects.toThrow('another mesh command');
  await release();
  // A holder that is gone: its pid is ours, its start is not.
  await writeFile(lock, JSON.stringify({ pid: process.pid, startedMark: 'an earlier boot 12345' }));
  const holders = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const letGo = await holdState(lock, 20_000);
      inside += 1;
      const alone = inside === 1;
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
      await letGo();
      return alone;
    }),
  );
  expect(holders).toEqual([true, true, true, true]);
  await other.close();
});
let inside = 0;
