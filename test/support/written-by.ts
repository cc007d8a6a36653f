/** What a piece of work wrote and said: rows by table, and messages on the bus. Counted, not guessed. */
import type pg from 'pg';
import type { BusConnection } from '../../src/bus/connection.ts';

export type Written = {
  /** Row versions that are there and were not, and rows that are gone, by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Messages of MESH by the first two words of their subject, requests for one's own inbox aside. */
  readonly messages: Readonly<Record<string, number>>;
};

export async function writtenBy(
  { pg, bus }: { readonly pg: pg.Client; readonly bus: BusConnection },
  work: () => Promise<unknown>,
): Promise<Written> {
  const messages: Record<string, number> = {};
  const subscription = bus.nats.subscribe('mesh.>', {
    callback(_error, message) {
      const kind = message.subject.split('.').slice(0, 2).join('.');
      messages[kind] = (messages[kind] ?? 0) + 1;
    },
  });
  const before = await countsOf(pg);
  const { rows: now } = await pg.query<{ next: string }>(
    'select pg_snapshot_xmax(pg_current_snapshot())::text as next',
  );
  await work();
  // Whatever was published before this answer has come.
  await bus.nats.flush();
  subscription.unsubscribe();
  const after = await countsOf(pg, now[0]?.next ?? '0');
  const rows: Record<string, number> = {};
  for (const [table, { count, fresh }] of after) {
    const gone = Math.max(0, (before.get(table)?.count ?? 0) - count);
    if (fresh + gone > 0) rows[table] = fresh + gone;
  }
  return { rows, messages };
}

async function countsOf(pg: pg.Client, since = '0'): Promise<ReadonlyMap<string, { count: number; fresh: number }>> {
  const { rows: tables } = await pg.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'mesh' and table_type = 'BASE TABLE' order by 1`,
  );
  const counts = new Map<string, { count: number; fresh: number }>();
  for (const { name } of tables) {
    const { rows } = await pg.query<{ count: number; fresh: number }>(
      `select count(*)::int as count, count(*) filter (where xmin::text::bigint >= $1)::int as fresh from mesh.${name}`,
      [since],
    );
    counts.set(name, rows[0] ?? { count: 0, fresh: 0 });
  }
  return counts;
}
