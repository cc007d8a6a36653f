/**
 * A mesh for the bench: the real Postgres, NATS and Temporal, raised as tests raise them. Its nodes are rows and one process
 * with one connection that answers for all of them at once: they share the account MESH, since an account each would take most of
 * the bench's time and nothing that is measured.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { connectBus, type BusConnection } from '../src/bus/connection.ts';
import { meshCredential, serverClaims } from '../src/bus/identity.ts';
import { announceReported, onReported } from '../src/bus/reported.ts';
import { consumeReports } from '../src/bus/reports.ts';
import { ensureStreams } from '../src/bus/streams.ts';
import { anyNode, declarationsStream, reportsStream } from '../src/bus/subjects.ts';
import { isRefusal } from '../src/domain/refusal/refusal.ts';
import { controllerKeysAt } from '../src/foundation/controller-keys.ts';
import { lowerFoundation, raiseFoundation, type Foundation } from '../src/foundation/foundation.ts';
import { recordReports } from '../src/operations/report/record-report.ts';
import { connectionOf } from '../src/store/address.ts';
import { migrate } from '../src/store/migrate.ts';
import { openStore, type Store } from '../src/store/store.ts';
import { activitiesOver } from '../src/workers/controller.ts';
import { createWakes } from '../src/workers/wakes.ts';
import { watchedFolder } from '../test/support/foundation.ts';
import { until } from '../test/support/until.ts';

export const meshCommand = fileURLToPath(new URL('../bin/mesh', import.meta.url));

export type Steps = ReturnType<typeof activitiesOver>;
export type RaisedMesh = {
  readonly stateDir: string;
  readonly foundation: Foundation;
  readonly store: Store;
  /** In the account MESH, which may do everything. */
  readonly bus: BusConnection;
  /** Beside the product, for floors and for looking. */
  readonly pg: pg.Client;
  /** The steps of the acts, to be called in this process; reports are taken in it as well, until `stopTaking`. */
  readonly steps: Steps;
  takeReports(): () => Promise<void>;
  /** A mesh without nodes and modules, and streams without messages. */
  clear(): Promise<void>;
  /** A controller in a process of its own, against this Temporal server or the mesh's own. */
  startController(temporal?: string): Promise<() => Promise<void>>;
  close(): Promise<void>;
};

export async function raiseMesh(): Promise<RaisedMesh> {
  const { stateDir, close: closeFolder } = await watchedFolder('mesh-bench-');
  const keys = await controllerKeysAt(stateDir);
  const say = (): void => {};
  const foundation = await raiseFoundation({ stateDir, env: process.env, trust: await serverClaims(keys.bus), say });
  if (isRefusal(foundation)) throw new Error(foundation.what);
  await migrate({ connection: foundation.postgres });
  const store = openStore({ ...foundation.postgres, connections: 20 });
  const bus = await connectBus({
    servers: [foundation.nats.url],
    name: 'bench',
    credential: await meshCredential(keys.bus),
  });
  await ensureStreams(bus);
  const client = new pg.Client(connectionOf(foundation.postgres));
  await client.connect();
  const wakes = createWakes();
  const deaf = onReported(bus, anyNode, () => wakes.wake());
  return {
    stateDir,
    foundation,
    store,
    bus,
    pg: client,
    steps: activitiesOver({ store, mesh: bus, system: bus, keys, wakes, random: undefined, reached: undefined }),
    takeReports() {
      const reports = consumeReports(bus, {
        async onReports(came) {
          await recordReports(store, came, Date.now());
          for (const report of came) announceReported(bus, report);
        },
        onUnreadable: ({ reason }) => Promise.reject(new Error(reason)),
      });
      return () => reports.stop();
    },
    async clear() {
      const { rows } = await client.query<{ name: string }>(
        `select 'mesh.' || table_name as name from information_schema.tables
          where table_schema = 'mesh' and table_type = 'BASE TABLE' and table_name <> 'migrations'`,
      );
      await client.query(`truncate ${rows.map(({ name }) => name).join(', ')} cascade`);
      const manager = await bus.nats.jetstreamManager({ checkAPI: false });
      for (const stream of [declarationsStream, reportsStream]) await manager.streams.purge(stream);
    },
    async startController(temporal) {
      await pointAt(stateDir, temporal ?? foundation.temporal.address);
      return startController(stateDir);
    },
    async close() {
      deaf();
      await bus.close();
      await client.end();
      await store.close();
      await lowerFoundation({ stateDir, say });
      await closeFolder();
    },
  };
}

async function startController(stateDir: string): Promise<() => Promise<void>> {
  const readyFile = path.join(stateDir, 'run', 'bench-controller.ready');
  const log = openSync(path.join(stateDir, 'logs', 'controller.log'), 'a');
  const args = [meshCommand, 'work', 'controller', '--state', stateDir, '--ready-file', readyFile];
  await writeFile(readyFile, '');
  const controller: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', log, log] });
  await once(controller, 'spawn');
  await until(async () => (await readFile(readyFile, 'utf8')) !== '', { withinMs: 30_000, what: 'the controller' });
  return async () => {
    const ended = once(controller, 'exit');
    controller.kill('SIGTERM');
    await ended;
  };
}

/** Where this mesh finds its Temporal: on this machine, and with the namespace `mesh`. */
async function pointAt(stateDir: string, temporal: string): Promise<void> {
  const [host, port] = temporal.split(':');
  const file = path.join(stateDir, 'foundation.json');
  const text = await readFile(file, 'utf8');
  if (host !== '127.0.0.1') throw new Error(`TEMPORAL_ADDRESS must be on 127.0.0.1, not ${temporal}`);
  await writeFile(file, text.replace(/("temporal":\s*)\d+/, `$1${Number(port)}`));
}
