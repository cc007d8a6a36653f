/** A real server, a directory as the host would write it, and granters that run in this process and can be cut in two. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { z } from 'zod';

import { grantListFile, type Grant, type GrantList } from '../../src/domain/declaration/declaration.ts';
import { granterStatus, type GranterEntry, type GranterStatus } from '../../src/domain/report/report.ts';
import { localName, moduleName, nodeName, provisionName } from '../../src/domain/words/names.ts';
import { providePostgres, type ProvidePostgres } from '../../src/granters/postgres/provide-postgres.ts';
import type { TestServers } from '../support/foundation.ts';
import { until } from '../support/until.ts';

export const newPassword = (): string => randomBytes(32).toString('base64url');

/** A grant as compose makes it: owner and database named after the consumer, the login by the generation's parity. */
export function grantOf(
  consumer: string,
  generation: number,
  named: Partial<Pick<Grant, 'login' | 'owner' | 'fullName' | 'database'>> = {},
): Grant {
  const [node, module, local] = consumer.split('.');
  const owner = named.owner ?? consumer;
  return {
    node: nodeName.parse(node),
    module: moduleName.parse(module),
    ...(local === undefined ? {} : { local: localName.parse(local) }),
    generation,
    file: `${consumer}.${generation}`,
    login: named.login ?? `${owner}_${generation % 2 === 1 ? 'a' : 'b'}`,
    owner,
    fullName: named.fullName ?? consumer,
    database: named.database ?? owner,
  };
}

export type GrantDirectory = {
  readonly directory: string;
  readonly statusFile: string;
  /** Writes credential files first, then the list, each whole, and removes the files of what is not listed. */
  write(
    granted: readonly { readonly grant: Grant; readonly password: string }[],
    drainMs?: number,
    at?: GrantList['at'],
  ): Promise<void>;
  writeText(text: string): Promise<void>;
  status(): Promise<GranterStatus | undefined>;
  /** Waits until the status says of this consumer and generation what is asked. */
  entry(grant: Grant, is: (entry: GranterEntry) => boolean, what: string): Promise<GranterEntry>;
  state(grant: Grant, state: GranterEntry['state']): Promise<GranterEntry>;
  remove(): Promise<void>;
};

export async function grantDirectory(): Promise<GrantDirectory> {
  const root = await mkdtemp(path.join(tmpdir(), 'mesh-granter-'));
  const directory = path.join(root, 'grants');
  await mkdir(directory, { mode: 0o700 });
  const statusFile = `${directory}.status.json`;
  const whole = async (name: string, text: string): Promise<void> => {
    const next = path.join(root, `next-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`);
    await writeFile(next, text, { mode: 0o600 });
    await rename(next, path.join(directory, name));
  };
  let files: string[] = [];
  const status = async (): Promise<GranterStatus | undefined> => {
    const text = await readFile(statusFile, 'utf8').catch(() => undefined);
    return text === undefined ? undefined : granterStatus.parse(JSON.parse(text));
  };
  const entry: GrantDirectory['entry'] = async (grant, is, what) => {
    let last: GranterStatus | undefined;
    const read = async (): Promise<GranterEntry | undefined> => {
      last = await status();
      return last?.entries.find((one) => one.login === grant.login && one.generation === grant.generation);
    };
    let found: GranterEntry | undefined;
    await until(
      async () => {
        found = await read();
        return found !== undefined && is(found);
      },
      { withinMs: 15_000, what },
    ).catch((cause: unknown) => {
      throw new Error(`${what}; the status says ${JSON.stringify(last)}`, { cause });
    });
    if (found === undefined) throw new Error(what);
    return found;
  };
  return {
    directory,
    statusFile,
    async write(granted, drainMs = 60_000, at) {
      for (const { grant, password } of granted) await whole(grant.file, password);
      const list: GrantList = {
        schema: 'mesh.grants',
        version: 1,
        provision: provisionName.parse('postgres-database'),
        drainMs,
        ...(at === undefined ? {} : { at }),
        grants: granted.map(({ grant }) => grant),
      };
      await whole(grantListFile, JSON.stringify(list));
      const kept = granted.map(({ grant }) => grant.file);
      for (const file of files.filter((one) => !kept.includes(one))) await rm(path.join(directory, file));
      files = kept;
    },
    writeText: (text) => whole(grantListFile, text),
    status,
    entry,
    state: (grant, state) => entry(grant, (one) => one.state === state, `${grant.login} ${grant.generation} ${state}`),
    remove: () => rm(root, { recursive: true, force: true }),
  };
}

export type RunningGranter = { stop(): Promise<void>; readonly said: readonly string[] };

/** Runs the granter in this process until it is stopped. */
export function startGranter(
  servers: Pick<TestServers, 'foundation'>,
  grants: GrantDirectory,
  more: Partial<Pick<ProvidePostgres, 'passwordFile' | 'port' | 'beforeStatement' | 'drainMs'>> = {},
): RunningGranter {
  const ending = new AbortController();
  const said: string[] = [];
  const say = (fields: object, text: string): void => void said.push(`${text} ${JSON.stringify(fields)}`);
  const { host, port, superuserPasswordFile } = servers.foundation.postgres;
  const running = providePostgres({
    directory: grants.directory,
    host,
    port,
    passwordFile: superuserPasswordFile,
    signal: ending.signal,
    logger: { info: say, warn: say },
    ...more,
  });
  return {
    said,
    async stop() {
      ending.abort();
      await running;
    },
  };
}

const endings = new WeakMap<pg.Client, string>();

/** Waits until the server has ended a session, and gives the SQLSTATE it did it with. */
export async function endingOf(client: pg.Client): Promise<string | undefined> {
  await until(() => endings.has(client), { withinMs: 5_000, what: 'the server to end the session' });
  return endings.get(client);
}

/** Logs in; the caller ends the session. A session that the server ends is no error of the test's own. */
export async function logIn(
  servers: Pick<TestServers, 'foundation'>,
  user: string,
  password: string,
  database: string,
): Promise<pg.Client> {
  const { host, port } = servers.foundation.postgres;
  const client = new pg.Client({ host, port, user, password, database });
  client.on('error', (error) => {
    if ('code' in error && typeof error.code === 'string') endings.set(client, error.code);
  });
  await client.connect();
  return client;
}

/** The SQLSTATE or code that something fails with; undefined when it does not. */
export async function failure(doing: Promise<unknown>): Promise<string | undefined> {
  try {
    await doing;
    return undefined;
  } catch (error) {
    if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code;
    return error instanceof Error ? error.message : 'unknown';
  }
}

/** Logs in, asks one thing, leaves. */
export async function ask(
  servers: TestServers,
  { grant, password }: { readonly grant: Grant; readonly password: string },
  sql: string,
): Promise<unknown[]> {
  const client = await logIn(servers, grant.login, password, grant.database);
  try {
    return await values(client, sql);
  } finally {
    await client.end();
  }
}

/** The first column of what a statement answers. */
export async function values(client: pg.Client, sql: string, parameters: readonly unknown[] = []): Promise<unknown[]> {
  const { rows } = await client.query<unknown[]>({ text: sql, values: [...parameters], rowMode: 'array' });
  return z
    .array(z.array(z.unknown()))
    .parse(rows)
    .map(([first]) => first);
}

/** Runs `use` as the superuser in a database. */
export async function asSuperuser<T>(
  servers: TestServers,
  use: (client: pg.Client) => Promise<T>,
  database = 'postgres',
): Promise<T> {
  const client = new pg.Client({ ...(await servers.superuser()), database });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
