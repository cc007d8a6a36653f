/** Transactions over a pool: what is committed, what is rolled back, and what is run again. */
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { isRefusal } from '../domain/refusal/refusal.ts';
import { queryOf, type Query } from './query.ts';

/** Another transaction was in the way, and this one changed nothing: everything is read again (M22). */
const raced = new Set(['40001', '40P01', '23505']);
const attempts = 12;

/** Runs `work` between `begin` and commit; rolls back when it throws or answers a Refusal. */
export async function transaction<T>(pool: pg.Pool, begin: string, work: (query: Query) => Promise<T>): Promise<T> {
  return withClient(pool, async (client) => {
    // Not waited for: the first query goes with it. It can only fail with its connection, and then everything after it does.
    const begun = client.query(begin);
    begun.catch(() => {});
    try {
      const answer = await work(queryOf(client));
      await begun;
      await client.query(isRefusal(answer) ? 'rollback' : 'commit');
      return answer;
    } catch (error) {
      await client.query('rollback').catch(() => {
        throw new Error('the store went away in the middle of a transaction', { cause: error });
      });
      throw error;
    }
  });
}

/**
 * One repeatable-read snapshot, in which nothing is written. Its end is sent and not waited for: there is nothing in it that could
 * fail but the connection, and whoever is lent that next is told so.
 */
export async function snapshot<T>(pool: pg.Pool, look: (query: Query) => Promise<T>): Promise<T> {
  return withClient(pool, async (client) => {
    const begun = client.query('begin isolation level repeatable read, read only');
    begun.catch(() => {});
    try {
      const answer = await look(queryOf(client));
      await begun;
      return answer;
    } finally {
      client.query('commit').catch(() => {});
    }
  });
}

/** Runs `change` again, from the start, as long as another transaction is in its way; answers its own fault at once. */
export async function untilUndisturbed<T>(change: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await change();
    } catch (error) {
      if (!isRace(error)) throw error;
      if (attempt === attempts)
        throw new Error(`other transactions were in the way ${attempts} times`, { cause: error });
      // Two that disturbed each other start again apart.
      await pause(Math.random() * 10 * attempt);
    }
  }
}

/**
 * One repeatable-read snapshot with a number of its own. The lock is held from before the snapshot until the number is taken, so
 * that numbers rise in the order of the snapshots: of two, the higher number never saw the older world (D4).
 */
export async function numberedSnapshot<T>(
  pool: pg.Pool,
  look: (query: Query) => Promise<T>,
): Promise<{ readonly number: number; readonly seen: T }> {
  return withClient(pool, async (client) => {
    try {
      // Sent in a row with what is looked at, and answered in a row: each waits for the one before, and the first for the lock.
      const numbering = Promise.all([
        client.query('select pg_advisory_lock($1)', [numberLock]),
        client.query('begin isolation level repeatable read'),
        client.query<{ number: string }>(`select nextval('mesh.declaration_number') as number`),
        client.query('select pg_advisory_unlock($1)', [numberLock]),
        client.query('set transaction read only'),
      ]);
      numbering.catch(() => {});
      const seen = await look(queryOf(client));
      // Before anything that was seen is believed: it was under this number, or it was not at all.
      const [, , { rows }] = await numbering;
      client.query('commit').catch(() => {});
      return { number: Number(rows[0]?.number), seen };
    } catch (cause) {
      // A fault of another kind, with which the connection ends, and with that the lock and the transaction, wherever it was.
      if (!(cause instanceof pg.DatabaseError)) throw cause;
      throw new Error('no numbered snapshot could be read', { cause });
    }
  });
}
/** Any number that nothing else in this database locks. */
const numberLock = 6_374_001;

/** Lends a client. One that a fault went through is not lent again: whatever it held or had begun ends with its connection. */
async function withClient<T>(pool: pg.Pool, use: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let faulty: Error | undefined;
  // A connection that breaks also fails the query that runs on it, and that is where it is dealt with.
  const broke = (error: Error): void => {
    faulty = error;
  };
  client.on('error', broke);
  try {
    return await use(client);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) faulty = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.off('error', broke);
    client.release(faulty);
  }
}

function isRace(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code !== undefined && raced.has(error.code);
}
