/**
 * One pass of a host that is killed before its n-th change of the machine: whatever goes through Node's own functions that
 * write, name, remove, start or signal is counted, so no change is missed. Run with: state folder, root, envelope file, n (0:
 * to the end). Says each change on stdout, and what the pass came to.
 */
import childProcess from 'node:child_process';
import { readFileSync, writeSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';

const [stateDir = '', root = '', envelopeFile = '', killBefore = '0'] = process.argv.slice(2);
let changes = 0;

/** Announces a change; at the one asked for the process is gone. */
function change(name: string, what: unknown): void {
  changes += 1;
  writeSync(1, `${name} ${typeof what === 'string' ? path.basename(what) : ''}\n`);
  if (changes === Number(killBefore)) process.kill(process.pid, 'SIGKILL');
}

/** Whether a call changes nothing that anybody could see: opening to read, asking whether a process is there, one's own temporary going. */
function isHarmless(name: string, [first, second]: readonly unknown[]): boolean {
  if (name === 'open')
    return second === undefined || second === 'r' || (typeof second === 'number' && (second & 3) === 0);
  if (name === 'kill') return second === 0 || first === process.pid;
  return name === 'rm' && typeof first === 'string' && first.endsWith('.tmp');
}

function counted(target: object, names: readonly string[]): void {
  for (const name of names) {
    const does: unknown = Reflect.get(target, name);
    if (typeof does !== 'function') throw new Error(`there is no ${name}`);
    Reflect.set(target, name, function (this: unknown, ...args: readonly unknown[]): unknown {
      if (!isHarmless(name, args)) change(name, args[name === 'rename' || name === 'link' ? 1 : 0]);
      const answer: unknown = Reflect.apply(does, this, args);
      return answer;
    });
  }
}

const handle = await fs.open(envelopeFile);
const ofHandles: unknown = Object.getPrototypeOf(handle);
if (typeof ofHandles !== 'object' || ofHandles === null) throw new Error('a file handle has no prototype');
counted(ofHandles, ['writeFile', 'truncate', 'write']);
await handle.close();
counted(fs, ['open', 'writeFile', 'rename', 'link', 'symlink', 'rm', 'rmdir', 'unlink', 'mkdir']);
counted(childProcess, ['spawn']);
syncBuiltinESMExports();
counted(process, ['kill']);

const { Reconciler } = await import('../../src/host/pass.ts');
const { Supervisor } = await import('../../src/host/processes/supervisor.ts');
const { openLedger } = await import('../../src/host/ledger.ts');
const { keysAt } = await import('../../src/host/keys.ts');
const { readNode } = await import('../../src/host/state.ts');
const { patience, quiet } = await import('../host/node.ts');

const node = await readNode(stateDir);
if (node === undefined) throw new Error('it has not joined');
const supervisor = new Supervisor({ stateDir, say: quiet, patience, turned: () => undefined });
await supervisor.adopt();
const keys = await keysAt(stateDir);
const surroundings = { root, bin: '/nowhere', nodeFolder: path.dirname(process.execPath) };
const reconciler = new Reconciler({
  stateDir,
  node,
  with: { ledger: await openLedger(stateDir), supervisor, sealingKey: keys.sealing, surroundings },
  say: quiet,
});
await reconciler.takeUp();
const came: unknown = JSON.parse(readFileSync(envelopeFile, 'utf8'));
const pass = await reconciler.pass({ kind: 'came', envelope: came }, []);
writeSync(1, `pass ${JSON.stringify(pass)}\n`);
supervisor.close();
process.exit(0);
