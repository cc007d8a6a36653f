/**
 * What the host keeps of each process it started, in `<state>/processes`: `<key>.json` says with what it was started,
 * `<key>.<launch>.pid` says who it is and is written by the process's own shell before it becomes the program.
 */
import { link, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { processResource } from '../../domain/declaration/declaration.ts';
import { hasCode } from '../fault.ts';
import { readState, statePaths, writeState } from '../state.ts';
import { processIdentity, type ProcessIdentity } from './proc.ts';

const processRecord = z.strictObject({
  schema: z.literal('mesh.host-process'),
  version: z.literal(1),
  key: z.string(),
  /** Names one start; no two share it. */
  launch: z.string(),
  definition: z.string(),
  restartOn: z.record(z.string(), z.string()),
  stop: processResource.shape.stop,
  /** How long its log was when it was started: what it says of itself comes after. */
  logOffset: z.int(),
  /** The machine's clock when it was started, ms: a file that says "ready" must not be older. */
  startedAt: z.number(),
  /** Whether it was seen ready, or alive for long enough if it does not say when it is. */
  ready: z.boolean(),
});
export type ProcessRecord = z.infer<typeof processRecord>;

/** The record of a process; undefined when the host has none. */
export function readRecord(stateDir: string, key: string): Promise<ProcessRecord | undefined> {
  return readState(stateDir, recordName(key), processRecord);
}

export function writeRecord(stateDir: string, record: ProcessRecord): Promise<void> {
  return writeState(stateDir, recordName(record.key), record);
}

/** Forgets a process, every pid file of it first: a record without one is one that never came to start. */
export async function removeRecord(stateDir: string, key: string): Promise<void> {
  await removePidFiles(stateDir, key);
  await rm(path.join(stateDir, recordName(key)), { force: true });
}

/** Takes away what earlier starts of a process left. */
export async function removePidFiles(stateDir: string, key: string): Promise<void> {
  const folder = path.join(stateDir, statePaths.processes);
  const left = (await readdir(folder)).filter((name) => name.startsWith(`${key}.`) && !isRecord(name, key));
  await Promise.all(left.map((name) => rm(path.join(folder, name), { force: true })));
}

/** The keys of all processes that the host has a record of. */
export async function recordedKeys(stateDir: string): Promise<readonly string[]> {
  const names = await readdir(path.join(stateDir, statePaths.processes)).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  });
  // A key is two names with a dot between them, and no name holds a dot.
  return names.flatMap((name) => /^([^.]+\.[^.]+)\.json$/.exec(name)?.[1] ?? []).toSorted();
}

export function pidFile(stateDir: string, { key, launch }: Pick<ProcessRecord, 'key' | 'launch'>): string {
  return path.join(stateDir, statePaths.processes, `${key}.${launch}.pid`);
}

export function logFile(stateDir: string, key: string): string {
  return path.join(stateDir, statePaths.logs, `${key}.log`);
}

/** Who a launch became; undefined while its pid file is not there, or when the launch was forbidden. */
export async function launchedAs(stateDir: string, record: ProcessRecord): Promise<ProcessIdentity | undefined> {
  const line = await readFile(pidFile(stateDir, record), 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return '';
    throw error;
  });
  return processIdentity(line);
}

/**
 * Who a launch of an earlier host became, settled for good. When its shell has not yet said who it is (that host died
 * between the fork and the word) the launch is forbidden: the name of the pid file is taken, the shell finds it taken
 * and ends. Either it is adopted or it never runs: nothing is lost and nothing runs twice.
 */
export async function adoptOrForbid(stateDir: string, record: ProcessRecord): Promise<ProcessIdentity | undefined> {
  const file = pidFile(stateDir, record);
  const word = `${file}.forbidden`;
  await writeFile(word, 'forbidden\n', { mode: 0o600 });
  try {
    await link(word, file);
    return undefined;
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    return await launchedAs(stateDir, record);
  } finally {
    await rm(word, { force: true });
  }
}

function recordName(key: string): string {
  return path.join(statePaths.processes, `${key}.json`);
}

function isRecord(name: string, key: string): boolean {
  return name === `${key}.json`;
}
