/** The NATS server of one machine: its configuration, which holds public keys and claims only, and its process. */
import { createConnection } from 'node:net';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';

import type { Refusal } from '../domain/refusal/refusal.ts';
import { privateFolder, writeWhole } from './files.ts';
import { startKept } from './kept-process.ts';

/** Whom the server trusts: public claims, made by the bus. The seeds behind them never come here. */
export type BusTrust = {
  readonly operatorJwt: string;
  /** The public key of the system account. */
  readonly systemAccount: string;
  /** Claims of accounts that must be known before any can be pushed, by account key. */
  readonly preload: Readonly<Record<string, string>>;
};

type NatsPlaces = {
  readonly address: string;
  readonly port: number;
  readonly jwtDir: string;
  readonly storeDir: string;
  readonly name: string;
};

/** The largest message, in bytes: a declaration of many modules has to fit. */
const maxPayloadBytes = 8 * 1024 * 1024;

/** The server's configuration file. JSON is a form that the server reads. */
export function natsConfig({ operatorJwt, systemAccount, preload }: BusTrust, places: NatsPlaces): string {
  const config = {
    server_name: places.name,
    host: places.address,
    port: places.port,
    operator: operatorJwt,
    system_account: systemAccount,
    // Accounts come and go while the server runs (U15).
    resolver: { type: 'full', dir: places.jwtDir, allow_delete: true, interval: '2m' },
    resolver_preload: preload,
    jetstream: { store_dir: places.storeDir, max_memory_store: 64 * 1024 * 1024 },
    max_payload: maxPayloadBytes,
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

export type NatsAsked = {
  readonly program: string;
  readonly stateDir: string;
  readonly address: string;
  readonly port: number;
  readonly name: string;
  readonly trust: BusTrust;
};

export const natsPidFile = (stateDir: string): string => path.join(stateDir, 'run/nats.pid');

/** Starts the server, or takes the one that runs; returns once it greets. Refusal: `port-taken`. Errors: it ends. */
export async function startNats(asked: NatsAsked): Promise<{ readonly wasRunning: boolean } | Refusal> {
  const folder = await privateFolder(path.join(asked.stateDir, 'nats'));
  const [jwtDir, storeDir, configFile] = [
    path.join(folder, 'accounts'),
    path.join(folder, 'jetstream'),
    path.join(folder, 'nats.conf'),
  ];
  await mkdir(jwtDir, { recursive: true, mode: 0o700 });
  await writeWhole(configFile, natsConfig(asked.trust, { ...asked, jwtDir, storeDir }), 0o600);
  return startKept({
    title: 'NATS',
    program: asked.program,
    args: ['--config', configFile],
    folder,
    stateDir: asked.stateDir,
    pidFile: natsPidFile(asked.stateDir),
    listens: [{ address: asked.address, port: asked.port }],
    isReady: () => greets(asked.address, asked.port, { name: asked.name }),
    readyWithinMs: 30_000,
  });
}

/** Whether a server answers, the one of this name where one is given: a NATS server speaks first, and says who it is. */
export async function greets(
  address: string,
  port: number,
  { name, withinMs = 2_000 }: { readonly name?: string; readonly withinMs?: number } = {},
): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: address, port, timeout: withinMs });
    const answer = (is: boolean): void => {
      resolve(is);
      socket.destroy();
    };
    socket.once('error', () => answer(false));
    socket.once('timeout', () => answer(false));
    socket.once('close', () => answer(false));
    socket.once('data', (first) =>
      answer(
        first.toString('utf8').startsWith('INFO ') && (name === undefined || first.includes(`"server_name":"${name}"`)),
      ),
    );
  });
}
