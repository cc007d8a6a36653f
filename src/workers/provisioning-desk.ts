/**
 * The controller's part of provisioning: the buckets, its mirrors in them, its verbs, who is told of what moved, and the
 * accounts of seats and of providers' programs.
 */
import type { Logger } from 'pino';
import { programAccount } from '../bus/accounts.ts';
import { lastChange, onPut, openBucket, readBucket } from '../bus/buckets.ts';
import { prepareAccount, pushAccount, revokeAccount } from '../bus/claims.ts';
import type { BusConnection } from '../bus/connection.ts';
import { announceChanged } from '../bus/declarations.ts';
import type { BusIdentity } from '../bus/identity.ts';
import { ensureBuckets } from '../bus/mesh-buckets.ts';
import { boundBucket, buckets } from '../domain/provisioning/values.ts';
import type { Refusal } from '../domain/refusal/refusal.ts';
import type { Inventory } from '../domain/resolution/inventory.ts';
import { moduleName, nodeName, type ModuleName, type NodeName } from '../domain/words/names.ts';
import { busCredentialRecords } from '../operations/act/bus-credential-records.ts';
import { keysOfConsumers, meshProviders, notAProvider } from '../operations/provisioning/program-bindings.ts';
import { relayRecords } from '../operations/provisioning/relay.ts';
import { sha256Hex } from '../sealing/digest.ts';
import { takingFactsAway } from '../seats/the-controller/bound-facts.ts';
import { concerned, type Concerned } from '../seats/the-controller/concerned.ts';
import { keepMirrors, type MirrorBus, type MirrorPorts } from '../seats/the-controller/mirrors.ts';
import { serveControllerSeat } from '../seats/the-controller/serve.ts';
import type { StoreAddress } from '../store/address.ts';
import { listenForEvents } from '../store/listen.ts';
import type { Store } from '../store/store.ts';
import { ensureProvisionerAccount, openMesh } from './seat-accounts.ts';

export type ProvisioningPorts = {
  readonly stateDir: string;
  readonly store: Store;
  readonly address: StoreAddress;
  readonly mesh: BusConnection;
  readonly system: BusConnection;
  readonly identity: BusIdentity;
  readonly servers: readonly string[];
  readonly logger: Logger;
  /** How often the mirrors are looked at without an event; only a test that waits for it gives one. */
  readonly mirrorEveryMs?: number;
};

/** Serves until `stop`. What it needs on the bus is there when this answers. */
export async function serveProvisioning(ports: ProvisioningPorts): Promise<{ stop(): Promise<void> }> {
  const { store, mesh, system, identity, logger } = ports;
  await ensureBuckets(mesh);
  await ensureProvisionerAccount(ports);
  // A server that was started again has MESH from its configuration, which knows of no seats.
  const deaf = system.onStatus(({ kind }) => {
    if (kind === 'reconnected')
      void openMesh({ store, system, identity }).catch((err: unknown) =>
        logger.error({ err }, 'the bus could not be told which seats the mesh asks'),
      );
  });
  const programs = new Programs(ports);
  const telling = new Telling(mesh);
  const takeFactsAway = takingFactsAway(mirrorBus(mesh));
  const mirrors = keepMirrors({
    records: relayRecords(store),
    bus: mirrorBus(mesh),
    providersOf: ({ inventory }) => meshProviders(inventory),
    onChanged: async (changed, { snapshot, mirrors: all }) => {
      telling.knows(snapshot.inventory, all.get(buckets.compositions) ?? new Map());
      telling.tell(changed);
      await programs.follow(snapshot.inventory);
      await takeFactsAway(snapshot.inventory);
    },
    log: logger,
    ...(ports.mirrorEveryMs === undefined ? {} : { everyMs: ports.mirrorEveryMs }),
  } satisfies MirrorPorts);
  const listening = listenForEvents(ports.address, () => mirrors.wake());
  const seat = await serveControllerSeat({
    bus: mesh,
    store,
    hash: sha256Hex,
    readHealth: async () =>
      new Map([...(await readBucket(mesh, buckets.health)).entries].map(([key, { value }]) => [key, value])),
    admitProgram: (node, module, userKey) => programs.admit(node, module, userKey),
    onFault: (err) => logger.error({ err }, 'a verb could not be answered'),
  });
  return {
    async stop() {
      deaf();
      telling.stop();
      await seat.stop();
      await listening.stop();
      await mirrors.stop();
    },
  };
}

function mirrorBus(mesh: BusConnection): MirrorBus {
  return {
    ensure: (providers) => ensureBuckets(mesh, providers),
    read: (bucket) => readBucket(mesh, bucket),
    lastSequence: (bucket) => lastChange(mesh, bucket),
    put: async (bucket, key, value, revision) => (await openBucket(mesh, bucket)).replace(key, value, revision),
    delete: async (bucket, key) => (await openBucket(mesh, bucket)).delete(key),
  };
}

/** Tells nodes that something which they read has moved: in a mirror, or in a bucket that other accounts write. */
class Telling {
  readonly #mesh: BusConnection;
  readonly #listening = new Map<string, () => void>();
  #of: Concerned = { nodes: [], running: new Map(), collecting: new Map() };

  constructor(mesh: BusConnection) {
    this.#mesh = mesh;
    this.#listen(buckets.registry);
    this.#listen(buckets.collect);
  }

  /** What the nodes read, as of this snapshot; and each provider's facts from now on. */
  knows(inventory: Inventory, compositions: ReadonlyMap<string, string>): void {
    this.#of = concerned(inventory, compositions);
    for (const provider of meshProviders(inventory)) this.#listen(boundBucket(provider));
  }

  /** `<bucket>/<key>` each; a node is told once of all of them. */
  tell(changed: readonly string[]): void {
    const keysOf = new Map<NodeName, string[]>();
    for (const named of changed) {
      const at = named.indexOf('/');
      for (const node of this.#readersOf(named.slice(0, at), named.slice(at + 1)))
        keysOf.set(node, [...(keysOf.get(node) ?? []), named]);
    }
    // A thousand keys say no more than that all is to be looked at.
    for (const [node, keys] of keysOf) announceChanged(this.#mesh, node, keys.slice(0, 1_000));
  }

  stop(): void {
    for (const end of this.#listening.values()) end();
  }

  #listen(bucket: string): void {
    if (this.#listening.has(bucket)) return;
    this.#listening.set(
      bucket,
      onPut(this.#mesh, bucket, (key) => this.tell([`${bucket}/${key}`])),
    );
  }

  #readersOf(bucket: string, key: string): readonly NodeName[] {
    const [first = '', second = ''] = key.split('.');
    if (bucket === buckets.registry) return this.#of.nodes;
    if (bucket === buckets.compositions) return this.#of.running.get(first) ?? [];
    if (bucket === buckets.collect) return this.#of.collecting.get(second) ?? [];
    const node = nodeName.safeParse(first);
    return node.success ? [node.data] : [];
  }
}

/** The accounts of providers' programs: each may write the facts of its own consumers, who come and go. */
class Programs {
  readonly #ports: ProvisioningPorts;
  /** What each account was last told, by its key. */
  readonly #told = new Map<string, string>();

  constructor(ports: ProvisioningPorts) {
    this.#ports = ports;
  }

  /** One live account a program; another key than before takes its place. */
  async admit(
    node: NodeName,
    module: ModuleName,
    userKey: string,
  ): Promise<{ readonly userJwt: string; readonly servers: readonly string[] } | Refusal> {
    const { store, identity, servers } = this.#ports;
    const inventory = await store.read((view) => view.inventory());
    const refusal = notAProvider(inventory, node, module);
    if (refusal !== undefined) return refusal;
    const records = busCredentialRecords(store);
    const name = `${node}.${module}`;
    const before = await records.liveOf('program', name);
    if (before !== undefined && before.userKey !== userKey) await this.#revoke(before.accountKey);
    const prepared = await prepareAccount(identity, this.#shape(inventory, node, module), { userKey });
    const live = await records.prepare(prepared);
    await this.#push(inventory, { node, module, accountKey: live.accountKey });
    await records.record(live.accountKey);
    return { userJwt: live.userJwt, servers };
  }

  /** Tells the bus of each program whose consumers are others than before, and takes the account of one that provides no more. */
  async follow(inventory: Inventory): Promise<void> {
    for (const { kind, name, accountKey } of await busCredentialRecords(this.#ports.store).live()) {
      if (kind !== 'program') continue;
      const [node, module] = name.split('.');
      const [asNode, asModule] = [nodeName.safeParse(node), moduleName.safeParse(module)];
      if (!asNode.success || !asModule.success) continue;
      if (notAProvider(inventory, asNode.data, asModule.data) !== undefined) await this.#revoke(accountKey);
      else await this.#push(inventory, { node: asNode.data, module: asModule.data, accountKey });
    }
  }

  #shape(inventory: Inventory, node: NodeName, module: ModuleName) {
    return programAccount(`${node}.${module}`, {
      meshAccount: this.#ports.identity.accounts.mesh,
      node,
      binds: { provider: module, keys: keysOfConsumers(inventory, node, module) },
    });
  }

  async #push(
    inventory: Inventory,
    { node, module, accountKey }: { readonly node: NodeName; readonly module: ModuleName; readonly accountKey: string },
  ): Promise<void> {
    const { system, identity } = this.#ports;
    const shape = this.#shape(inventory, node, module);
    const imports = JSON.stringify(shape.imports);
    if (this.#told.get(accountKey) === imports) return;
    await pushAccount(system, identity, { accountKey, shape });
    this.#told.set(accountKey, imports);
  }

  async #revoke(accountKey: string): Promise<void> {
    const { store, system, identity } = this.#ports;
    await revokeAccount(system, identity, accountKey);
    await busCredentialRecords(store).revoke(accountKey);
  }
}
