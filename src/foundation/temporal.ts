/** Temporal's development server with its UI and its history in an SQLite file: enough for one machine, no more (U11, U12). */
import path from 'node:path';

import type { Refusal } from '../domain/refusal/refusal.ts';
import { privateFolder } from './files.ts';
import { startKept } from './kept-process.ts';

export const temporalNamespace = 'mesh';
/** What acts can be looked up by, each a keyword (A12). */
export const searchAttributes = ['MeshNode', 'MeshModule', 'MeshAct'] as const;

export type TemporalPorts = {
  readonly temporal: number;
  readonly temporalUi: number;
  readonly temporalHttp: number;
  readonly temporalMetrics: number;
};

export type TemporalAsked = {
  readonly program: string;
  readonly stateDir: string;
  readonly address: string;
  readonly ports: TemporalPorts;
};

export const temporalPidFile = (stateDir: string): string => path.join(stateDir, 'run/temporal.pid');

/** Starts the server, or takes the one that runs; returns once it knows the namespace. Refusal: `port-taken`. Errors: it ends. */
export async function startTemporal({
  program,
  stateDir,
  address,
  ports,
}: TemporalAsked): Promise<{ readonly wasRunning: boolean } | Refusal> {
  const folder = await privateFolder(path.join(stateDir, 'temporal'));
  const places = {
    '--ip': address,
    '--port': ports.temporal,
    '--ui-port': ports.temporalUi,
    '--http-port': ports.temporalHttp,
    '--metrics-port': ports.temporalMetrics,
    '--db-filename': path.join(folder, 'temporal.sqlite'),
    '--namespace': temporalNamespace,
    '--log-level': 'warn',
  };
  return startKept({
    title: 'Temporal',
    program,
    args: [
      'server',
      'start-dev',
      '--ui-disable-news-fetch',
      ...Object.entries(places).flatMap(([name, value]) => [name, String(value)]),
      ...searchAttributes.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
    ],
    folder,
    stateDir,
    pidFile: temporalPidFile(stateDir),
    listens: Object.values(ports).map((port) => ({ address, port })),
    isReady: async () =>
      (await answers(`http://${address}:${ports.temporalHttp}/api/v1/namespaces/${temporalNamespace}`)) &&
      (await answers(`http://${address}:${ports.temporalUi}/`)),
    readyWithinMs: 60_000,
  });
}

async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}
