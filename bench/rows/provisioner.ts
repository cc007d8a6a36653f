/**
 * The provisioner's clients: the first pass of a whole mesh, in which every file is filled in and every key is written, and what one
 * value costs that changed afterwards. The clients are the real ones, each with its own account and folders, on a real bus; what is
 * played is the controller, by its buckets and its seat.
 */
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { clientAccount, controllerSeat } from '../../src/bus/accounts.ts';
import { lastChange, openBucket } from '../../src/bus/buckets.ts';
import { prepareAccount, pushAccount } from '../../src/bus/claims.ts';
import { ensureBuckets } from '../../src/bus/mesh-buckets.ts';
import { serveSeat, serving } from '../../src/bus/verbs.ts';
import { declaration, type Declaration } from '../../src/domain/declaration/declaration.ts';
import { assignmentKeys, boundKeys, compositionKeys, settingKeys } from '../../src/domain/provisioning/keys.ts';
import { compileRegistry, meshOwnDomains } from '../../src/domain/provisioning/registry.ts';
import { boundBucket, buckets } from '../../src/domain/provisioning/values.ts';
import { present } from '../../src/domain/words/invariant.ts';
import { moduleName, nodeName, partName, provisionName, type NodeName } from '../../src/domain/words/names.ts';
import { applyDeclaration } from '../../src/host/apply/apply.ts';
import { keysAt } from '../../src/host/keys.ts';
import { openLedger } from '../../src/host/ledger.ts';
import { Supervisor } from '../../src/host/processes/supervisor.ts';
import { ProvisionerClient } from '../../src/host/provisioning/client.ts';
import { makeStateFolder } from '../../src/host/state.ts';
import { seal } from '../../src/sealing/box.ts';
import { Plaintext } from '../../src/sealing/plaintext.ts';
import { secretVerb } from '../../src/seats/the-controller/verbs.ts';
import { startBus, type TestBus } from '../../test/bus/server.ts';
import { until } from '../../test/support/until.ts';
import { loadNow, summaryOf } from '../measure.ts';
import type { Row } from '../table.ts';
import { moduleAt, nodeAt } from '../wide-mesh.ts';

const [nodes, modules, rounds] = [200, 20, 11];
/** How many nodes of the one process pass at once. */
const atOnce = 16;
const provision = provisionName.parse('postgres-database');
const settings = ['a', 'b', 'c', 'd', 'e'].map((name) => partName.parse(name));
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
const text = [
  ...settings.map((name) => `${name}: \${config:${name}}`),
  'port: ${port:http}',
  'host: ${bound:postgres-database:host}',
  'database: ${bound:postgres-database:database}',
  'login: ${secret:postgres-database:login}',
  'password: ${secret:postgres-database}',
].join('\n');

export async function provisionerRows(note: (line: string) => void): Promise<readonly Row[]> {
  const base = await mkdtemp(path.join(tmpdir(), 'mesh-bench-provisioner-'));
  const bus = await startBus();
  try {
    const mesh = await playMesh(bus, base);
    const full = await mesh.measured(mesh.nodes);
    if (full.files !== nodes * modules) throw new Error(`filled ${full.files} files`);
    const changed: Awaited<ReturnType<typeof mesh.measured>>[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const node = present(mesh.nodes[round * 7], 'the node that changes');
      await mesh.put(
        buckets.settings,
        settingKeys.of({ node: node.name, module: moduleAt1, name: settingAt0 }),
        `round ${round}`,
      );
      changed.push(await mesh.measured([node]));
    }
    const nothing = await mesh.measured(mesh.nodes);
    const one = summaryOf(changed.map(({ ms }) => ms));
    const load = loadNow();
    const each = changed.map(({ puts, files }) => `${puts} and ${files}`);
    note(
      `Of ${nodes} clients, each with its own account, in one process, ${atOnce} at a time: puts and file writes of the first pass ${full.puts} and ${full.files}; of one value's change ${[...new Set(each)].join(', ')}; of a pass over nothing new ${nothing.puts} and ${nothing.files}. Only the node is told whose key moved.`,
    );
    await mesh.close();
    return [
      {
        work: `provisioner ${nodes} × ${modules} × 10 placeholders: one value changed; floor: the first pass`,
        unit: 'ms',
        floor: summaryOf([full.ms]),
        product: one,
        target: {
          says: '≤ 1/50 of the first pass',
          met:
            one.p50 <= full.ms / 50 &&
            changed.every(({ puts, files }) => (puts + files) * 50 <= full.puts + full.files),
        },
        load,
      },
      {
        work: 'provisioner: every node passes over nothing new; floor: the first pass',
        unit: 'ms',
        floor: summaryOf([full.ms]),
        product: summaryOf([nothing.ms]),
        load,
      },
    ];
  } finally {
    await bus.stop();
    await rm(base, { recursive: true, force: true });
  }
}

const moduleAt1 = moduleName.parse(moduleAt(1));
const settingAt0 = present(settings[0], 'a setting');

type Played = {
  readonly name: NodeName;
  readonly root: string;
  readonly pass: () => Promise<void>;
  readonly end: () => Promise<void>;
};

async function playMesh(bus: TestBus, base: string) {
  await ensureBuckets(bus.mesh, ['postgres']);
  const opened = new Map<string, ReturnType<typeof openBucket>>();
  const put = async (bucket: string, key: string, value: unknown): Promise<void> => {
    const at = opened.get(bucket) ?? openBucket(bus.mesh, bucket);
    opened.set(bucket, at);
    await (await at).put(key, JSON.stringify(value));
  };
  for (const { key, value } of compileRegistry({ domains: meshOwnDomains, present: new Map() }).writes)
    await put(buckets.registry, key, value);
  const sealingKeys = new Map<string, string>();
  const secret = serving(secretVerb, async ({ module }, { name }) => ({
    generation: 1,
    login: `${name}.${module}_b`,
    ...seal(new Plaintext(`secret of ${module} on ${name}`), present(sealingKeys.get(name), 'its key')),
  }));
  const seat = await serveSeat(bus.mesh, controllerSeat, [secret], (fault) => {
    throw fault;
  });
  const named = Array.from({ length: modules }, (_, index) => moduleName.parse(moduleAt(index)));
  for (const module of named)
    await put(buckets.compositions, compositionKeys.of({ module }), {
      version: '1.0.0',
      answers: [],
      collects: [],
      contributes: [],
    });
  const supervisor = new Supervisor({ stateDir: base, say: quiet, turned: () => undefined });
  const played: Played[] = [];
  for (let index = 0; index < nodes; index += 1) {
    const name = nodeName.parse(nodeAt(index));
    await mirror(name);
    const [root, stateDir] = [path.join(base, name, 'root'), path.join(base, name, 'state')];
    await makeStateFolder(stateDir);
    await mkdir(root);
    const keys = await keysAt(stateDir);
    sealingKeys.set(name, keys.sealing.publicKey);
    const shape = clientAccount(name, { meshAccount: bus.identity.accounts.mesh });
    const prepared = await prepareAccount(bus.identity, shape, { userKey: keys.client.publicKey });
    await pushAccount(bus.system, bus.identity, { accountKey: prepared.accountKey, shape });
    const client = new ProvisionerClient({
      node: {
        schema: 'mesh.host-node',
        version: 1,
        name,
        address: '127.0.0.1',
        servers: [...bus.servers],
        verifyKey: 'none',
        userJwt: 'none',
        clientJwt: prepared.userJwt,
      },
      stateDir,
      root,
      sealingKey: keys.sealing,
      say: quiet,
    });
    const ending = new AbortController();
    let isThere = false;
    const kept = client.keep(keys, () => void (isThere = true), ending.signal);
    await until(async () => isThere, { withinMs: 20_000, what: `the client of ${name} to be on the bus` });
    const declared = declarationOf(name);
    const applying = {
      ledger: await openLedger(stateDir),
      supervisor,
      sealingKey: keys.sealing,
      surroundings: { root, bin: base, nodeFolder: base },
    };
    played.push({
      name,
      root,
      async pass() {
        const prepared = await client.prepare(declared);
        const { failures } = await applyDeclaration(declared, { ...applying, filling: prepared.filling });
        if (failures.length > 0) throw new Error(JSON.stringify(failures[0]));
        await prepared.settle(new Map());
      },
      async end() {
        ending.abort();
        await kept;
      },
    });
  }

  /** What the controller's mirrors hold of a node: its index, and per module a plan, five settings and a binding. */
  async function mirror(node: NodeName): Promise<void> {
    const reference = { provision, provider: moduleName.parse('postgres') };
    await Promise.all(
      named.flatMap((module, index) => [
        ...settings.map((name) =>
          put(buckets.settings, settingKeys.of({ node, module, name }), `${name} of ${module}`),
        ),
        put(boundBucket('postgres'), boundKeys.of({ node, module, provision }), {
          host: '10.0.0.7',
          port: 5432,
          database: `${node}.${module}`,
        }),
        put(buckets.assignments, assignmentKeys.of({ node, module }), {
          version: '1.0.0',
          dirs: {},
          access: {},
          ports: { http: 20_000 + index },
          seats: {},
          machine: {},
          contributes: [],
        }),
      ]),
    );
    const entry = { version: '1.0.0', settings, bound: [reference] };
    await put(buckets.assignments, assignmentKeys.of({ node }), {
      modules: Object.fromEntries(named.map((module) => [module, entry])),
    });
  }

  const sequences = async (): Promise<number> => {
    const each = await Promise.all(
      [buckets.needs, buckets.applied, buckets.collect, buckets.health].map((bucket) => lastChange(bus.mesh, bucket)),
    );
    return each.reduce<number>((sum, one) => sum + (one ?? 0), 0);
  };
  return {
    nodes: played,
    put,
    /** One pass of each of these: how long all of them took, and what was written. */
    async measured(
      some: readonly Played[],
    ): Promise<{ readonly ms: number; readonly puts: number; readonly files: number }> {
      const [before, beganAt] = [await sequences(), Date.now()];
      const began = performance.now();
      const left = [...some];
      const work = async (): Promise<void> => {
        for (let next = left.shift(); next !== undefined; next = left.shift()) await next.pass();
      };
      await Promise.all(Array.from({ length: Math.min(atOnce, some.length) }, work));
      const ms = performance.now() - began;
      return { ms, puts: (await sequences()) - before, files: await writtenSince(played, beganAt) };
    },
    async close() {
      await Promise.all(played.map(({ end }) => end()));
      await seat.stop();
    },
  };
}

function declarationOf(node: NodeName): Declaration {
  return declaration.parse({
    schema: 'mesh.declaration',
    version: 1,
    node,
    address: '127.0.0.1',
    capabilities: [],
    granters: [],
    resources: Array.from({ length: modules }, (_, index) => ({
      id: `${moduleAt(index)}/file`,
      module: moduleAt(index),
      kind: 'file',
      path: `/${moduleAt(index)}.yaml`,
      mode: '0600',
      content: `${text}\n`,
      encoding: 'utf8',
      fill: { format: 'yaml', generations: { [provision]: 1 }, own: {} },
    })),
  });
}

/** How many of the nodes' files were written since then. */
async function writtenSince(played: readonly Played[], sinceMs: number): Promise<number> {
  let count = 0;
  for (const { root } of played)
    for (const name of await readdir(root)) if ((await stat(path.join(root, name))).mtimeMs >= sinceMs) count += 1;
  return count;
}
