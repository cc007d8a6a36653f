// Runs jest with the flag that its ES module support needs; arguments go through: npm test -- -t '\[S12\]'
// Its last line is "N passed, N failed". A process that the tests left running is a failure, and is ended.
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
// All temporary folders of this run are in one, so that what was left behind is known by its path.
const folder = runFolder();
const countsFile = path.join(folder, 'counts.json');

const jest = spawn(
  process.execPath,
  [
    '--experimental-vm-modules',
    '--no-warnings',
    path.join(root, 'node_modules/jest/bin/jest.js'),
    ...process.argv.slice(2),
  ],
  { stdio: 'inherit', cwd: root, env: { ...process.env, TMPDIR: folder, MESH_TEST_COUNTS: countsFile } },
);
// An interrupt reaches jest by the terminal; this process stays to clean up and say how it went.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => jest.kill(signal));
const waiting = setInterval(endOverdue, 1_000);
const code = await new Promise((resolve) => jest.on('exit', (status) => resolve(status ?? 1)));
clearInterval(waiting);

const left = await leftRunning();
for (const { pid, args } of left) {
  console.error(`left running: ${pid} ${args}`);
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}
const { passed, failed } = existsSync(countsFile)
  ? JSON.parse(readFileSync(countsFile, 'utf8'))
  : { passed: 0, failed: code === 0 ? 0 : 1 };
rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
const failures = Math.max(failed + (left.length > 0 ? 1 : 0), code === 0 ? 0 : 1);
console.log(`${passed} passed, ${failures} failed`);
process.exit(failures === 0 ? 0 : 1);

/** A test that failed may have left something open that jest would wait for without end: what it counted is what there is to say. */
function endOverdue() {
  if (!existsSync(countsFile) || Date.now() - statSync(countsFile).mtimeMs < 20_000) return;
  console.error('the tests are over, and something that is still open keeps their process from its end');
  jest.kill('SIGKILL');
}

/**
 * In memory where the machine has that to spare: some seventy servers are raised on data of their own, and to write it to a disk
 * and wait for it would cost more than all that is tested. A server that is killed finds it there again all the same.
 */
function runFolder() {
  const made = (base) => {
    const at = mkdtempSync(path.join(base, 'mesh-test-'));
    chmodSync(at, 0o711); // PostgreSQL runs as another user when we are root, and must pass through
    return at;
  };
  const [memory, isTmpfs, neededBytes] = ['/dev/shm', 0x01021994, 4 * 2 ** 30];
  if (process.env.TMPDIR !== undefined || !existsSync(memory)) return made(tmpdir());
  const { type, bavail, bsize } = statfsSync(memory);
  if (type !== isTmpfs || bavail * bsize < neededBytes) return made(tmpdir());
  const inMemory = made(memory);
  // Tests run programs that they write; some machines forbid it there.
  const program = path.join(inMemory, 'may-run');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  if (spawnSync(program).status === 0) return inMemory;
  rmSync(inMemory, { recursive: true });
  return made(tmpdir());
}

/** Processes that name this run's folder, or work in it, once the tests' own watchdogs have had their time. */
async function leftRunning() {
  for (const deadline = Date.now() + 5_000; ; await new Promise((resolve) => setTimeout(resolve, 100))) {
    const found = processesIn(folder);
    if (found.length === 0 || Date.now() > deadline) return found;
  }
}

function processesIn(inFolder) {
  if (!existsSync('/proc/self/cmdline')) return [];
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .flatMap((pid) => {
      try {
        const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return args.includes(inFolder) ? [{ pid: Number(pid), args }] : [];
      } catch {
        return []; // It ended while we looked.
      }
    });
}
