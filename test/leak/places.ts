/** Everywhere that a mesh leaves something: each place as its name and its bytes. */
import { lstat, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { readdirSync, readFileSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import pg from 'pg';
import { z } from 'zod';

import type { BusConnection } from '../../src/bus/connection.ts';
import type { Found } from './finder.ts';

export type Place = { readonly place: string; readonly bytes: Buffer };
export type Hit = Found & { readonly place: string };
export type Find = (bytes: Buffer) => readonly Found[];

/** The hits in all of these places, and how many places and bytes there were. */
export async function searchAll(
  find: Find,
  places: AsyncIterable<Place> | Iterable<Place>,
): Promise<{ readonly hits: readonly Hit[]; readonly places: number; readonly bytes: number }> {
  const hits: Hit[] = [];
  let [count, size] = [0, 0];
  for await (const { place, bytes } of places) {
    count += 1;
    size += bytes.length;
    for (const found of find(bytes)) hits.push({ ...found, place });
  }
  return { hits, places: count, bytes: size };
}

/** Every regular file under a folder, by its path in it. What goes away while we look is skipped. */
export async function* filesIn(folder: string, deep = Infinity, since = 0): AsyncGenerator<Place> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const file = path.join(folder, name);
    const stats = await lstat(file).catch(() => undefined);
    if (stats?.isDirectory() === true && deep > 1) yield* filesIn(file, deep - 1, since);
    if (stats?.isFile() !== true || stats.mtimeMs < since) continue;
    const bytes = await readFile(file).catch(() => undefined);
    if (bytes !== undefined) yield { place: file, bytes };
  }
}

const named = z.array(z.object({ name: z.string() }));

/** Every relation of every database of a server, the catalogue's own included, a row a line, each as text. */
export async function* tablesOf(server: pg.ClientConfig): AsyncGenerator<Place> {
  const databases = await queried(server, 'select datname as name from pg_database where datallowconn');
  for (const { name: database } of named.parse(databases)) {
    const client = new pg.Client({ ...server, database });
    await client.connect();
    try {
      const relations = await client.query(
        `select quote_ident(n.nspname) || '.' || quote_ident(c.relname) as name
           from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where c.relkind in ('r', 'p', 'm', 'v') and n.nspname <> 'information_schema'
            and c.relname not in ('pg_stats_ext', 'pg_stats_ext_exprs', 'pg_backend_memory_contexts', 'pg_hba_file_rules', 'pg_shmem_allocations_numa')`,
      );
      for (const { name } of named.parse(relations.rows)) {
        const dumped = await client.query<{ row: string }>(`select t::text as row from ${name} t`);
        const text = dumped.rows.map(({ row }) => row).join('\n');
        yield { place: `${database} ${name}`, bytes: Buffer.from(text) };
      }
    } finally {
      await client.end();
    }
  }
}

async function queried(server: pg.ClientConfig, sql: string): Promise<readonly unknown[]> {
  const client = new pg.Client(server);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Every message that any stream holds, with its headers. */
export async function* messagesOf(mesh: BusConnection): AsyncGenerator<Place> {
  const manager = await mesh.nats.jetstreamManager({ checkAPI: false });
  for await (const { config, state } of manager.streams.list()) {
    if ((config.compression ?? 'none') !== 'none')
      throw new Error(`${config.name} is compressed: its files tell nothing`);
    for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq += 1) {
      const message = await manager.streams.getMessage(config.name, { seq }).catch(() => undefined);
      if (message === undefined) continue;
      const heads = [...message.header].map(([name, values]) => `${name}: ${values.join()}`).join('\n');
      yield {
        place: `${config.name} ${seq} ${message.subject}`,
        bytes: Buffer.concat([Buffer.from(`${message.subject}\n${heads}\n`), message.data]),
      };
    }
  }
}

/** Every workflow's history and what is shown of it: inputs, results, failures, heartbeats, memos, search attributes. */
export async function* historiesOf(temporal: Client): AsyncGenerator<Place> {
  for await (const { workflowId, runId } of temporal.workflow.list()) {
    const handle = temporal.workflow.getHandle(workflowId, runId);
    yield { place: `${workflowId} history`, bytes: bytesWithin(await handle.fetchHistory()) };
    yield { place: `${workflowId} described`, bytes: bytesWithin((await handle.describe()).raw) };
  }
}

/** Every text and every byte in a value, one after the other. */
function bytesWithin(value: unknown): Buffer {
  const parts: Buffer[] = [];
  const look = (one: unknown): void => {
    if (one instanceof Uint8Array) parts.push(Buffer.from(one), Buffer.from('\n'));
    else if (typeof one === 'string') parts.push(Buffer.from(`${one}\n`));
    else if (typeof one === 'object' && one !== null) Object.values(one).forEach(look);
  };
  look(value);
  return Buffer.concat(parts);
}

export type ProcessWatch = {
  readonly hits: ReadonlyMap<string, Hit>;
  /** How many looks, and at how many processes. */
  readonly looks: () => number;
  readonly processes: () => number;
  stop(): void;
};

/** Looks at the arguments and the environment of every process on the machine, again and again until stopped. */
export function watchProcesses(find: Find, everyMs: number): ProcessWatch {
  const hits = new Map<string, Hit>();
  const seen = new Set<string>();
  // What a process was started with is searched once: it has other words of its own when it becomes another program.
  let known = new Map<string, Buffer>();
  let looks = 0;
  const searchIn = (pid: string, kind: string, bytes: Buffer): void => {
    for (const found of find(bytes)) {
      const place = `${kind} of ${readFileSync(`/proc/${pid}/comm`, 'utf8').trim()}`;
      hits.set(`${place} ${found.of} ${found.form}`, { ...found, place });
    }
  };
  const look = (): void => {
    looks += 1;
    const now = new Map<string, Buffer>();
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`);
        if (known.get(pid)?.equals(words) !== true) {
          seen.add(pid);
          searchIn(pid, 'cmdline', words);
          searchIn(pid, 'environ', readFileSync(`/proc/${pid}/environ`));
        }
        now.set(pid, words);
      } catch {
        // It ended while we looked.
      }
    }
    known = now;
  };
  const timer = setInterval(look, everyMs);
  return { hits, looks: () => looks, processes: () => seen.size, stop: () => clearInterval(timer) };
}
