/**
 * A node with its provisioner client on a real bus, and a mesh that a test writes as the controller would: the buckets, the
 * client's account and a seat that answers are real; there is no store and no Temporal.
 */
import { clientAccount, controllerSeat } from '../../../src/bus/accounts.ts';
import { openBucket, readBucket, lastChange } from '../../../src/bus/buckets.ts';
import { prepareAccount, pushAccount } from '../../../src/bus/claims.ts';
import { ensureBuckets } from '../../../src/bus/mesh-buckets.ts';
import { bucketStream } from '../../../src/bus/subjects.ts';
import { serveSeat, serving } from '../../../src/bus/verbs.ts';
import type { Envelope, FileFormat, FileResource, Resource } from '../../../src/domain/declaration/declaration.ts';
import {
  assignmentKeys,
  boundKeys,
  compositionKeys,
  registryKeys,
  settingKeys,
} from '../../../src/domain/provisioning/keys.ts';
import { compileRegistry, meshOwnDomains } from '../../../src/domain/provisioning/registry.ts';
import {
  boundBucket,
  buckets,
  composition,
  type AssignmentPlan,
  type Bound,
  type Composition,
  type SettingValue,
} from '../../../src/domain/provisioning/values.ts';
import { moduleName, partName, provisionName, localName, type NodeName } from '../../../src/domain/words/names.ts';
import { openLedger } from '../../../src/host/ledger.ts';
import type { Say } from '../../../src/host/log.ts';
import { Reconciler } from '../../../src/host/pass.ts';
import { ProvisionerClient } from '../../../src/host/provisioning/client.ts';
import type { Pass } from '../../../src/host/report.ts';
import type { NodeFile } from '../../../src/host/state.ts';
import { seal } from '../../../src/sealing/box.ts';
import { Plaintext } from '../../../src/sealing/plaintext.ts';
import { secretVerb } from '../../../src/seats/the-controller/verbs.ts';
import { startBus, type TestBus } from '../../bus/server.ts';
import { until } from '../../support/until.ts';
import { anvil, makeNode, type TestNode } from '../node.ts';

/** A module of the node as the controller's mirrors have it. `build` and `published: false`: it waits for what it builds. */
export type MeshModule = {
  readonly version?: string;
  readonly published?: boolean | string;
  readonly settings?: Readonly<Record<string, SettingValue>>;
  readonly bound?: readonly { provision: string; local?: string; provider: string; facts?: Bound }[];
  readonly plan?: Partial<AssignmentPlan>;
  readonly composition?: Partial<Composition>;
};
export type Secret = { readonly generation: number; readonly value: string; readonly login?: string };

/** The buckets that a client writes. */
export const written = [buckets.needs, buckets.applied, buckets.collect, buckets.health];
const all = [...Object.values(buckets), boundBucket('postgres')];

export type ClientMesh = {
  readonly bus: TestBus;
  /** What `secret` is answered: `<module> <provision>[.<local>]` → the credential. */
  readonly secrets: Map<string, Secret>;
  /** The secrets that were asked for, in order. */
  readonly asked: string[];
  /** Called with each asking, before it is answered. */
  onAsked: (name: string) => Promise<void> | void;
  /** Whether the seat is served. */
  serve(isServed: boolean): Promise<void>;
  put(bucket: string, key: string, value: unknown): Promise<void>;
  drop(bucket: string, key: string): Promise<void>;
  /** Removes every key of a bucket, with its history. */
  purge(bucket: string): Promise<void>;
  /** Makes the mirrors say exactly this of the node. */
  say(modules: Readonly<Record<string, MeshModule>>): Promise<void>;
  /** Key → value of a bucket. */
  keys(bucket: string): Promise<ReadonlyMap<string, unknown>>;
  /** What the client wrote: bucket → the sequence of its last change. */
  sequences(): Promise<readonly (number | undefined)[]>;
  /** Empties every bucket, and compiles the registry anew. */
  reset(): Promise<void>;
  /** Who a node's client is on the bus, by the keys of its host. */
  admit(node: TestNode): Promise<NodeFile>;
  stop(): Promise<void>;
};

export async function startClientMesh(): Promise<ClientMesh> {
  const bus = await startBus();
  const secrets = new Map<string, Secret>();
  const asked: string[] = [];
  const sealingKeys = new Map<string, string>();
  let said = new Map<string, readonly [string, string, unknown]>();
  let seat: { stop(): Promise<void> } | undefined;

  const secret = serving(secretVerb, async ({ module, name, local }, caller) => {
    const key = `${module} ${name}${local === undefined ? '' : `.${local}`}`;
    asked.push(key);
    await mesh.onAsked(key);
    const found = secrets.get(key);
    const to = sealingKeys.get(caller.name);
    if (found === undefined || to === undefined)
      return { refused: { kind: 'not-found' as const, what: `${module} has no secret ${name}` } };
    const { value, ...rest } = found;
    return { ...rest, ...seal(new Plaintext(value), to) };
  });
  const mesh: ClientMesh = {
    bus,
    secrets,
    asked,
    onAsked: () => undefined,
    async serve(isServed) {
      await seat?.stop();
      seat = isServed
        ? await serveSeat(bus.mesh, controllerSeat, [secret], (fault) => {
            throw fault;
          })
        : undefined;
    },
    put: async (bucket, key, value) =>
      void (await (await openBucket(bus.mesh, bucket)).put(key, JSON.stringify(value))),
    drop: async (bucket, key) => (await openBucket(bus.mesh, bucket)).delete(key),
    async purge(bucket) {
      const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
      await manager.streams.purge(bucketStream(bucket));
    },
    async say(modules) {
      const wanted = new Map(mirrored(modules).map((one) => [`${one[0]} ${one[1]}`, one]));
      const changed = [...wanted].filter(
        ([id, [, , value]]) => JSON.stringify(said.get(id)?.[2]) !== JSON.stringify(value),
      );
      for (const [, [bucket, key, value]] of changed) await mesh.put(bucket, key, value);
      for (const [id, [bucket, key]] of said) if (!wanted.has(id)) await mesh.drop(bucket, key);
      said = wanted;
    },
    async keys(bucket) {
      const { entries } = await readBucket(bus.mesh, bucket);
      return new Map([...entries].map(([key, { value }]): [string, unknown] => [key, JSON.parse(value)]));
    },
    sequences: () => Promise.all(written.map((bucket) => lastChange(bus.mesh, bucket))),
    async reset() {
      for (const bucket of all) await mesh.purge(bucket);
      said = new Map();
      secrets.clear();
      asked.length = 0;
      mesh.onAsked = () => undefined;
      for (const { key, value } of compileRegistry({ domains: meshOwnDomains, present: new Map() }).writes)
        await mesh.put(buckets.registry, key, value);
    },
    async admit(node) {
      const shape = clientAccount(anvil, { meshAccount: bus.identity.accounts.mesh });
      const prepared = await prepareAccount(bus.identity, shape, { userKey: node.keys.client.publicKey });
      const push = () => pushAccount(bus.system, bus.identity, { accountKey: prepared.accountKey, shape });
      // A server on a busy machine may not answer in time; telling it once more is as good.
      await push().catch(push);
      sealingKeys.set(anvil, node.keys.sealing.publicKey);
      return {
        schema: 'mesh.host-node',
        version: 1,
        name: anvil,
        address: '127.0.0.1',
        servers: [...bus.servers],
        verifyKey: node.declarationKey.publicKey,
        userJwt: 'none',
        clientJwt: prepared.userJwt,
      };
    },
    async stop() {
      await seat?.stop();
      await bus.stop();
    },
  };
  await ensureBuckets(bus.mesh, ['postgres']);
  await mesh.reset();
  await mesh.serve(true);
  return mesh;
}

/** What the mirrors hold of the node, what the index names before the index itself. */
function mirrored(modules: Readonly<Record<string, MeshModule>>): readonly (readonly [string, string, unknown])[] {
  const node: NodeName = anvil;
  const named = Object.entries(modules).map(([name, of]) => ({ module: moduleName.parse(name), of }));
  const versionOf = ({ version = '1.0.0' }: MeshModule): string => version;
  const referencesOf = ({ bound = [] }: MeshModule) =>
    bound.map(({ provision, local, provider, facts }) => ({
      reference: {
        provision: provisionName.parse(provision),
        ...(local === undefined ? {} : { local: localName.parse(local) }),
        provider: moduleName.parse(provider),
      },
      facts,
    }));
  const entries = named.flatMap(({ module, of }): (readonly [string, string, unknown])[] => [
    ...Object.entries(of.settings ?? {}).map(
      ([name, value]) =>
        [buckets.settings, settingKeys.of({ node, module, name: partName.parse(name) }), value] as const,
    ),
    ...referencesOf(of).flatMap(({ reference: { provider, ...rest }, facts }) =>
      facts === undefined ? [] : [[boundBucket(provider), boundKeys.of({ node, module, ...rest }), facts] as const],
    ),
    [buckets.assignments, assignmentKeys.of({ node, module }), { ...emptyPlan, version: versionOf(of), ...of.plan }],
    ...(of.published === false
      ? []
      : [
          [
            buckets.compositions,
            compositionKeys.of({ module }),
            composition.parse({
              version: typeof of.published === 'string' ? of.published : versionOf(of),
              answers: [],
              collects: [],
              contributes: [],
              ...of.composition,
            }),
          ] as const,
        ]),
  ]);
  const index = {
    modules: Object.fromEntries(
      named.map(({ module, of }) => [
        module,
        {
          version: versionOf(of),
          settings: Object.keys(of.settings ?? {}),
          bound: referencesOf(of).map(({ reference }) => reference),
        },
      ]),
    ),
  };
  return [...entries, [buckets.assignments, assignmentKeys.of({ node }), index]];
}

const emptyPlan = { dirs: {}, access: {}, ports: {}, seats: {}, machine: {}, contributes: [] };

/** The registry's key of a kind. */
export const kindKey = (kind: string): string => registryKeys.of({ kind: partName.parse(kind) });

/** A file of a module that the node fills in. */
export function template(
  module: string,
  path: string,
  content: string,
  {
    format = 'raw',
    generations = {},
    own = {},
  }: { format?: FileFormat } & Partial<Omit<NonNullable<FileResource['fill']>, 'format'>> = {},
): Resource {
  return {
    id: `${module}/file${path}`,
    module: moduleName.parse(module),
    kind: 'file',
    path,
    mode: '0600',
    content,
    encoding: 'utf8',
    fill: { format, generations, own },
  };
}

export type RunningNode = {
  readonly node: TestNode;
  readonly file: NodeFile;
  /** What the client said, a line each. */
  readonly log: readonly string[];
  /** One pass over a declaration of these resources, or over the one before. */
  pass(...resources: readonly Resource[]): Promise<Extract<Pass, { kind: 'applied' }>['applied']>;
  /** A declaration of these resources, which the next passes are over. */
  declare(...resources: readonly Resource[]): Promise<Envelope>;
  /** As if the host had ended and started again. */
  restart(): Promise<void>;
  /** Waits until the client's line to the bus is there again. */
  connected(): Promise<void>;
  close(): Promise<void>;
};

/** A node of the mesh, whose passes a test asks for one by one. */
export async function runNode(mesh: ClientMesh, on?: TestNode): Promise<RunningNode> {
  const node = on ?? (await makeNode());
  const file = await mesh.admit(node);
  const log: string[] = [];
  const line =
    (level: string) =>
    (fields: object, text: string): void =>
      void log.push(`${level} ${text} ${JSON.stringify(fields)}`);
  const say: Say = { info: line('info'), warn: line('warn'), error: line('error') };
  let declared: readonly Resource[] = [];
  let number = 0;
  let present = await start();
  async function start() {
    const stopping = new AbortController();
    const client = new ProvisionerClient({
      node: file,
      stateDir: node.stateDir,
      root: node.root,
      sealingKey: node.keys.sealing,
      say,
    });
    const applying = {
      ledger: await openLedger(node.stateDir),
      supervisor: node.supervisor,
      sealingKey: node.keys.sealing,
      surroundings: { root: node.root, bin: '/nowhere', nodeFolder: '/nowhere' },
      client,
    };
    const reconciler = new Reconciler({ stateDir: node.stateDir, node: file, with: applying, say });
    await reconciler.takeUp();
    let lines = 0;
    const kept = client.keep(node.keys, () => void (lines += 1), stopping.signal);
    await until(async () => lines > 0, { withinMs: 10_000, what: 'the client to be on the bus' });
    const end = async (): Promise<void> => {
      stopping.abort();
      await kept;
    };
    return { reconciler, lines: () => lines, end };
  }
  let seen = present.lines();
  return {
    node,
    file,
    log,
    declare(...resources) {
      declared = resources;
      number += 1;
      return node.sign(node.declare(...declared), number);
    },
    async pass(...resources) {
      if (resources.length > 0) {
        declared = resources;
        number += 1;
      }
      const envelope = await node.sign(node.declare(...declared), number);
      const pass = await present.reconciler.pass({ kind: 'came', envelope }, []);
      seen = present.lines();
      if (pass.kind !== 'applied') throw new Error(JSON.stringify(pass));
      return pass.applied;
    },
    async restart() {
      await present.end();
      await node.restart();
      present = await start();
      seen = present.lines();
    },
    async connected() {
      await until(async () => present.lines() > seen, { withinMs: 20_000, what: 'the client to be back on the bus' });
    },
    async close() {
      await present.end();
      if (on === undefined) await node.remove();
    },
  };
}
