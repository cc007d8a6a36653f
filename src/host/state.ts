/**
 * The host's own folder (0700): who this node is, its keys, how often it was started, which declaration it accepted
 * last. Every file is written whole, so that a start after a SIGKILL at any point reads the state before or after.
 */
import { mkdir, open, readFile, rm, link, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { envelope, type Envelope } from '../domain/declaration/declaration.ts';
import { nodeName } from '../domain/words/names.ts';
import { hasCode } from './fault.ts';
import { isAlive, presentProcess, processIdentity } from './processes/proc.ts';
import { writeWhole } from './whole-file.ts';

/** What the admission gave the node: nothing in it is secret. The keys lie beside it, each in a file of its own. */
export const nodeFile = z.strictObject({
  schema: z.literal('mesh.host-node'),
  version: z.literal(1),
  name: nodeName,
  /** Where other nodes reach this one. */
  address: z.string().min(1),
  /** The addresses of the bus. */
  servers: z.array(z.string()).min(1),
  /** The public half of the key that signs declarations: the one thing the host trusts (D3). */
  verifyKey: z.string().min(1),
  /** The bus user's JWT; its seed is the identity key. */
  userJwt: z.string().min(1),
  /** The JWT of the provisioner client's user; absent on a node that joined before there was one. */
  clientJwt: z.string().min(1).optional(),
});
export type NodeFile = z.infer<typeof nodeFile>;

const bootFile = z.strictObject({ boot: z.int().nonnegative() });

/** Where each thing lies in the state folder. */
export const statePaths = {
  node: 'node.json',
  keys: 'keys',
  boot: 'boot.json',
  accepted: 'accepted.json',
  ledger: 'applied.json',
  lock: 'host.lock',
  provisioner: 'provisioner.json',
  processes: 'processes',
  logs: 'logs',
} as const;

/** Makes the state folder and those in it, for their owner alone. Safe to repeat. */
export async function makeStateFolder(stateDir: string): Promise<void> {
  for (const folder of [stateDir, path.join(stateDir, statePaths.processes), path.join(stateDir, statePaths.logs)]) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await keepPrivate(folder);
  }
}

async function keepPrivate(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.chmod(0o700);
  } finally {
    await handle.close();
  }
}

/** Writes one of the state folder's files, for its owner alone. */
export async function writeState(stateDir: string, name: string, value: unknown): Promise<void> {
  await writeWhole(stateDir, name, { content: Buffer.from(`${JSON.stringify(value, null, 2)}\n`), mode: 0o600 });
}

/** Reads one of the state folder's files. Undefined when it is not there; throws when it is there and is not what it should be. */
export async function readState<T>(stateDir: string, name: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readFile(path.join(stateDir, name), 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(`${path.join(stateDir, name)} is not what the host wrote there`, { cause });
  }
}

/** Who this node is; undefined before it joined. */
export function readNode(stateDir: string): Promise<NodeFile | undefined> {
  return readState(stateDir, statePaths.node, nodeFile);
}

/** Counts this start, and keeps the count before it is used: no two starts ever report under one number (D20). */
export async function countBoot(stateDir: string): Promise<number> {
  const before = await readState(stateDir, statePaths.boot, bootFile);
  const boot = (before?.boot ?? 0) + 1;
  await writeState(stateDir, statePaths.boot, { boot });
  return boot;
}

/** The envelope of the declaration that was accepted last. What it holds is sealed; its number is the highest accepted (D3). */
export function readAccepted(stateDir: string): Promise<Envelope | undefined> {
  return readState(stateDir, statePaths.accepted, envelope);
}

export function writeAccepted(stateDir: string, accepted: Envelope): Promise<void> {
  return writeState(stateDir, statePaths.accepted, accepted);
}

/** The process id of the host that has this state folder now; undefined when none does. */
export async function runningHost(stateDir: string): Promise<number | undefined> {
  const holder = processIdentity(await readFile(path.join(stateDir, statePaths.lock), 'utf8').catch(() => ''));
  return holder !== undefined && (await isAlive(holder)) ? holder.pid : undefined;
}

/**
 * Takes the state folder for this process, and answers what gives it back. Throws when another host that lives has it:
 * two hosts on one folder would each start what the other started. A dead one's claim is taken over.
 */
export async function lockState(stateDir: string): Promise<() => Promise<void>> {
  const lock = path.join(stateDir, statePaths.lock);
  const mine = await presentProcess();
  const claim = `${lock}.${mine.pid}`;
  await writeFile(claim, `${mine.pid} ${mine.start} ${mine.boot}\n`, { mode: 0o600 });
  try {
    for (;;) {
      try {
        await link(claim, lock);
        return () => rm(lock, { force: true });
      } catch (error) {
        if (!hasCode(error, 'EEXIST')) throw error;
      }
      const holder = processIdentity(await readFile(lock, 'utf8').catch(() => ''));
      if (holder !== undefined && (await isAlive(holder))) {
        throw new Error(`another host (process ${holder.pid}) already runs on ${stateDir}`);
      }
      await rm(lock, { force: true });
    }
  } finally {
    await rm(claim, { force: true });
  }
}
