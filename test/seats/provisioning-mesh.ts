/** A mesh without nodes that run: the real store, bus and Temporal, the controller's part of provisioning, and provisioners to kill. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import pino from 'pino';
import { clientAccount } from '../../src/bus/accounts.ts';
import { prepareAccount, pushAccount } from '../../src/bus/claims.ts';
import { makeSeed } from '../../src/bus/seed.ts';
import type { NodeName } from '../../src/domain/words/names.ts';
import { seatAddresses } from '../../src/workers/seat-accounts.ts';
import { openBucket, readBucket } from '../../src/bus/buckets.ts';
import { connectBus, type BusConnection } from '../../src/bus/connection.ts';
import { asking, meshCredential, serverClaims, systemCredential } from '../../src/bus/identity.ts';
import { askVerb, type Verb } from '../../src/bus/verbs.ts';
import { ensureStreams } from '../../src/bus/streams.ts';
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { meshNamespace } from '../../src/domain/act/act.ts';
import { controllerKeysAt, type ControllerKeys } from '../../src/foundation/controller-keys.ts';
import { lowerFoundation, raiseFoundation, type Foundation } from '../../src/foundation/foundation.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { serveProvisioning } from '../../src/workers/provisioning-desk.ts';
import { askingAt } from '../support/asking.ts';
import { watchedFolder } from '../support/foundation.ts';
import { seedPostgres } from '../support/seeded-postgres.ts';
import { startTypeScript } from '../support/program.ts';
import { until } from '../support/until.ts';
import { accepted, hash, type World } from '../operations/world.ts';
import { parseManifest } from '../../src/domain/manifest/parse-manifest.ts';
import type { z } from 'zod';

const program = fileURLToPath(new URL('provisioner-program.ts', import.meta.url));

export type Provisioner = {
  readonly process: ChildProcess;
  /** All that it said so far, a line each. */
  readonly said: () => string;
  untilSays(text: string): Promise<void>;
  /** SIGKILL, and its end. */
  kill(): Promise<void>;
  end(): Promise<void>;
};

export type ProvisioningMesh = {
  readonly stateDir: string;
  readonly foundation: Foundation;
  readonly keys: ControllerKeys;
  readonly world: World;
  readonly mesh: BusConnection;
  readonly system: BusConnection;
  readonly temporal: Client;
  /** What the controller said, a line each. */
  readonly log: readonly string[];
  /** Key → value, parsed. */
  bucket(name: string): Promise<ReadonlyMap<string, unknown>>;
  /** Key → revision, and the bucket's last sequence. */
  revisions(name: string): Promise<Readonly<Record<string, number>>>;
  ask<Request extends z.ZodType, Answer extends z.ZodType>(
    verb: Verb<Request, Answer>,
    request: z.input<Request>,
  ): ReturnType<typeof askVerb<Request, Answer>>;
  /** A line of a node's client, with an account as the controller gives it. */
  client(node: NodeName): Promise<BusConnection>;
  startController(): Promise<void>;
  stopController(): Promise<void>;
  /** `who`: module and node; `leaseMs`: of the seat. */
  provisioner(who?: { module?: string; node?: string; leaseMs?: number }): Provisioner;
  close(): Promise<void>;
};

export async function raiseProvisioningMesh(): Promise<ProvisioningMesh> {
  const { stateDir, close: closeFolder } = await watchedFolder('mesh-provisioning-');
  await seedPostgres(stateDir);
  const keys = await controllerKeysAt(stateDir);
  const foundation = await raiseFoundation({
    stateDir,
    env: process.env,
    trust: await serverClaims(keys.bus),
    say: () => undefined,
  });
  if (isRefusal(foundation)) throw new Error(foundation.what);
  const address = foundation.postgres;
  await migrate({ connection: address });
  const store: Store = openStore(address);
  const connect = async (name: string, credential: Parameters<typeof connectBus>[0]['credential']) =>
    connectBus({ servers: [foundation.nats.url], name, credential });
  const mesh = await connect('mesh', await meshCredential(keys.bus));
  const system = await connect('system', await systemCredential(keys.bus));
  const person = await connect('person', await asking(keys.bus, 'ada'));
  await ensureStreams(mesh);
  const connection = await Connection.connect({ address: foundation.temporal.address });
  const temporal = new Client({ connection, namespace: meshNamespace });
  const log: string[] = [];
  const logger = pino({ level: 'info' }, { write: (line: string) => void log.push(line) });
  const stores: Store[] = [store];
  const rows = askingAt(address);
  const world: World = {
    address,
    store,
    another: () => {
      const opened = openStore(address);
      stores.push(opened);
      return opened;
    },
    ask: rows.ask,
  };
  const clients: BusConnection[] = [];
  const provisioners: Provisioner[] = [];
  let controller: { stop(): Promise<void> } | undefined;

  const self: ProvisioningMesh = {
    stateDir,
    foundation,
    keys,
    world,
    mesh,
    system,
    temporal,
    log,
    async bucket(name) {
      const { entries } = await readBucket(mesh, name);
      return new Map([...entries].map(([key, { value }]): [string, unknown] => [key, JSON.parse(value)]));
    },
    async revisions(name) {
      const { entries, lastSequence } = await readBucket(mesh, name);
      return { last: lastSequence, ...Object.fromEntries([...entries].map(([key, { revision }]) => [key, revision])) };
    },
    ask: (verb, request) => askVerb(person, verb, request, { as: { kind: 'person', name: 'ada' } }),
    async client(node) {
      const seed = makeSeed('user');
      const shape = clientAccount(node, { meshAccount: keys.bus.accounts.mesh, seats: await seatAddresses(store) });
      const prepared = await prepareAccount(keys.bus, shape, { userKey: seed.publicKey });
      await pushAccount(system, keys.bus, { accountKey: prepared.accountKey, shape });
      const line = await connect(node, { jwt: prepared.userJwt, seed, inbox: shape.inbox });
      clients.push(line);
      return line;
    },
    async startController() {
      controller = await serveProvisioning({
        stateDir,
        store,
        address,
        mesh,
        system,
        identity: keys.bus,
        servers: [foundation.nats.url],
        logger,
        mirrorEveryMs: 300,
      });
    },
    async stopController() {
      await controller?.stop();
      controller = undefined;
    },
    provisioner({ module = 'mesh-provisioner', node = 'controller', leaseMs = 1_500 } = {}) {
      const child = startTypeScript(program, [stateDir, module, node, String(leaseMs)]);
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream?.on('data', (chunk: Buffer) => (said += chunk.toString()));
      const ended = once(child, 'exit');
      const started: Provisioner = {
        process: child,
        said: () => said,
        untilSays: (text) =>
          until(async () => said.includes(text), {
            withinMs: 30_000,
            what: `the provisioner to say ${text}; it said ${said}`,
          }),
        async kill() {
          child.kill('SIGKILL');
          await ended;
        },
        async end() {
          child.kill('SIGTERM');
          await ended;
        },
      };
      provisioners.push(started);
      return started;
    },
    async close() {
      await Promise.all(provisioners.map((one) => one.kill()));
      await self.stopController();
      await Promise.all([mesh, system, person, ...clients].map((one) => one.close()));
      await connection.close();
      await Promise.all(stores.map((one) => one.close()));
      await rows.close();
      await lowerFoundation({ stateDir, say: () => undefined });
      await closeFolder();
    },
  };
  return self;
}

/** Puts a value past everybody's rules, as somebody who got into MESH might. */
export async function putByHand({ mesh }: ProvisioningMesh, bucket: string, key: string, value: string): Promise<void> {
  await (await openBucket(mesh, bucket)).put(key, value);
}

/** Puts a module into the catalogue, also one that asks for what the mesh cannot do yet. */
export async function publish({ world }: ProvisioningMesh, written: Readonly<Record<string, unknown>>): Promise<void> {
  const manifest = accepted(parseManifest({ version: '1.0.0', ...written }, 'module.yaml'));
  await world.store.write('ada', async (tx) => {
    await tx.putModule({ manifest, files: new Map(), digest: `sha256:${hash(JSON.stringify(manifest))}` });
    await tx.event({ kind: 'module-added', about: manifest.module });
  });
}
