/** A whole mesh as `mesh up` raises it, but that its controller's random source is known, with all that was said kept. */
import { chmod, mkdir, readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type pg from 'pg';

import { connectBus, type BusConnection } from '../../src/bus/connection.ts';
import { meshCredential, serverClaims } from '../../src/bus/identity.ts';
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { controllerKeysAt } from '../../src/foundation/controller-keys.ts';
import { raiseFoundation, type Foundation } from '../../src/foundation/foundation.ts';
import { startKept } from '../../src/foundation/kept-process.ts';
import { readPidFile } from '../../src/foundation/processes.ts';
import { connectionOf } from '../../src/store/address.ts';
import { migrate } from '../../src/store/migrate.ts';
import { runMesh, type Ran } from '../cli/run-mesh.ts';
import { watchedFolder } from '../support/foundation.ts';
import { translated } from '../support/translated.ts';
import type { Place } from './places.ts';

export type Said = { readonly args: readonly string[] } & Ran;

export type LeakingMesh = {
  readonly stateDir: string;
  /** What the commands were told to use for temporary files. */
  readonly temporary: string;
  readonly foundation: Foundation;
  readonly said: readonly Said[];
  /** Runs a command with `input` piped in, keeping all it says; errors: another exit code than one of `codes`. */
  readonly run: (args: readonly string[], codes?: readonly number[], input?: string) => Promise<Ran>;
  /** A read in both its forms. */
  readonly read: (args: readonly string[], codes?: readonly number[]) => Promise<void>;
  saidPlaces(): readonly Place[];
  root(node: string): string;
  readonly bus: BusConnection;
  readonly temporal: Client;
  /** How the superusers of the store's and of the module's server log in. */
  store(): Promise<pg.ClientConfig>;
  provider(): Promise<pg.ClientConfig>;
  close(): Promise<void>;
};

const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

export async function raiseLeakingMesh(seed: string): Promise<LeakingMesh> {
  const { stateDir, close: closeFolder } = await watchedFolder('mesh-leak-');
  const temporary = path.join(stateDir, 'tmp');
  await mkdir(temporary, { mode: 0o1777 });
  await chmod(temporary, 0o1777);
  const keys = await controllerKeysAt(stateDir);
  const trust = await serverClaims(keys.bus);
  const foundation = await raiseFoundation({ stateDir, env: process.env, trust, say: () => undefined });
  if (isRefusal(foundation)) throw new Error(foundation.what);
  await migrate({ connection: foundation.postgres });
  await startKnownController(stateDir, seed);
  const said: Said[] = [];
  const run: LeakingMesh['run'] = async (args, codes = [0], input = '') => {
    const ran = await runMesh([...args, '--state', stateDir], { env: { TMPDIR: temporary }, input });
    said.push({ args, ...ran });
    if (!codes.includes(ran.code ?? -1))
      throw new Error(`mesh ${args.join(' ')} ended with ${ran.code}: ${ran.stdout}${ran.stderr}`);
    return ran;
  };
  // Takes the controller that runs as its own.
  await run(['up', '--nodes', '3']);
  const bus = await connectBus({
    servers: [foundation.nats.url],
    name: 'leak',
    credential: await meshCredential(keys.bus),
  });
  const connection = await Connection.connect({ address: foundation.temporal.address });
  const root = (node: string): string => path.join(stateDir, 'nodes', node, 'root');
  return {
    stateDir,
    temporary,
    foundation,
    said,
    run,
    async read(args, codes = [0]) {
      await Promise.all([run(args, codes), run([...args, '--json'], codes)]);
    },
    saidPlaces: () =>
      said.flatMap(({ args, stdout, stderr }) => [
        { place: `stdout of mesh ${args.join(' ')}`, bytes: Buffer.from(stdout) },
        { place: `stderr of mesh ${args.join(' ')}`, bytes: Buffer.from(stderr) },
      ]),
    root,
    bus,
    temporal: new Client({ connection, namespace: 'mesh' }),
    async store() {
      const { host, port, superuserPasswordFile: passwordFile } = foundation.postgres;
      return connectionOf({ host, port, user: 'postgres', database: 'postgres', passwordFile });
    },
    async provider() {
      const folder = path.join(root('alpha'), 'var/lib/postgres/postgres-18');
      // pid, folder, start, port, socket's folder, address
      const [, , , port, , host = ''] = (await readFile(path.join(folder, 'postmaster.pid'), 'utf8')).split('\n');
      const passwordFile = path.join(root('alpha'), 'etc/postgres/superuser');
      return connectionOf({ host, port: Number(port), user: 'postgres', database: 'postgres', passwordFile });
    },
    async close() {
      await bus.close();
      await connection.close();
      await runMesh(['down', '--state', stateDir]);
      await closeFolder();
    },
  };
}

async function startKnownController(stateDir: string, seed: string): Promise<void> {
  const pidFile = path.join(stateDir, 'run', 'controller.pid');
  const readyFile = path.join(stateDir, 'run', 'controller.ready');
  const started = await startKept({
    title: 'controller',
    program: process.execPath,
    args: ['--no-warnings', translated(file('controller-program.ts')), stateDir, readyFile, seed],
    folder: stateDir,
    stateDir,
    pidFile,
    listens: [],
    isReady: async () => {
      const [ready, known] = await Promise.all([readFile(readyFile, 'utf8').catch(() => ''), readPidFile(pidFile)]);
      return ready.trim() === String(known?.pid);
    },
    readyWithinMs: 60_000,
  });
  if (isRefusal(started)) throw new Error(started.what);
}

/** The foundation's own secrets, the provisioner's, the nodes' and their programs': each with the one file that may hold it. */
export async function ownSecrets(
  mesh: LeakingMesh,
): Promise<readonly { readonly of: string; readonly secret: Buffer; readonly file: string }[]> {
  const folders = [
    path.join(mesh.stateDir, 'secrets'),
    ...['alpha', 'beta', 'gamma'].map((node) => path.join(mesh.stateDir, 'nodes', node, 'node/keys')),
  ];
  const found = [];
  for (const file of [
    path.join(mesh.stateDir, 'mesh-provisioner/bus-user.nk'),
    path.join(mesh.root('alpha'), 'var/lib/postgres-grants.program/user.seed'),
  ])
    found.push({
      of: path.relative(mesh.stateDir, file),
      secret: Buffer.from((await readFile(file, 'utf8')).trim()),
      file,
    });
  for (const folder of folders) {
    for (const name of await readdir(folder)) {
      // Public keys, in the clear everywhere.
      if (name === 'bus-accounts.json') continue;
      const place = path.join(folder, name);
      const text = (await readFile(place, 'utf8')).trim();
      const lines = text.split('\n').filter((line) => !line.startsWith('-----'));
      const of = path.relative(mesh.stateDir, place);
      found.push({ of, secret: Buffer.from(lines.join('')), file: place });
      // Of what is base64, the 32 bytes that count.
      if (/\.(key|pem)$/.test(name))
        found.push({ of: `${of}, bytes`, secret: Buffer.from(lines.join(''), 'base64').subarray(-32), file: place });
    }
  }
  return found;
}
