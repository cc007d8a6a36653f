/** A real nats-server of one test file, with the foundation's own configuration; can be killed and started again. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { natsConfig } from '../../src/foundation/nats.ts';
import { freePorts } from '../../src/foundation/ports.ts';
import { findProgram } from '../../src/foundation/programs.ts';
import { until } from '../../src/foundation/until.ts';
import { pushAccount, prepareAccount, type PreparedAccount } from '../../src/bus/claims.ts';
import type { AccountShape } from '../../src/bus/accounts.ts';
import { connectBus, type BusConnection, type BusCredential, type BusStatus } from '../../src/bus/connection.ts';
import {
  meshCredential,
  newBusIdentity,
  serverClaims,
  systemCredential,
  type BusIdentity,
  type MeshOpening,
} from '../../src/bus/identity.ts';
import { makeSeed } from '../../src/bus/seed.ts';

export type TestBus = {
  readonly identity: BusIdentity;
  readonly servers: readonly string[];
  /** Connections to MESH and SYS, closed by `stop`. */
  readonly mesh: BusConnection;
  readonly system: BusConnection;
  connect(name: string, credential: BusCredential, onStatus?: (status: BusStatus) => void): Promise<BusConnection>;
  /** An account as the controller makes one, pushed; with a credential of its user. */
  account(
    shape: AccountShape,
    expiresAt?: Date,
  ): Promise<{ readonly prepared: PreparedAccount; readonly credential: BusCredential }>;
  /** Ends the server, by SIGKILL unless told to by another signal. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
};

export async function startBus(opening: MeshOpening = {}, { jetStream = true } = {}): Promise<TestBus> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mesh-bus-'));
  const program = await findProgram('nats-server', process.env, () => undefined);
  if (isRefusal(program)) throw new Error(program.what);
  const [port] = await freePorts('127.0.0.1', 1);
  if (port === undefined) throw new Error('no free port');
  const identity = newBusIdentity();
  const config = path.join(folder, 'nats.conf');
  const places = {
    address: '127.0.0.1',
    port,
    jwtDir: path.join(folder, 'jwt'),
    storeDir: path.join(folder, 'js'),
    name: 'test',
  };
  const servers = [`nats://127.0.0.1:${port}`];
  const connections: BusConnection[] = [];
  let server: ChildProcess | undefined;

  const bus = {
    identity,
    servers,
    async connect(name: string, credential: BusCredential, onStatus?: (status: BusStatus) => void) {
      const connection = await connectBus({
        servers,
        name,
        credential,
        ...(onStatus === undefined ? {} : { onStatus }),
      });
      connections.push(connection);
      return connection;
    },
    async start() {
      // Signed anew at each start, as the foundation does it.
      const written = natsConfig(await serverClaims(identity, opening), places);
      await writeFile(config, jetStream ? written : JSON.stringify({ ...JSON.parse(written), jetstream: false }));
      const started = spawn(program, ['--config', config, '--log', path.join(folder, 'log')], { stdio: 'ignore' });
      server = started;
      const probe = async () => {
        if (started.exitCode !== null) throw new Error(`nats-server ended with ${started.exitCode}`);
        return connectBus({ servers, name: 'probe', credential: await systemCredential(identity) }).then(
          async (connection) => {
            await connection.close();
            return true;
          },
          () => false,
        );
      };
      await until(probe, { withinMs: 20_000, what: 'nats-server to answer' });
    },
    async kill(signal: NodeJS.Signals = 'SIGKILL') {
      if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
      const ended = once(server, 'exit');
      server.kill(signal);
      await ended;
    },
    async stop() {
      await Promise.all(connections.map((connection) => connection.close()));
      await bus.kill();
      await rm(folder, { recursive: true });
    },
  };
  await bus.start();
  const mesh = await bus.connect('mesh', await meshCredential(identity));
  const system = await bus.connect('system', await systemCredential(identity));
  return {
    ...bus,
    mesh,
    system,
    async account(shape, expiresAt) {
      const seed = makeSeed('user');
      const user = { userKey: seed.publicKey, ...(expiresAt === undefined ? {} : { expiresAt }) };
      const prepared = await prepareAccount(identity, shape, user);
      await pushAccount(system, identity, { accountKey: prepared.accountKey, shape });
      return { prepared, credential: { jwt: prepared.userJwt, seed, inbox: shape.inbox } };
    },
  };
}
