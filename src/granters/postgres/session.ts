/**
 * One connection of the superuser's. The granter works over one at a time: grants made at once lose each other's
 * rights ("tuple concurrently updated", C39).
 */
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { z } from 'zod';

/** Where the server is and who the granter is there. The password stays in its file and is read anew for each login (S8). */
export type Server = {
  readonly host: string;
  readonly port: number;
  readonly superuser: string;
  readonly passwordFile: string;
  /** Called before each statement, with the database it goes to; throwing stops there. Tests cut the work in two with it. */
  readonly beforeStatement?: ((database: string, sql: string) => void | Promise<void>) | undefined;
};

export type Session = {
  readonly database: string;
  /** False once the server ended it or the network did. */
  isOpen(): boolean;
  run(sql: string): Promise<void>;
  rows<Row>(row: z.ZodType<Row>, sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** All of it or nothing of it. */
  transaction(statements: readonly string[]): Promise<void>;
  close(): Promise<void>;
};

// A consumer owns its database and may set defaults for it (a search path, a role, a time limit, read-only) or leave
// functions under the names of the server's own: what comes with the connection outranks all of these.
const settings = [
  'search_path=pg_catalog',
  'role=none',
  'event_triggers=off',
  'default_transaction_read_only=off',
  'default_transaction_isolation=read\\ committed',
  'statement_timeout=60000',
  'lock_timeout=3000',
  'idle_in_transaction_session_timeout=60000',
  'synchronous_commit=on',
  'datestyle=ISO',
  'timezone=UTC',
  // A granter that lost its network must not look alive for two hours.
  'tcp_keepalives_idle=20',
  'tcp_keepalives_interval=5',
  'tcp_keepalives_count=3',
];

/**
 * Logs in to one database as the superuser, with settings that nothing in that database can change. `name` is
 * how the server's list of sessions shows it.
 * @throws pg's error (with SQLSTATE) when the server refuses, a system error when it cannot be reached.
 */
export async function openSession(server: Server, database: string, name = 'mesh provide postgres'): Promise<Session> {
  const client = new pg.Client({
    host: server.host,
    port: server.port,
    user: server.superuser,
    database,
    password: async () => withoutLastNewline(await readFile(server.passwordFile, 'utf8')),
    application_name: name,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    options: settings.map((setting) => `-c ${setting}`).join(' '),
  });
  let open = true;
  client.on('error', () => (open = false));
  client.on('end', () => (open = false));
  try {
    await client.connect();
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  const run = async (sql: string): Promise<void> => {
    await server.beforeStatement?.(database, sql);
    await client.query(sql);
  };
  return {
    database,
    isOpen: () => open,
    run,
    async rows(row, sql, values = []) {
      await server.beforeStatement?.(database, sql);
      const answer = await client.query<Record<string, unknown>>(sql, [...values]);
      return z.array(row).parse(answer.rows);
    },
    async transaction(statements) {
      await run('begin');
      try {
        for (const statement of statements) await run(statement);
        await run('commit');
      } catch (error) {
        // The first error is the one to tell; where this fails too the session is over, and the server undoes it.
        await client.query('rollback').catch(() => undefined);
        throw error;
      }
    },
    async close() {
      open = false;
      // It may be gone already.
      await client.end().catch(() => undefined);
    },
  };
}

/** Runs `use` in a session of its own in another database, and ends that session whatever happens. */
export async function inDatabase<T>(
  server: Server,
  database: string,
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const session = await openSession(server, database);
  try {
    return await use(session);
  } finally {
    await session.close();
  }
}

/** The SQLSTATE or system code of an error; undefined when it has none. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** The name, quoted for SQL whatever stands in it (C40). */
export const identifier = (name: string): string => pg.escapeIdentifier(name);
/** The text, quoted for SQL whatever stands in it. */
export const literal = (text: string): string => pg.escapeLiteral(text);

const withoutLastNewline = (text: string): string => text.replace(/\r?\n$/, '');
