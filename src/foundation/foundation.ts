/**
 * Raises and lowers what a mesh stands on, on one machine and without a container engine (U11, U13): PostgreSQL, NATS and
 * Temporal, each a process that survives the command. What runs is found again by pid and start; raising what runs
 * changes nothing, and raising what was cut off halfway finishes it.
 */
import { chmod, mkdir } from 'node:fs/promises';
import path from 'node:path';

import { isRefusal, type Refusal } from '../domain/refusal/refusal.ts';
import { passwordFile, privateFolder, storePasswordFiles } from './files.ts';
import { logFile, stopKept } from './kept-process.ts';
import { holdState } from './lock.ts';
import { controllerRole, ensureMeshDatabase, meshDatabase } from './mesh-database.ts';
import { type BusTrust, natsPidFile, startNats } from './nats.ts';
import { findPostgres } from './postgres-programs.ts';
import { runningPostgres, startPostgres, stopPostgres } from './postgres.ts';
import { type KeptAddresses, keepAddresses, readKeptAddresses } from './ports.ts';
import { isAlive, readPidFile } from './processes.ts';
import { type Env, findProgram } from './programs.ts';
import { startTemporal, temporalNamespace, temporalPidFile } from './temporal.ts';

/** Where everything is. Passwords are named by their files. */
export type Foundation = {
  readonly id: string;
  /** `127.a.b.`: the nodes of this mesh that are on this machine have their addresses in it. */
  readonly nodePrefix: string;
  readonly postgres: {
    readonly host: string;
    readonly port: number;
    readonly database: string;
    readonly user: string;
    readonly passwordFile: string;
    readonly superuserPasswordFile: string;
  };
  readonly nats: { readonly url: string; readonly host: string; readonly port: number };
  readonly temporal: { readonly address: string; readonly namespace: string; readonly uiUrl: string };
};

export const foundationParts = ['postgres', 'nats', 'temporal'] as const;
export type FoundationPart = (typeof foundationParts)[number];

export type RaiseAsked = {
  readonly stateDir: string;
  readonly env: Env;
  readonly trust: BusTrust;
  /** Told what happens, a line each. */
  readonly say: (line: string) => void;
  /** All of them unless given. */
  readonly parts?: readonly FoundationPart[];
};

const portNames = ['postgres', 'nats', 'temporal', 'temporalUi', 'temporalHttp', 'temporalMetrics'] as const;

/**
 * Raises the foundation and returns once all of it answers. What already runs is taken as it is. When one part cannot be
 * raised, those that this call started are stopped again. Refusals: `program-missing`, `port-taken`. Errors: a part ends
 * at its start, its last words in the message; another command is raising or lowering this mesh.
 */
export async function raiseFoundation(asked: RaiseAsked): Promise<Foundation | Refusal> {
  await makeStateFolder(asked.stateDir);
  const release = await holdState(lockOf(asked.stateDir));
  try {
    const kept = await keepAddresses(asked.stateDir, portNames);
    const parts = asked.parts ?? foundationParts;
    const outcomes = await Promise.allSettled(parts.map((part) => raisePart[part](asked, kept)));
    const wrong = outcomes.find((each) => each.status === 'rejected' || isRefusal(each.value));
    if (wrong === undefined) return foundationAt(asked.stateDir, kept);
    for (const [at, each] of outcomes.entries()) {
      const part = parts[at];
      if (part !== undefined && each.status === 'fulfilled' && !isRefusal(each.value) && !each.value.wasRunning)
        await lowerPart[part](asked.stateDir);
    }
    if (wrong.status === 'rejected') throw wrong.reason;
    if (isRefusal(wrong.value)) return wrong.value;
    throw new Error('a part of the foundation was raised and not raised');
  } finally {
    await release();
  }
}

/** Stops all of it in order (first what uses, then what is used) and waits until nothing runs. Says which parts ran. */
export async function lowerFoundation({
  stateDir,
  say,
}: Pick<RaiseAsked, 'stateDir' | 'say'>): Promise<readonly FoundationPart[]> {
  if ((await readKeptAddresses(stateDir)) === undefined) return [];
  const release = await holdState(lockOf(stateDir));
  try {
    const stopped: FoundationPart[] = [];
    for (const part of foundationParts.toReversed()) {
      if ((await lowerPart[part](stateDir)) === 'stopped') stopped.push(part);
      say(`${titles[part]} ${stopped.includes(part) ? 'stopped' : 'was not running'}`);
    }
    return stopped;
  } finally {
    await release();
  }
}

/** Where everything is, read from the state folder, running or not; undefined when no mesh was ever raised there. */
export async function readFoundation(stateDir: string): Promise<Foundation | undefined> {
  const kept = await readKeptAddresses(stateDir);
  return kept === undefined || portNames.some((name) => kept.ports[name] === undefined)
    ? undefined
    : foundationAt(stateDir, kept);
}

/** The file that a part's server writes its output to, where this machine raised it. */
export const logOfPart = (stateDir: string, part: FoundationPart): string => logFile(stateDir, titles[part]);

/** Which parts run now. */
export async function runningParts(stateDir: string): Promise<readonly FoundationPart[]> {
  const runs = async (pidFile: string): Promise<boolean> => {
    const known = await readPidFile(pidFile);
    return known !== undefined && (await isAlive(known));
  };
  const answers = {
    postgres: (await runningPostgres(postgresDir(stateDir))) !== undefined,
    nats: await runs(natsPidFile(stateDir)),
    temporal: await runs(temporalPidFile(stateDir)),
  };
  return foundationParts.filter((part) => answers[part]);
}

const titles = { postgres: 'PostgreSQL', nats: 'NATS', temporal: 'Temporal' } as const satisfies Record<
  FoundationPart,
  string
>;
const lockOf = (stateDir: string): string => path.join(stateDir, 'run/raising.lock');
const postgresDir = (stateDir: string): string => path.join(stateDir, 'postgres');
const [controllerPassword, superuserPassword] = storePasswordFiles;
const secretFile = (stateDir: string, name: string): string => path.join(stateDir, 'secrets', name);

type Raised = { readonly wasRunning: boolean };

const raisePart: Readonly<
  Record<FoundationPart, (asked: RaiseAsked, kept: KeptAddresses) => Promise<Raised | Refusal>>
> = {
  async postgres({ stateDir, env, say }, kept) {
    const { postgres } = foundationAt(stateDir, kept);
    await passwordFile(postgres.superuserPasswordFile);
    await passwordFile(postgres.passwordFile);
    const { host: address, port } = postgres;
    const started = await startPostgres({
      programs: await findPostgres(env),
      dataDir: postgresDir(stateDir),
      address,
      port,
      passwordFile: postgres.superuserPasswordFile,
      maxConnections: 200,
      log: logFile(stateDir, titles.postgres),
    });
    if (isRefusal(started)) return started;
    await ensureMeshDatabase({
      address,
      port,
      superuserPasswordFile: postgres.superuserPasswordFile,
      controllerPasswordFile: postgres.passwordFile,
    });
    sayRaised(say, 'postgres', started, `${address}:${port}`);
    return started;
  },
  async nats({ stateDir, env, trust, say }, kept) {
    const program = await findProgram('nats-server', env, say);
    if (isRefusal(program)) return program;
    const { host: address, port } = foundationAt(stateDir, kept).nats;
    const started = await startNats({ program, stateDir, address, port, name: `mesh-${kept.id}`, trust });
    if (!isRefusal(started)) sayRaised(say, 'nats', started, `${address}:${port}`);
    return started;
  },
  async temporal({ stateDir, env, say }, kept) {
    const program = await findProgram('temporal', env, say);
    if (isRefusal(program)) return program;
    const [temporal, temporalUi] = [portOf(kept, 'temporal'), portOf(kept, 'temporalUi')];
    const [temporalHttp, temporalMetrics] = [portOf(kept, 'temporalHttp'), portOf(kept, 'temporalMetrics')];
    const ports = { temporal, temporalUi, temporalHttp, temporalMetrics };
    const started = await startTemporal({ program, stateDir, address: kept.address, ports });
    if (!isRefusal(started)) sayRaised(say, 'temporal', started, `${kept.address}:${temporal}`);
    return started;
  },
};

const lowerPart: Readonly<Record<FoundationPart, (stateDir: string) => Promise<'stopped' | 'was not running'>>> = {
  postgres: (stateDir) => stopPostgres({ dataDir: postgresDir(stateDir) }),
  nats: (stateDir) => stopKept(natsPidFile(stateDir)),
  temporal: (stateDir) => stopKept(temporalPidFile(stateDir)),
};

function sayRaised(say: (line: string) => void, part: FoundationPart, { wasRunning }: Raised, where: string): void {
  say(`${titles[part]} ${wasRunning ? 'already runs' : 'started'} at ${where}`);
}

function foundationAt(stateDir: string, kept: KeptAddresses): Foundation {
  const host = kept.address;
  return {
    id: kept.id,
    nodePrefix: kept.nodePrefix,
    postgres: {
      host,
      port: portOf(kept, 'postgres'),
      database: meshDatabase,
      user: controllerRole,
      passwordFile: secretFile(stateDir, controllerPassword),
      superuserPasswordFile: secretFile(stateDir, superuserPassword),
    },
    nats: { url: `nats://${host}:${portOf(kept, 'nats')}`, host, port: portOf(kept, 'nats') },
    temporal: {
      address: `${host}:${portOf(kept, 'temporal')}`,
      namespace: temporalNamespace,
      uiUrl: `http://${host}:${portOf(kept, 'temporalUi')}`,
    },
  };
}

function portOf(kept: KeptAddresses, name: (typeof portNames)[number]): number {
  const port = kept.ports[name];
  if (port === undefined) throw new Error(`no port is kept for ${name}`);
  return port;
}

async function makeStateFolder(stateDir: string): Promise<void> {
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  // PostgreSQL runs as another user when we are root, and has to pass through; what is secret is in closed folders below.
  await chmod(stateDir, process.getuid?.() === 0 ? 0o711 : 0o700);
  await privateFolder(path.join(stateDir, 'secrets'));
  await privateFolder(path.join(stateDir, 'run'));
  await privateFolder(path.join(stateDir, 'logs'));
}
