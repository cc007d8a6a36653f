import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { connectionOf, type StoreAddress } from './address.ts';

/** `migrations/` at the top of the package, from the sources and from what was compiled alike. */
async function migrationsFolder(): Promise<string> {
  let folder = path.dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const names = await readdir(folder);
    if (names.includes('migrations') && names.includes('package.json')) return path.join(folder, 'migrations');
    const above = path.dirname(folder);
    if (above === folder) throw new Error('the folder of the migrations was not found beside the package');
    folder = above;
  }
}

/**
 * Brings the schema `mesh` of this database forward to what this code knows; answers the migrations that it ran, in order. All of
 * them or none; two that start at once run one after the other. Plain SQL files, forward only.
 * @throws when the database has migrations that this code does not know: it was used by a newer version.
 */
export async function migrate({
  connection,
  folder,
}: {
  readonly connection: StoreAddress;
  /** Where the SQL files are, when not the package's own. */
  readonly folder?: string;
}): Promise<readonly string[]> {
  const dir = folder ?? (await migrationsFolder());
  const known = await knownMigrations(dir);
  const client = new pg.Client(connectionOf(connection));
  await client.connect();
  try {
    await refuseNewer(client, new Set(known));
    const ran = await runner({
      dbClient: client,
      dir,
      direction: 'up',
      migrationsSchema: 'mesh',
      migrationsTable: 'migrations',
      createMigrationsSchema: true,
      singleTransaction: true,
      checkOrder: true,
      advisoryLockMode: 'wait',
      logger: quiet,
    });
    return ran.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

async function refuseNewer(client: pg.Client, known: ReadonlySet<string>): Promise<void> {
  const unknown = ((await migrationsIn(client)) ?? []).filter((name) => !known.has(name));
  if (unknown.length > 0) {
    throw new Error(
      `this database was used by a newer version of mesh: it has ${unknown.join(', ')}, which this version does not know`,
    );
  }
}

/** Undefined: nothing was ever migrated there. */
async function migrationsIn(client: pg.Client): Promise<readonly string[] | undefined> {
  const { rows: tables } = await client.query<{ there: boolean }>(
    `select to_regclass('mesh.migrations') is not null as there`,
  );
  if (tables[0]?.there !== true) return undefined;
  const { rows } = await client.query<{ name: string }>(`select name from mesh.migrations order by id`);
  return rows.map(({ name }) => name);
}

export type StoreStanding = {
  /** Migrations that it has had; those of them that this code does not know; those that it has not had yet. */
  readonly ran: readonly string[];
  readonly newer: readonly string[];
  readonly missing: readonly string[];
  /** It is a standby, or was made read-only. */
  readonly isReadOnly: boolean;
};

/**
 * How the store stands to this code. `withinMs`: how long each step towards an answer may take; for as long as it takes when
 * left out.
 */
export async function storeStanding(
  connection: StoreAddress,
  { withinMs }: { readonly withinMs?: number } = {},
): Promise<StoreStanding> {
  const known = await knownMigrations(await migrationsFolder());
  const bounds = withinMs === undefined ? {} : { connectionTimeoutMillis: withinMs, query_timeout: withinMs };
  const client = new pg.Client({ ...connectionOf(connection), ...bounds });
  // A line that breaks is told by what was asked over it.
  client.on('error', () => {});
  try {
    await client.connect();
    const ran = (await migrationsIn(client)) ?? [];
    const { rows } = await client.query<{ setting: string }>(
      `select current_setting('transaction_read_only') as setting`,
    );
    return {
      ran,
      newer: ran.filter((name) => !known.includes(name)),
      missing: known.filter((name) => !ran.includes(name)),
      isReadOnly: rows[0]?.setting === 'on',
    };
  } finally {
    await client.end();
  }
}

async function knownMigrations(folder: string): Promise<readonly string[]> {
  return (await readdir(folder))
    .filter((name) => name.endsWith('.sql'))
    .map((name) => path.basename(name, '.sql'))
    .toSorted();
}

/** What a migration does is in its file; what went wrong is in the error. */
const nothing = (): void => {};
const quiet = { debug: nothing, info: nothing, warn: nothing, error: nothing };
