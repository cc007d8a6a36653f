import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { nodeAccount, tokenAccount } from '../../src/bus/accounts.ts';
import { prepareAccount, pushAccount } from '../../src/bus/claims.ts';
import { announceChanged, lastDeclaration, publishDeclaration } from '../../src/bus/declarations.ts';
import { checkAnswer, type CheckedEnrolment } from '../../src/bus/enrolment-checks.ts';
import { serveEnrolment } from '../../src/bus/enrolment.ts';
import { consumeReports } from '../../src/bus/reports.ts';
import { makeSeed } from '../../src/bus/seed.ts';
import { ensureStreams } from '../../src/bus/streams.ts';
import { makeTokenId, printInvitation } from '../../src/bus/token.ts';
import type { Declaration, Envelope, Resource } from '../../src/domain/declaration/declaration.ts';
import type { Report } from '../../src/domain/report/report.ts';
import { provisionName } from '../../src/domain/words/names.ts';
import { joinMesh } from '../../src/host/join.ts';
import { keysAt } from '../../src/host/keys.ts';
import { runHost } from '../../src/host/loop.ts';
import { readNode } from '../../src/host/state.ts';
import { stopNode } from '../../src/host/stop-node.ts';
import { publicKeyFault, seal } from '../../src/sealing/box.ts';
import { signEnvelope } from '../../src/sealing/envelope.ts';
import { Plaintext } from '../../src/sealing/plaintext.ts';
import { makeDeclarationKey } from '../../src/sealing/signing.ts';
import { startBus, type TestBus } from '../bus/server.ts';
import { until } from '../support/until.ts';
import { anvil, directory, file, notes, patience, processOf, quiet } from './node.ts';

const run = promisify(execFile);
const declarationKey = makeDeclarationKey();
const reports: Report[] = [];
let bus: TestBus;
let reading: { stop(): Promise<void> };
beforeAll(async () => {
  bus = await startBus();
  await ensureStreams(bus.mesh);
  reading = consumeReports(bus.mesh, {
    onReports: async (came) => void reports.push(...came),
    onUnreadable: async ({ reason }) => {
      throw new Error(reason);
    },
  });
});
afterAll(async () => {
  await reading.stop();
  await bus.stop();
});

let base: string;
let stateDir: string;
let root: string;
let host: { abort: AbortController; ended: Promise<void> } | undefined;
let number = 0;
let enrolling: { stop(): Promise<void> };
beforeEach(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'mesh-loop-'));
  [stateDir, root] = [path.join(base, 'state'), path.join(base, 'root')];
  reports.length = 0;
  enrolling = controller();
});
afterEach(async () => {
  await end();
  await enrolling.stop();
  await stopNode({ stateDir, say: quiet });
  await rm(base, { recursive: true, force: true });
});

/** The controller's side of joining, as far as the host sees it. */
function controller(): { stop(): Promise<void> } {
  const value = new Plaintext('challenge');
  let enrolled: CheckedEnrolment | undefined;
  return serveEnrolment(bus.mesh, {
    publicKeyFault,
    heldBy: async () => undefined,
    onUnreadable: async () => undefined,
    onEnrolment: async (of) => {
      enrolled = of;
      return seal(value, of.sealingKey);
    },
    onAnswer: async (said) => {
      if (enrolled === undefined) throw new Error('nobody enrolled');
      const sha256 = value.reveal((bytes) => createHash('sha256').update(bytes).digest('hex'));
      const refusal = checkAnswer(said, { enrolled, sha256 });
      if (refusal !== undefined) return refusal;
      const shape = nodeAccount(anvil, { meshAccount: bus.identity.accounts.mesh });
      const account = await prepareAccount(bus.identity, shape, { userKey: enrolled.identityKey });
      await pushAccount(bus.system, bus.identity, { accountKey: account.accountKey, shape });
      return {
        node: anvil,
        userJwt: account.userJwt,
        servers: [...bus.servers],
        declarationKey: declarationKey.publicKey,
      };
    },
  });
}

async function invitation(): Promise<string> {
  const seed = makeSeed('user');
  const id = makeTokenId();
  const shape = tokenAccount(id, { meshAccount: bus.identity.accounts.mesh });
  const account = await prepareAccount(bus.identity, shape, { userKey: seed.publicKey });
  await pushAccount(bus.system, bus.identity, { accountKey: account.accountKey, shape });
  const { publicKey } = declarationKey;
  return printInvitation({
    node: anvil,
    tokenId: id,
    servers: bus.servers,
    userJwt: account.userJwt,
    seed,
    declarationKey: publicKey,
    expiresAt: new Date(Date.now() + 60_000),
  });
}

const join = async (token?: string) =>
  joinMesh({ token: token ?? (await invitation()), stateDir, address: '127.0.0.1', say: quiet, withinMs: 5_000 });

function start(intervalMs = 60_000): void {
  const abort = new AbortController();
  host = {
    abort,
    ended: runHost({ stateDir, root, intervalMs, bin: '/nowhere', say: quiet, signal: abort.signal, patience }),
  };
}
async function end(): Promise<void> {
  const running = host;
  host = undefined;
  running?.abort.abort();
  await running?.ended;
}

type Granters = Declaration['granters'];
async function send(
  resources: readonly Resource[],
  granters: Granters = [],
  over: Partial<Envelope> = {},
): Promise<Envelope> {
  number += 1;
  const declaration: Declaration = {
    schema: 'mesh.declaration',
    version: 1,
    node: anvil,
    address: '127.0.0.1',
    capabilities: [],
    resources: [...resources],
    granters,
  };
  const envelope = {
    ...(await signEnvelope({ node: anvil, number, text: JSON.stringify(declaration), key: declarationKey })),
    ...over,
  };
  const last = await lastDeclaration(bus.mesh, anvil);
  if ((await publishDeclaration(bus.mesh, envelope, last?.sequence ?? 0)) === 'conflict') throw new Error('conflict');
  announceChanged(bus.mesh, anvil);
  return envelope;
}

async function reported(what: string, is: (report: Report) => boolean, withinMs = 15_000): Promise<Report> {
  let found: Report | undefined;
  await until(() => (found = reports.find(is)) !== undefined, { withinMs, what });
  if (found === undefined) throw new Error(what);
  return found;
}
const about = (envelope: Envelope) => (report: Report) =>
  report.digest === envelope.digest && report.number === envelope.number;

describe('joining', () => {
  test('[U16] the keys are made once, and a join that is run again goes on with them', async () => {
    const token = await invitation();
    expect(await join(token)).toEqual({ kind: 'joined', node: anvil, already: false });
    const keys = await keysAt(stateDir);
    expect(await join(token)).toEqual({ kind: 'joined', node: anvil, already: true });
    // Interrupted after the admission and before it was kept.
    const before = await readNode(stateDir);
    await rm(path.join(stateDir, 'node.json'));
    expect(await join(token)).toEqual({ kind: 'joined', node: anvil, already: false });
    const again = await keysAt(stateDir);
    expect([again.identity.publicKey, again.sealing.publicKey, again.overlay.publicKey]).toEqual([
      keys.identity.publicKey,
      keys.sealing.publicKey,
      keys.overlay.publicKey,
    ]);
    expect((await readNode(stateDir))?.verifyKey).toBe(before?.verifyKey);
    const { stdout } = await run('find', [stateDir, '-perm', '/077']);
    expect(stdout).toBe('');
  });

  test('[U16] an invitation that was changed is refused, and nothing is made', async () => {
    expect(await join(`${(await invitation()).slice(0, -3)}abc`)).toMatchObject({ kind: 'token-invalid' });
    await expect(readFile(path.join(stateDir, 'node.json'))).rejects.toThrow('ENOENT');
  });
});

describe('the host on its bus', () => {
  test('[D13] [D16] [D20] it speaks when it has nothing, applies when told, and reports every pass with its counter', async () => {
    await join();
    start();
    expect(await reported('the idle report', ({ outcome }) => outcome === 'idle')).toMatchObject({
      boot: 1,
      declared: 0,
      intervalMs: 60_000,
    });
    const envelope = await send([
      directory('/etc/notes'),
      file('/etc/notes/a', 'a'),
      processOf('web', 'exec sleep 1000'),
    ]);
    const report = await reported('the apply', about(envelope));
    expect(report).toMatchObject({ outcome: 'applied', declared: 3, applied: 3, failures: [], drift: [], boot: 1 });
    expect(report.capabilities.map(({ name }) => name)).toEqual([
      'architecture',
      'caddy',
      'container-runtime',
      'firewall',
      'memory',
      'wireguard',
    ]);
    expect(await readFile(path.join(root, 'etc/notes/a'), 'utf8')).toBe('a');
    // A second start of the host counts on, and keeps the process.
    const pid = await pidOfWeb();
    await end();
    start();
    expect(await reported('the second boot', (of) => of.boot === 2 && of.outcome === 'applied')).toMatchObject({
      sequence: expect.any(Number),
      drift: [],
    });
    expect(await pidOfWeb()).toBe(pid);
    const sequences = reports.filter(({ boot }) => boot === 1).map(({ sequence }) => sequence);
    // The first of all may have been spoken before the bus was there to hear it.
    const [first = 0] = sequences;
    expect(sequences).toEqual(sequences.map((_, n) => first + n));
  });

  test('[D13] at its interval it puts right what drifted, says it, and reports passes that changed nothing', async () => {
    await join();
    start(200);
    const envelope = await send([file('/etc/a', 'a'), processOf('web', 'exec sleep 1000')]);
    await reported('the apply', about(envelope));
    const count = reports.length;
    await until(() => reports.length >= count + 2, { withinMs: 10_000, what: 'two more reports' });
    expect(reports.at(-1)).toMatchObject({ outcome: 'applied', drift: [] });
    await writeFile(path.join(root, 'etc/a'), 'edited');
    process.kill(await pidOfWeb(), 'SIGKILL');
    await reported('the file', ({ drift }) => drift.includes('/etc/a had been changed and was put back'));
    await reported('the process', ({ drift }) =>
      drift.includes('the process notes.web had ended by SIGKILL and was started again'),
    );
    expect(await readFile(path.join(root, 'etc/a'), 'utf8')).toBe('a');
  });

  test('[D3] [D25] what is not signed by the key it knows makes it do nothing, whatever it says, and is reported as refused', async () => {
    await join();
    start();
    const good = await send([file('/etc/a', 'a')]);
    await reported('the apply', about(good));
    const forged = await send([file('/etc/a', 'forged'), processOf('evil', `touch ${base}/evil`)], [], {
      signature: Buffer.alloc(64).toString('base64'),
    });
    expect(await reported('the refusal', about(forged))).toMatchObject({
      outcome: 'refused',
      applied: 0,
      refusal: { kind: 'wrong-signature' },
    });
    // No message but the declaration counts for anything: commands in what tells it to look are not even read.
    announceChanged(bus.mesh, anvil, ['$(touch evil)', 'process/evil']);
    const count = reports.length;
    await until(() => reports.length > count, { withinMs: 10_000, what: 'one more report' });
    expect(await readFile(path.join(root, 'etc/a'), 'utf8')).toBe('a');
    await expect(readFile(path.join(base, 'evil'))).rejects.toThrow('ENOENT');
  });

  test("[S8] a granter's status is carried, and a change of it is reported within a moment, without a pass", async () => {
    await join();
    start();
    const provision = provisionName.parse('postgres-database');
    const status = '/var/lib/grants.status.json';
    const granters: Granters = [{ module: notes, provision, status }];
    const envelope = await send([directory('/var/lib/grants'), file('/etc/a', 'a')], granters);
    await reported('the apply', about(envelope));
    const replace = async (seen: number) => {
      const text = JSON.stringify({
        schema: 'mesh.granter-status',
        version: 1,
        provision,
        entries: [
          { node: 'bellows', module: 'ledger', generation: 1, login: 'l_a', state: 'granted', seen, sessionsEnded: 0 },
        ],
      });
      await writeFile(path.join(root, 'var/lib/next'), text);
      await rename(path.join(root, 'var/lib/next'), path.join(root, status));
    };
    const carried = (seen: number) => (report: Report) => report.granters[0]?.status.entries[0]?.seen === seen;
    await replace(0);
    await reported('the first status', carried(0));
    // A pass would put this back.
    await writeFile(path.join(root, 'etc/a'), 'edited');
    for (const seen of [1, 2, 3]) {
      const from = performance.now();
      await replace(seen);
      expect(await reported(`status ${seen}`, carried(seen))).toMatchObject({
        outcome: 'applied',
        digest: envelope.digest,
      });
      expect(performance.now() - from).toBeLessThan(1_000);
    }
    expect(await readFile(path.join(root, 'etc/a'), 'utf8')).toBe('edited');
    const all = reports.filter(({ boot }) => boot === 1).map(({ sequence }) => sequence);
    expect(all).toEqual(all.toSorted((one, other) => one - other));
    await writeFile(path.join(root, status), 'not a status');
    await until(() => reports.at(-1)?.granters.length === 0, {
      withinMs: 10_000,
      what: 'the broken status to be left out',
    });
  });

  test('two hosts never share a state folder', async () => {
    await join();
    start();
    await reported('the idle report', ({ outcome }) => outcome === 'idle');
    const second = runHost({ stateDir, root, bin: '/nowhere', say: quiet, signal: new AbortController().signal });
    await expect(second).rejects.toThrow(/another host \(process [0-9]+\) already runs on/);
    await expect(stopNode({ stateDir, say: quiet })).rejects.toThrow(/another host/);
  });

  test('[D13] [D15] the bus away: it keeps running what it has, also across its own restart, and reports when the bus is back', async () => {
    await join();
    start(200);
    const envelope = await send([file('/etc/a', 'a'), processOf('web', 'exec sleep 1000')]);
    await reported('the apply', about(envelope));
    const pid = await pidOfWeb();
    await bus.kill();
    try {
      await writeFile(path.join(root, 'etc/a'), 'edited');
      await until(async () => (await readFile(path.join(root, 'etc/a'), 'utf8')) === 'a', {
        withinMs: 10_000,
        what: 'the file to be put back',
      });
      await end();
      await rm(path.join(root, 'etc/a'));
      start(200);
      await until(async () => (await readFile(path.join(root, 'etc/a'), 'utf8').catch(() => '')) === 'a', {
        withinMs: 10_000,
        what: 'it to be put back by the next host',
      });
      expect(await pidOfWeb()).toBe(pid);
      reports.length = 0;
    } finally {
      await bus.start();
    }
    expect(await reported('the report', ({ boot }) => boot === 2, 30_000)).toMatchObject({
      outcome: 'applied',
      digest: envelope.digest,
    });
  });
});

async function pidOfWeb(): Promise<number> {
  const { stdout } = await run('sh', ['-c', 'cat "$1"/processes/notes.web.*.pid', 'sh', stateDir]);
  return Number(stdout.split(' ')[0]);
}
