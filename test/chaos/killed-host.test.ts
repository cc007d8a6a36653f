/**
 * [D15] A real host process is killed before each single thing that a pass changes on the machine (a file opened for
 * writing, written, given its mode, renamed, removed; a process started or signalled), and the next pass completes it.
 */
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { z } from 'zod';
import type { Envelope } from '../../src/domain/declaration/declaration.ts';
import { keysAt } from '../../src/host/keys.ts';
import { openLedger } from '../../src/host/ledger.ts';
import { Reconciler } from '../../src/host/pass.ts';
import { Supervisor } from '../../src/host/processes/supervisor.ts';
import { ProvisionerClient } from '../../src/host/provisioning/client.ts';
import { readNode, statePaths, writeState } from '../../src/host/state.ts';
import { anvil, directory, file, makeNode, patience, processOf, quiet, type TestNode } from '../host/node.ts';
import { startTypeScript } from '../support/program.ts';
import { documentedKinds, hostKinds } from './kinds.ts';

const program = fileURLToPath(new URL('host-program.ts', import.meta.url));
const outcome = z.object({
  kind: z.literal('applied'),
  applied: z.object({
    declared: z.number(),
    applied: z.number(),
    failures: z.array(z.unknown()),
    drift: z.array(z.string()),
    kept: z.array(z.string()),
  }),
});

let node: TestNode;
beforeEach(async () => {
  node = await makeNode();
  await writeState(node.stateDir, statePaths.node, {
    schema: 'mesh.host-node',
    version: 1,
    name: anvil,
    address: '127.0.0.1',
    servers: ['nats://127.0.0.1:1'],
    verifyKey: node.declarationKey.publicKey,
    userJwt: 'none',
  });
});
afterEach(async () => {
  await node.restart();
  await node.remove();
});

/** A pass of a host process over what came, killed before its `killBefore`-th change; 0: not at all. */
async function pass(came: Envelope, killBefore: number) {
  const envelopeFile = path.join(node.stateDir, 'came.json');
  await writeFile(envelopeFile, JSON.stringify(came));
  const host = startTypeScript(program, [node.stateDir, node.root, envelopeFile, String(killBefore)]);
  let [said, complaint] = ['', ''];
  host.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  host.stderr?.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
  await once(host, 'close');
  if (host.exitCode !== 0 && host.signalCode !== 'SIGKILL') throw new Error(complaint);
  const lines = said.trimEnd().split('\n');
  const last = lines.at(-1) ?? '';
  return {
    changes: lines.filter((line) => !line.startsWith('pass ')),
    killed: host.signalCode === 'SIGKILL',
    came: last.startsWith('pass ') ? outcome.parse(JSON.parse(last.slice(5))).applied : undefined,
  };
}

/** The same by a host that starts in this process: it has what the killed one left on disk, and nothing else. */
async function passHere(came: Envelope) {
  const { stateDir, root } = node;
  const kept = await readNode(stateDir);
  if (kept === undefined) throw new Error('it has not joined');
  const supervisor = new Supervisor({ stateDir, say: quiet, patience, turned: () => undefined });
  await supervisor.adopt();
  const keys = await keysAt(stateDir);
  const reconciler = new Reconciler({
    stateDir,
    node: kept,
    with: {
      ledger: await openLedger(stateDir),
      supervisor,
      sealingKey: keys.sealing,
      surroundings: { root, bin: '/nowhere', nodeFolder: path.dirname(process.execPath) },
      client: new ProvisionerClient({ node: kept, stateDir, root, sealingKey: keys.sealing, say: quiet }),
    },
    say: quiet,
  });
  await reconciler.takeUp();
  const done = outcome.parse(await reconciler.pass({ kind: 'came', envelope: came }, []));
  supervisor.close();
  return { came: done.applied };
}

const sleeping = `${200_000 + process.pid}`;
async function running(): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')));
  return lines.filter((line) => line === `sleep\0${sleeping}.1\0` || line === `sleep\0${sleeping}.2\0`);
}

/** Two worlds: going from one to the other, either way, makes, changes, removes and restarts something, in the same order. */
const world = (round: 1 | 2, number: number): Promise<Envelope> =>
  node.sign(
    node.declare(
      directory('/etc/notes'),
      file('/etc/notes/config', `round ${round}\n`.repeat(20_000)),
      node.secret(`secret ${round}`, { path: '/etc/notes/db' }),
      directory(`/etc/only-${round}`),
      file(`/etc/only-${round}/x`, 'x'),
      processOf('main', '', { command: ['sleep', `${sleeping}.${round}`], restartOn: ['/etc/notes/db'] }),
    ),
    number,
  );

test('[D9] [D13] [D15] killed before each thing that a pass does, the next completes it, and the one after finds nothing to do', async () => {
  expect((await pass(await world(1, 1), 0)).came).toMatchObject({ failures: [] });
  const whole = [1, 2].map((round) => `round ${round}\n`.repeat(20_000));
  const points: string[] = [];
  let number = 1;
  for (let killBefore = 1, isThrough = false; !isThrough; killBefore += 1) {
    const target = killBefore % 2 === 1 ? 2 : 1;
    number += 1;
    const came = await world(target, number);
    const cut = await pass(came, killBefore);
    isThrough = !cut.killed;
    if (cut.killed) points.push(cut.changes.at(-1) ?? '');
    // Nobody ever sees a part of a file, nor two processes for one.
    expect(whole).toContain(await node.read('/etc/notes/config'));
    expect(['secret 1', 'secret 2']).toContain(await node.read('/etc/notes/db'));
    expect((await running()).length).toBeLessThanOrEqual(1);

    // Every eighth time in a process of its own, as after a kill; that costs a second, and there are many points.
    const next = killBefore % 8 === 1 ? await pass(came, 0) : await passHere(came);
    expect(next.came).toMatchObject({ failures: [], kept: [] });
    expect(next.came?.applied).toBe(next.came?.declared);
    expect(await node.read('/etc/notes/config')).toBe(whole[target - 1]);
    expect(await node.read('/etc/notes/db')).toBe(`secret ${target}`);
    expect(await running()).toEqual([`sleep\0${sleeping}.${target}\0`]);
    expect((await readdir(node.at('/etc/notes'))).toSorted()).toEqual(['config', 'db']);
    expect((await readdir(node.at('/etc'))).toSorted()).toEqual(['notes', `only-${target}`]);
    if (killBefore % 8 === 1) {
      const again = await pass(came, 0);
      expect(again.came).toMatchObject({ failures: [], drift: [], kept: [] });
    }
  }
  expect(points.length).toBeGreaterThan(30);
  // Both ways: no change is of a kind that the page does not list, and the host was killed at each that it lists.
  expect(new Set(points.map(hostKinds(['config', 'db', 'x'])))).toEqual(documentedKinds('The host'));
}, 400_000);
