/** The mesh's own programs that `mesh up` leaves running on this machine: the controller, the provisioner, and a host for each node here. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

import type { Refusal } from '../../src/domain/refusal/refusal.ts';
import { logFile, startKept, stopKept } from '../../src/foundation/kept-process.ts';
import { readPidFile } from '../../src/foundation/processes.ts';
import { statePaths } from '../../src/host/state.ts';
import { localNodeFolder, localNodeRoot, nodeStateFolder } from '../node-folders.ts';
import { meshProgram } from '../processes.ts';

const pidFileOf = (stateFolder: string, title: string): string => path.join(stateFolder, 'run', `${title}.pid`);
const hostTitle = (node: string): string => `host-${node}`;

/** Starts the controller, or takes the one that runs; returns once it serves. Errors: it ends, its last words in the message. */
export async function startController(stateFolder: string): Promise<{ readonly wasRunning: boolean } | Refusal> {
  const readyFile = path.join(stateFolder, 'run', 'controller.ready');
  return start(
    stateFolder,
    'controller',
    ['work', 'controller', '--state', stateFolder, '--ready-file', readyFile],
    readyFile,
  );
}

/** Starts the provisioner, or takes the one that runs; returns once it serves or stands by. Errors: it ends, its last words in the message. */
export async function startProvisioner(stateFolder: string): Promise<{ readonly wasRunning: boolean } | Refusal> {
  const readyFile = path.join(stateFolder, 'run', 'provisioner.ready');
  return start(
    stateFolder,
    'provisioner',
    ['work', 'provisioner', '--state', stateFolder, '--ready-file', readyFile],
    readyFile,
  );
}

/** Starts the host of a node that joined and lives here, or takes the one that runs; returns once it has its state folder. */
export async function startHost(
  stateFolder: string,
  node: string,
): Promise<{ readonly wasRunning: boolean } | Refusal> {
  const folder = localNodeFolder(stateFolder, node);
  const lock = path.join(nodeStateFolder(folder), statePaths.lock);
  return start(
    stateFolder,
    hostTitle(node),
    ['host', '--state', folder, '--root', localNodeRoot(stateFolder, node)],
    lock,
  );
}

export const stopController = (stateFolder: string) => stopKept(pidFileOf(stateFolder, 'controller'));
export const stopProvisioner = (stateFolder: string) => stopKept(pidFileOf(stateFolder, 'provisioner'));
/** Ends the host; what it started goes on. */
export const stopHost = (stateFolder: string, node: string) => stopKept(pidFileOf(stateFolder, hostTitle(node)));

/** `saysPid` is a file that the program writes its process id into, first of all, once it is what it should be. */
async function start(
  stateFolder: string,
  title: string,
  args: readonly string[],
  saysPid: string,
): Promise<{ readonly wasRunning: boolean } | Refusal> {
  const pidFile = pidFileOf(stateFolder, title);
  try {
    return await startKept({
      title,
      program: process.execPath,
      // Its log is one JSON object a line, and so is what it says when it cannot go on.
      args: [meshProgram, ...args, '--json'],
      folder: stateFolder,
      stateDir: stateFolder,
      pidFile,
      listens: [],
      isReady: async () => {
        const [said, known] = await Promise.all([readFile(saysPid, 'utf8').catch(() => ''), readPidFile(pidFile)]);
        return known !== undefined && said.split(/\s/)[0] === String(known.pid);
      },
      readyWithinMs: 60_000,
    });
  } catch (cause) {
    const log = logFile(stateFolder, title);
    const said = await lastWords(log);
    throw new Error(`${title} did not start (its log: ${log})`, {
      cause: said === undefined ? cause : new Error(said),
    });
  }
}

const lastSaid = z.object({ schema: z.literal('mesh.error'), what: z.string() });

/** What a program of ours said of why it could not go on; undefined when it said nothing of the kind. */
async function lastWords(log: string): Promise<string | undefined> {
  const line = (await readFile(log, 'utf8').catch(() => '')).trimEnd().split('\n').at(-1) ?? '';
  if (!line.startsWith('{')) return undefined;
  try {
    return lastSaid.parse(JSON.parse(line)).what;
  } catch {
    return undefined;
  }
}
