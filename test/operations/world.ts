/** A mesh in a database of its own: nodes that have joined, and a catalogue, made by the mesh's own operations. */
import { createHash, randomBytes } from 'node:crypto';
import pg from 'pg';
import { isRefusal, type Refusal } from '../../src/domain/refusal/refusal.ts';
import { moduleName, nodeName, type NodeName } from '../../src/domain/words/names.ts';
import { parseManifest } from '../../src/domain/manifest/parse-manifest.ts';
import { actRecords } from '../../src/operations/act/act-records.ts';
import { addModule } from '../../src/operations/module/add-module.ts';
import { enrolmentRecords, proveNode, recordEnrolment } from '../../src/operations/node/enrol.ts';
import { inviteNode } from '../../src/operations/node/invite-node.ts';
import { recordReport } from '../../src/operations/report/record-report.ts';
import { report, type Report } from '../../src/domain/report/report.ts';
import { connectionOf, type StoreAddress } from '../../src/store/address.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { migratedDatabases } from '../support/database.ts';
import { raiseForTests } from '../support/foundation.ts';

export const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
export const node = (name: string): NodeName => nodeName.parse(name);
export const module = (name: string) => moduleName.parse(name);

export type World = {
  readonly address: StoreAddress;
  readonly store: Store;
  /** Another store over the same database, as another process would have. */
  readonly another: () => Store;
  readonly ask: (sql: string) => Promise<readonly Record<string, unknown>[]>;
};
export type Worlds = { readonly make: () => Promise<World>; readonly close: () => Promise<void> };

/** A server for a test file, and worlds on it. */
export async function raiseWorlds(): Promise<Worlds> {
  const servers = await raiseForTests({ postgres: true });
  const databases = await migratedDatabases(servers);
  const open: Store[] = [];
  const opened = (address: StoreAddress): Store => {
    const store = openStore(address);
    open.push(store);
    return store;
  };
  return {
    make: async () => {
      const address = await databases.create();
      return {
        address,
        store: opened(address),
        another: () => opened(address),
        ask: async (sql) => {
          const client = new pg.Client(connectionOf(address));
          await client.connect();
          try {
            return (await client.query<Record<string, unknown>>(sql)).rows;
          } finally {
            await client.end();
          }
        },
      };
    },
    close: async () => {
      await Promise.all(open.map((store) => store.close()));
      await servers.close();
    },
  };
}

/** The answer, when it is no refusal; else the test fails with it. */
export function accepted<T>(answer: T | Refusal): T {
  if (isRefusal(answer)) throw new Error(`refused: ${JSON.stringify(answer)}`);
  return answer;
}
/** The refusal, when it is one; else the test fails. */
export function refused(answer: unknown): Refusal {
  if (!isRefusal(answer)) throw new Error(`not refused: ${JSON.stringify(answer)}`);
  return answer;
}

/** A node that has joined, reachable at `address`, whose first report said what it can do; with a real sealing key where one is given. */
export async function join(
  { store }: World,
  name: string,
  capabilities: Report['capabilities'] = [],
  sealing?: { readonly publicKey: string; readonly fingerprint: string },
): Promise<NodeName> {
  const to = node(name);
  const tokenId = randomBytes(8).toString('hex');
  accepted(
    await inviteNode(store, 'ada', {
      node: to,
      tokenId,
      userKey: `U${tokenId}`,
      expiresAt: new Date(Date.now() + 60_000),
    }),
  );
  const value = randomBytes(32);
  const valueHash = createHash('sha256').update(value).digest();
  const sealingKey = sealing === undefined ? randomBytes(32) : Buffer.from(sealing.publicKey, 'base64');
  const enrolment = {
    identityKey: `I${name}`,
    sealingKey,
    sealingFingerprint: sealing?.fingerprint ?? hash(sealingKey.toString('hex')).slice(0, 16),
    overlayKey: `O${name}`,
    address: '127.0.0.1',
  };
  accepted(await recordEnrolment(store, tokenId, enrolment, valueHash));
  accepted(await proveNode(store, { tokenId, node: to, valueHash }));
  await enrolmentRecords(store).admit(to, tokenId);
  await recordReport(store, aReport(name, { outcome: 'idle', capabilities }), Date.now());
  return to;
}

/** A report as a host makes it: idle, of nothing, unless `with_` says otherwise. */
export function aReport(name: string, with_: Partial<Report> = {}): Report {
  return report.parse({
    schema: 'mesh.report',
    version: 1,
    node: name,
    boot: 1,
    sequence: 1,
    outcome: 'applied',
    declared: 0,
    applied: 0,
    failures: [],
    drift: [],
    kept: [],
    capabilities: [],
    carriedPorts: [],
    granters: [],
    intervalMs: 60_000,
    stampedAt: '2026-01-01T00:00:00Z',
    ...with_,
  });
}

/** Adds a module to the catalogue from what a person would write. */
export async function add({ store }: World, written: Readonly<Record<string, unknown>>): Promise<void> {
  const manifest = accepted(parseManifest({ version: '1.0.0', ...written }, 'module.yaml'));
  accepted(
    await addModule(store, 'ada', { manifest, files: new Map(), digest: `sha256:${hash(JSON.stringify(manifest))}` }),
  );
}

/** An act that has begun. */
export async function begin({ store }: World, act: string, workflowId = `rotate/${act}`): Promise<string> {
  await actRecords(store).begin({ act, workflowId, kind: 'rotate', summary: `Rotate for ${act}`, person: 'ada' });
  return act;
}
