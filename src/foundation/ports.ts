/**
 * The mesh's own addresses on this machine (U13): chosen once, by asking the kernel what is free, and kept in
 * `foundation.json`, so that they are the same after `down` and `up`.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';

import type { Refusal } from '../domain/refusal/refusal.ts';
import { hasCode, writeWhole } from './files.ts';

const port = z.number().int().min(1).max(65_535);

const kept = z.object({
  version: z.literal(1),
  /** Tells this mesh from another on the machine. */
  id: z.string().regex(/^[0-9a-f]{16}$/),
  address: z.ipv4(),
  /** The first three numbers of the loopback addresses that this mesh's nodes on this machine have, with the dot behind. */
  nodePrefix: z.string().regex(/^127\.\d{1,3}\.\d{1,3}\.$/),
  ports: z.record(z.string(), port),
});

export type KeptAddresses = z.infer<typeof kept>;

const fileOf = (stateDir: string): string => path.join(stateDir, 'foundation.json');

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What is kept, or undefined when no mesh was ever raised here. Errors: the file is not what mesh wrote. */
export async function readKeptAddresses(stateDir: string): Promise<KeptAddresses | undefined> {
  const text = await readFile(fileOf(stateDir), 'utf8').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new Error(`${fileOf(stateDir)} cannot be read`, { cause: error });
  });
  if (text === undefined) return undefined;
  const read = kept.safeParse(parsed(text));
  if (read.success) return read.data;
  // In words: what a file holds is no fault of the code that looks at it.
  const cause = new Error(read.error.issues.map(({ path: at, message }) => `${at.join('.')}: ${message}`).join('; '));
  throw new Error(`${fileOf(stateDir)} is not as mesh wrote it`, { cause });
}

/**
 * The kept addresses, with a port for each of `names`: those that have none yet get a free one, which is kept from then
 * on. A port that is kept is never moved, taken or not: others have been told of it.
 */
export async function keepAddresses(
  stateDir: string,
  names: readonly string[],
  address = '127.0.0.1',
): Promise<KeptAddresses> {
  const before = (await readKeptAddresses(stateDir)) ?? {
    version: 1 as const,
    id: randomBytes(8).toString('hex'),
    address,
    nodePrefix: await freeNodePrefix(),
    ports: {},
  };
  const missing = names.filter((name) => before.ports[name] === undefined);
  if (missing.length === 0) return before;
  const free = await freePorts(before.address, missing.length, Object.values(before.ports));
  const after = {
    ...before,
    ports: { ...before.ports, ...Object.fromEntries(missing.map((name, at) => [name, free[at]])) },
  };
  const checked = kept.parse(after);
  await writeWhole(fileOf(stateDir), `${JSON.stringify(checked, null, 2)}\n`, 0o644);
  return checked;
}

/** Different ports that nobody listens on at this address, below the range that the kernel takes for outgoing connections. */
export async function freePorts(
  address: string,
  count: number,
  except: readonly number[] = [],
): Promise<readonly number[]> {
  const held: Server[] = [];
  try {
    const found: number[] = [];
    for (let tries = 0; found.length < count; tries += 1) {
      if (tries > 1000) throw new Error(`no free ports at ${address}`);
      const candidate = randomInt(15_000, await firstOutgoingPort());
      if (except.includes(candidate) || found.includes(candidate)) continue;
      // Held until all are found, so that two who ask at once do not get the same.
      const server = await listen(address, candidate);
      if (server === undefined) continue;
      held.push(server);
      found.push(candidate);
    }
    return found;
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** A program that was just ended may have its port a moment longer than its pid: its threads or children are still going. */
const lastHoldersMs = 1000;

/** Undefined when the port is free, or becomes free within a second; else the refusal of `program`, which was to listen there. */
export async function refuseTaken(program: string, address: string, asked: number): Promise<Refusal | undefined> {
  for (const deadline = performance.now() + lastHoldersMs; ; await pause(50)) {
    const server = await listen(address, asked);
    if (server !== undefined) {
      await new Promise((resolve) => server.close(resolve));
      return undefined;
    }
    if (performance.now() >= deadline) break;
  }
  return {
    kind: 'port-taken',
    what: `${program} cannot start: another program listens on ${address}:${asked}`,
    why: 'the port was free when this mesh chose it and was kept since; it is not moved silently, since nodes and people were told of it',
    next: [`ss -ltnp 'sport = :${asked}'  # shows who has it; end that, then run mesh up again`],
    facts: { program, address, port: asked },
  };
}

async function listen(address: string, asked: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ host: address, port: asked, exclusive: true }, () => resolve(server));
  });
}

// Ports that the kernel gives to outgoing connections come and go: one of those could be taken at the next start.
async function firstOutgoingPort(): Promise<number> {
  const range = await readFile('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').catch(() => '32768');
  const first = Number.parseInt(range, 10);
  return first > 16_000 ? Math.min(first, 32_768) : 32_768;
}

// 127.0. is left to the system and to people; anything listening in a range is taken for another mesh's node.
async function freeNodePrefix(): Promise<string> {
  const listening = await readFile('/proc/net/tcp', 'utf8').catch(() => '');
  for (;;) {
    const [second, third] = [randomInt(1, 255), randomInt(0, 256)];
    // The table writes addresses as little-endian hexadecimal.
    const hex = [third, second, 127].map((each) => each.toString(16).padStart(2, '0').toUpperCase()).join('');
    if (!new RegExp(`: [0-9A-F]{2}${hex}:`).test(listening)) return `127.${second}.${third}.`;
  }
}
