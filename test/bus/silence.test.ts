/**
 * [C76] Two real hosts on a real server, over a line that can be cut. `told` is told of each change and looks by itself
 * once an hour; `asking` is told nothing and looks at every interval. Whatever happens to the server, the line or the host,
 * each acts on the newest declaration within the stated time, once, and never on an older one after it.
 */
import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { nodeAccount } from '../../src/bus/accounts.ts';
import { prepareAccount, pushAccount } from '../../src/bus/claims.ts';
import { announceChanged, heldDeclarations, lastDeclaration, publishDeclaration } from '../../src/bus/declarations.ts';
import { consumeReports } from '../../src/bus/reports.ts';
import { ensureStreams } from '../../src/bus/streams.ts';
import { declarationsStream } from '../../src/bus/subjects.ts';
import type { Declaration } from '../../src/domain/declaration/declaration.ts';
import type { Report } from '../../src/domain/report/report.ts';
import { nodeName, type NodeName } from '../../src/domain/words/names.ts';
import { keysAt } from '../../src/host/keys.ts';
import { makeStateFolder, statePaths, writeState } from '../../src/host/state.ts';
import { stopNode } from '../../src/host/stop-node.ts';
import { signEnvelope } from '../../src/sealing/envelope.ts';
import { makeDeclarationKey } from '../../src/sealing/signing.ts';
import { file, processOf, quiet } from '../host/node.ts';
import { startTypeScript } from '../support/program.ts';
import { until } from '../support/until.ts';
import { lineTo, type Line } from './line.ts';
import { startBus, type TestBus } from './server.ts';

const program = fileURLToPath(new URL('host-program.ts', import.meta.url));
/** What was away for a moment is tried again within a moment; a pause between two attempts is at most ten seconds. */
const statedMs = 10_000;
const key = makeDeclarationKey();
const said = z.object({ text: z.string(), number: z.int().optional() });

type Host = {
  readonly node: NodeName;
  readonly isTold: boolean;
  readonly stateDir: string;
  readonly root: string;
  readonly program: ChildProcess;
  /** Numbers of the declarations that it accepted, in that order. */
  readonly acted: number[];
  readonly texts: string[];
};

let base: string;
let bus: TestBus;
let line: Line;
let reading: { stop(): Promise<void> };
let hosts: readonly Host[] = [];
let number = 0;
const reports: Report[] = [];

beforeAll(async () => {
  base = await mkdtemp(path.join(tmpdir(), 'mesh-silence-'));
  bus = await startBus();
  await ensureStreams(bus.mesh);
  line = await lineTo(Number(new URL(bus.servers[0] ?? '').port));
  reading = consumeReports(bus.mesh, {
    onReports: async (came) => void reports.push(...came),
    onUnreadable: async ({ reason }) => {
      throw new Error(reason);
    },
  });
  hosts = [await startHost('told', 3_600_000), await startHost('asking', 300)];
  await declare();
  await bothOnNewest();
}, 60_000);
afterAll(async () => {
  for (const host of hosts) {
    const ended = once(host.program, 'exit');
    host.program.kill('SIGKILL');
    await ended;
    await stopNode({ stateDir: host.stateDir, say: quiet });
  }
  await reading.stop();
  await line.close();
  await bus.stop();
  await rm(base, { recursive: true, force: true });
});

async function startHost(name: string, intervalMs: number): Promise<Host> {
  const node = nodeName.parse(name);
  const [stateDir, root] = [path.join(base, name, 'state'), path.join(base, name, 'root')];
  await makeStateFolder(stateDir);
  const { identity } = await keysAt(stateDir);
  const shape = nodeAccount(node, { meshAccount: bus.identity.accounts.mesh });
  const { accountKey, userJwt } = await prepareAccount(bus.identity, shape, { userKey: identity.publicKey });
  await pushAccount(bus.system, bus.identity, { accountKey, shape });
  await writeState(stateDir, statePaths.node, {
    schema: 'mesh.host-node',
    version: 1,
    name,
    address: '127.0.0.1',
    servers: [line.url],
    verifyKey: key.publicKey,
    userJwt,
  });
  const started = startTypeScript(program, [stateDir, root, String(intervalMs)]);
  const host: Host = { node, isTold: name === 'told', stateDir, root, program: started, acted: [], texts: [] };
  if (started.stdout === null) throw new Error('it says nothing');
  createInterface({ input: started.stdout }).on('line', (text) => {
    const { text: words, number: of } = said.parse(JSON.parse(text));
    host.texts.push(words);
    if (words === 'accepted a declaration' && of !== undefined) host.acted.push(of);
  });
  return host;
}

/** A new declaration of each: the process is started anew each time, which shows how often it was acted on. */
async function declare(): Promise<void> {
  number += 1;
  for (const { node, isTold } of hosts) {
    const declaration: Declaration = {
      schema: 'mesh.declaration',
      version: 1,
      node,
      address: '127.0.0.1',
      capabilities: [],
      resources: [
        file('/etc/a', `a=${number}`),
        processOf('web', 'echo started >> "$MESH_ROOT/starts"; exec sleep 1000', { restartOn: ['/etc/a'] }),
      ],
      granters: [],
    };
    const envelope = await signEnvelope({ node, number, text: JSON.stringify(declaration), key });
    const last = await lastDeclaration(bus.mesh, node);
    if ((await publishDeclaration(bus.mesh, envelope, last?.sequence ?? 0)) === 'conflict') throw new Error('conflict');
    if (isTold) announceChanged(bus.mesh, node);
  }
}

const newest = async ({ root }: Host): Promise<string> => readFile(path.join(root, 'etc/a'), 'utf8').catch(() => '');
async function bothOnNewest(): Promise<void> {
  for (const host of hosts)
    await until(
      async () =>
        host.acted.at(-1) === number && (await newest(host)) === `a=${number}` && reportOf(host) !== undefined,
      { withinMs: statedMs, what: `${host.node} to act on declaration ${number}, not ${host.acted.at(-1)}` },
    );
}
const reportOf = ({ node }: Host): Report | undefined =>
  reports.findLast((of) => of.node === node && of.number === number && of.outcome === 'applied');

const startsOf = async ({ root }: Host): Promise<number> =>
  (await readFile(path.join(root, 'starts'), 'utf8')).trimEnd().split('\n').length;
const meshBack = () =>
  until(
    async () =>
      bus.mesh.isConnected() &&
      (await heldDeclarations(bus.mesh, []).then(
        () => true,
        () => false,
      )),
    { withinMs: 20_000, what: 'MESH to be back' },
  );

async function signal(name: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  for (const host of hosts) host.program.kill(name);
}

const remade = async (): Promise<void> => {
  const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
  await manager.streams.delete(declarationsStream);
  await ensureStreams(bus.mesh);
};
const restarted = async (signalled: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
  await bus.kill(signalled);
  await bus.start();
  await meshBack();
};

/** What is done, and whether the host is there to act on what is declared in the middle of it. */
const happenings: readonly (readonly [string, (during: () => Promise<void>) => Promise<void>])[] = [
  ['the server is stopped and started', () => restarted('SIGTERM')],
  ['the server is killed and started', () => restarted('SIGKILL')],
  ['the stream is deleted and made again', () => remade()],
  [
    'the line is cut, and everybody told so',
    async (during) => {
      line.cut();
      await during();
      line.mend();
    },
  ],
  [
    'the line goes silent, and nobody is told',
    async (during) => {
      line.silence();
      await during();
      line.mend();
    },
  ],
  [
    'the host stands still while the server is restarted',
    async (during) => {
      await signal('SIGSTOP');
      await restarted('SIGKILL');
      await during();
      await signal('SIGCONT');
    },
  ],
];

test.each(happenings)(
  '[C76] %s: the newest is acted on within the stated time, once',
  async (_, happens) => {
    const before = await Promise.all(
      hosts.map(async (host) => ({ acted: host.acted.length, starts: await startsOf(host) })),
    );
    const from = number;
    // Three changes while it is away, where it can be: only the newest is acted on.
    let isAway = false;
    await happens(async () => {
      isAway = true;
      for (let times = 0; times < 3; times += 1) await declare();
    });
    if (!isAway) await declare();
    await bothOnNewest();
    for (const [at, host] of hosts.entries()) {
      const acted = host.acted.slice(before[at]?.acted);
      expect(acted).toEqual([from + (isAway ? 3 : 1)]);
      expect((await startsOf(host)) - (before[at]?.starts ?? 0)).toBe(1);
    }
  },
  60_000,
);

test('[C76] everything is purged while it is away: nothing is stopped, it is said, and what is declared next is acted on', async () => {
  const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
  const starts = await Promise.all(hosts.map(startsOf));
  const nodes = hosts.map(({ node }) => node);
  expect(await heldDeclarations(bus.mesh, nodes)).toEqual(new Set(nodes));
  line.cut();
  await manager.streams.purge(declarationsStream);
  reports.length = 0;
  line.mend();
  for (const host of hosts) {
    await until(() => reports.some((of) => of.node === host.node && of.declarationGone === true), {
      withinMs: statedMs,
      what: `${host.node} to raise the alarm`,
    });
    // It goes on as what it was last told to be, and says that too.
    expect(reports.findLast(({ node }) => node === host.node)).toMatchObject({
      outcome: 'applied',
      number,
      applied: 2,
    });
    expect(host.texts).toContain(
      'the bus holds no declaration for this node, which accepted one: it goes on with that',
    );
    expect(await newest(host)).toBe(`a=${number}`);
  }
  expect(await Promise.all(hosts.map(startsOf))).toEqual(starts);
  expect(await heldDeclarations(bus.mesh, nodes)).toEqual(new Set());
  await declare();
  await bothOnNewest();
  for (const host of hosts) expect(reportOf(host)?.declarationGone).toBeUndefined();
});
