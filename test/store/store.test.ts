import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { connectionOf, type StoreAddress } from '../../src/store/address.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import type { Refusal } from '../../src/domain/refusal/refusal.ts';
import { migratedDatabases } from '../support/database.ts';
import { raiseForTests, type TestServers } from '../support/foundation.ts';
import { until } from '../support/until.ts';

let servers: TestServers;
let databases: Awaited<ReturnType<typeof migratedDatabases>>;
let address: StoreAddress;
let store: Store;
beforeAll(async () => {
  servers = await raiseForTests({ postgres: true });
  databases = await migratedDatabases(servers);
});
afterAll(async () => {
  await store.close();
  await servers.close();
});
beforeEach(async () => {
  await store?.close();
  address = await databases.create();
  store = openStore(address);
});

test('events are written in the transaction of what they tell of: rolled back, there is no event', async () => {
  await store.write('ada', async (tx) => tx.event({ kind: 'kept', about: 'alpha' }));
  await expect(
    store.write('ada', async (tx) => {
      await tx.event({ kind: 'lost', about: 'alpha' });
      throw new Error('on purpose');
    }),
  ).rejects.toThrow('on purpose');
  const refusal: Refusal = { kind: 'nothing-to-do', what: 'a', why: 'b', next: [] };
  const answer = await store.write('ada', async (tx): Promise<Refusal> => {
    await tx.event({ kind: 'refused', about: 'alpha' });
    return refusal;
  });
  expect(answer).toEqual(refusal);
  const events = await store.read((view) => view.eventRows({ limit: 10 }));
  expect(events.map(({ kind, person, about, detail }) => ({ kind, person, about, detail }))).toEqual([
    { kind: 'kept', person: 'ada', about: 'alpha', detail: {} },
  ]);
});

test('a look is one snapshot: what another commits meanwhile is not half seen, nor seen at all', async () => {
  const seen = await store.read(async (view) => {
    const before = await view.eventRows({ limit: 10 });
    await store.write('ada', async (tx) =>
      tx.events([
        { kind: 'a', about: 'x' },
        { kind: 'b', about: 'x' },
      ]),
    );
    const after = await view.eventRows({ limit: 10 });
    return { before, after };
  });
  expect(seen).toEqual({ before: [], after: [] });
  expect(await store.read((view) => view.eventRows({ limit: 10 }))).toHaveLength(2);
});

test('[D4] numbers rise in the order of the snapshots, however many ask at once', async () => {
  // While one writes event after event, others look: a higher number never saw fewer of them.
  const writer = openStore(address);
  const stop = new AbortController();
  const writing = (async () => {
    while (!stop.signal.aborted) await writer.write('ada', async (tx) => tx.event({ kind: 'tick', about: 'x' }));
  })();
  const look = () => store.readNumbered(async (view) => (await view.eventRows({ limit: 100_000 })).length);
  const ticks = new Set<number>();
  const lanes = Array.from({ length: 8 }, async () => {
    const looks = [];
    while (looks.length < 8 || ticks.size <= 8) {
      const one = await look();
      looks.push(one);
      ticks.add(one.seen);
    }
    return looks;
  });
  const looks = (await Promise.all(lanes)).flat().toSorted((a, b) => a.number - b.number);
  stop.abort();
  await writing;
  await writer.close();
  const seen = looks.map((one) => one.seen);
  expect(new Set(looks.map(({ number }) => number)).size).toBe(looks.length);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
});

test('[D4] a look that fails gives its lock back: the next number can be taken', async () => {
  await expect(
    store.readNumbered(async () => {
      throw new Error('on purpose');
    }),
  ).rejects.toThrow('on purpose');
  expect((await store.readNumbered(async () => undefined)).number).toBe(2);
});

test('a server that does not answer in time ends the transaction and no other, and closing waits for none', async () => {
  const bounded = openStore({ ...address, within: { connectMs: 5_000, answerMs: 300 } });
  const stopped = openStore({ ...address, within: { connectMs: 5_000, answerMs: 60_000 } });
  const tell = (by: Store, kind: string) => by.write('ada', async (tx) => tx.event({ kind, about: 'alpha' }));
  const client = new pg.Client(connectionOf(address));
  await client.connect();
  await client.query('begin; lock table mesh.events in access exclusive mode');
  await expect(tell(bounded, 'late')).rejects.toThrow('the store went away in the middle of a transaction');
  const abandoned = tell(stopped, 'abandoned').then(
    () => 'written',
    () => 'ended',
  );
  // The server goes on with what nobody waits for any more.
  await until(async () => (await waitingForLocks(client)) === 2, { withinMs: 10_000, what: 'both to wait' });
  await stopped.close();
  expect(await abandoned).toBe('ended');
  await client.query('commit');
  await client.end();
  await tell(bounded, 'after');
  await bounded.close();
  expect((await store.read((view) => view.eventRows({ limit: 10 }))).map(({ kind }) => kind)).toEqual(['after']);
});

async function waitingForLocks(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ waiting: number }>(
    'select count(*)::int as waiting from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())',
  );
  return rows[0]?.waiting ?? 0;
}

test('a change that another transaction was in the way of is run again from the start', async () => {
  let runs = 0;
  const count = async (name: string): Promise<void> =>
    store.write(
      'ada',
      async (tx) => {
        runs += 1;
        const seen = (await tx.eventRows({ limit: 100 })).length;
        await tx.event({ kind: `saw-${seen}`, about: name });
      },
      'serializable',
    );
  await Promise.all([count('a'), count('b'), count('c'), count('d')]);
  const events = await store.read((view) => view.eventRows({ limit: 10 }));
  // As if they had run one after the other: each saw a different number of events before it.
  expect(events.map(({ kind }) => kind).toSorted()).toEqual(['saw-0', 'saw-1', 'saw-2', 'saw-3']);
  expect(runs).toBeGreaterThan(4);
});

test('a connection that is cut while it is lent fails that change alone', async () => {
  const cut = store.write('ada', async (tx) => {
    await tx.event({ kind: 'cut', about: 'x' });
    const superuser = new pg.Client(await servers.superuser());
    await superuser.connect();
    await superuser.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and state = 'idle in transaction'`,
      [address.database],
    );
    await superuser.end();
    await tx.event({ kind: 'cut-again', about: 'x' });
  });
  await expect(cut).rejects.toThrow(/the store went away/);
  await store.write('ada', async (tx) => tx.event({ kind: 'after', about: 'x' }));
  expect((await store.read((view) => view.eventRows({ limit: 10 }))).map(({ kind }) => kind)).toEqual(['after']);
});
