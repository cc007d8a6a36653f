/**
 * The granter dies before each statement that changes anything, in every thing it does; whoever starts next ends where
 * it would have ended. To the server a granter that stops sending and closes is one that was killed.
 */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';

import { raiseForTests, type TestServers } from '../support/foundation.ts';
import { until } from '../support/until.ts';
import {
  ask,
  asSuperuser,
  failure,
  grantDirectory,
  grantOf,
  logIn,
  newPassword,
  startGranter,
  values,
  type GrantDirectory,
  type RunningGranter,
} from './granting.ts';

let servers: TestServers;

beforeAll(async () => {
  servers = await raiseForTests({ postgres: true });
});
const running: RunningGranter[] = [];
const start = (...asked: Parameters<typeof startGranter>): RunningGranter => {
  const granter = startGranter(...asked);
  running.push(granter);
  return granter;
};
afterEach(async () => {
  for (const granter of running.splice(0)) await granter.stop();
});
afterAll(async () => {
  await servers.close();
});

type Consumer = {
  readonly name: string;
  at(generation: number, login?: string): { grant: ReturnType<typeof grantOf>; password: string };
};

function newConsumer(name: string): Consumer {
  const passwords = new Map<number, string>();
  return {
    name,
    at(generation, login) {
      const password = passwords.get(generation) ?? newPassword();
      passwords.set(generation, password);
      return { grant: grantOf(name, generation, login === undefined ? {} : { login }), password };
    },
  };
}

const works = async (asked: ReturnType<Consumer['at']>): Promise<void> => {
  expect(await ask(servers, asked, 'select current_user')).toEqual([asked.grant.owner]);
};
const isRefused = async (asked: ReturnType<Consumer['at']>): Promise<void> => {
  expect(await failure(ask(servers, asked, 'select 1'))).toBe('28P01');
};
const isOnlyItsOwn = async (name: string, logins: readonly string[]): Promise<void> => {
  await asSuperuser(servers, async (client) => {
    expect(
      await values(client, 'select rolname from pg_roles where rolname like $1 order by 1', [`${name}\\_%`]),
    ).toEqual(logins);
    expect(
      await values(
        client,
        'select count(*)::int from pg_database d, aclexplode(d.datacl) a where d.datname = $1 and a.grantee = 0',
        [name],
      ),
    ).toEqual([0]);
  });
};

type Scenario = {
  readonly isFirst?: boolean;
  readonly prepare: (grants: GrantDirectory, consumer: Consumer) => Promise<void>;
  readonly change: (grants: GrantDirectory, consumer: Consumer) => Promise<void>;
  readonly settled: (grants: GrantDirectory, consumer: Consumer) => Promise<unknown>;
  readonly holds: (consumer: Consumer) => Promise<void>;
};

const login = (consumer: Consumer): string => `${consumer.name}_a`;

const scenarios: Readonly<Record<string, Scenario>> = {
  'a first grant': {
    isFirst: true,
    prepare: (grants) => grants.write([]),
    change: (grants, consumer) => grants.write([consumer.at(1)]),
    settled: (grants, consumer) => grants.state(consumer.at(1).grant, 'granted'),
    async holds(consumer) {
      await works(consumer.at(1));
      await isOnlyItsOwn(consumer.name, [login(consumer)]);
    },
  },
  'a second login': {
    async prepare(grants, consumer) {
      await grants.write([consumer.at(1)]);
      await grants.state(consumer.at(1).grant, 'granted');
    },
    change: (grants, consumer) => grants.write([consumer.at(1), consumer.at(2)]),
    settled: (grants, consumer) => grants.state(consumer.at(2).grant, 'granted'),
    async holds(consumer) {
      await works(consumer.at(1));
      await works(consumer.at(2));
    },
  },
  'a new password': {
    async prepare(grants, consumer) {
      await grants.write([consumer.at(1, login(consumer))]);
      await grants.state(consumer.at(1, login(consumer)).grant, 'granted');
    },
    change: (grants, consumer) => grants.write([consumer.at(2, login(consumer))]),
    settled: (grants, consumer) => grants.state(consumer.at(2, login(consumer)).grant, 'granted'),
    async holds(consumer) {
      await works(consumer.at(2, login(consumer)));
      await isRefused(consumer.at(1, login(consumer)));
    },
  },
  'a rotated login withdrawn': {
    async prepare(grants, consumer) {
      await grants.write([consumer.at(1), consumer.at(2)]);
      await grants.state(consumer.at(1).grant, 'granted');
      await grants.state(consumer.at(2).grant, 'granted');
      await ownSomething(consumer);
    },
    change: (grants, consumer) => grants.write([consumer.at(2)]),
    settled: (grants, consumer) => grants.state(consumer.at(1).grant, 'withdrawn'),
    async holds(consumer) {
      await works(consumer.at(2));
      await isRefused(consumer.at(1));
      await isOnlyItsOwn(consumer.name, [`${consumer.name}_b`]);
      expect(await ask(servers, consumer.at(2), 'select x from own.t')).toEqual([7]);
    },
  },
  'a consumer removed': {
    async prepare(grants, consumer) {
      await grants.write([consumer.at(1)]);
      await grants.state(consumer.at(1).grant, 'granted');
      await ownSomething(consumer);
      // An open session; it is ended, which the removal waits for.
      await logIn(servers, login(consumer), consumer.at(1).password, consumer.name);
    },
    change: (grants) => grants.write([]),
    settled: (grants, consumer) => grants.state(consumer.at(1).grant, 'withdrawn'),
    async holds(consumer) {
      await isRefused(consumer.at(1));
      await isOnlyItsOwn(consumer.name, []);
      await asSuperuser(
        servers,
        async (client) => expect(await values(client, 'select x from own.t')).toEqual([7]),
        consumer.name,
      );
      await asSuperuser(servers, async (client) =>
        expect(
          await values(
            client,
            'select count(*)::int from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
            [consumer.name],
          ),
        ).toEqual([0]),
      );
    },
  },
};

/** The login itself comes to own a table, so that it has to be cleared before it is dropped. */
async function ownSomething(consumer: Consumer): Promise<void> {
  const session = await logIn(servers, login(consumer), consumer.at(1).password, consumer.name);
  await session.query('drop schema if exists own cascade');
  await session.query(`create schema own; grant usage, create on schema own to "${login(consumer)}"`);
  await session.query('set role none');
  await session.query('create table own.t as select 7 as x');
  await session.end();
}

/**
 * Tells the statements that a cut before makes a difference at: those that change something by themselves, and the begin and
 * the commit of a transaction. A cut anywhere between these two is the server's to undo, as the one before the commit is.
 */
function cutPoints(): (sql: string) => boolean {
  let isInTransaction = false;
  return (sql) => {
    if (sql === 'begin' || sql === 'commit') {
      isInTransaction = sql === 'begin';
      return true;
    }
    return !isInTransaction && (!/^\s*select/.test(sql) || sql.includes('pg_terminate_backend'));
  };
}

test.each(Object.keys(scenarios))(
  '[S8] killed before each of its steps and started again, it ends where it would have: %s',
  async (title) => {
    const scenario = scenarios[title];
    if (scenario === undefined) throw new Error(title);
    let cuts = 0;
    for (let cutAt = 1, isThrough = false; !isThrough; cutAt += 1) {
      const grants = await grantDirectory();
      // The database of before is as good, but where the making of it is what is cut.
      const consumer = newConsumer(`n1.${title.replaceAll(/[^a-z]/g, '')}${scenario.isFirst === true ? cutAt : ''}`);
      const first = start(servers, grants);
      await scenario.prepare(grants, consumer);
      await first.stop();
      await scenario.change(grants, consumer);

      let step = 0;
      const isCutPoint = cutPoints();
      let isDead = false;
      const dying = start(servers, grants, {
        beforeStatement(_, sql) {
          if (isCutPoint(sql)) step += 1;
          if (step >= cutAt) isDead = true;
          if (isDead) throw new Error('killed');
        },
      });
      const done = scenario.settled(grants, consumer).then(
        () => (isThrough = !isDead),
        () => undefined,
      );
      await until(() => isDead || isThrough, { withinMs: 20_000, what: `the cut at ${cutAt} or the end` });
      await dying.stop();

      const next = start(servers, grants);
      await scenario.settled(grants, consumer);
      await done;
      await scenario.holds(consumer);
      await grants.write([]);
      await until(async () => (await grants.status())?.entries.every(({ state }) => state === 'withdrawn') === true, {
        withinMs: 20_000,
        what: 'all withdrawn',
      });
      await next.stop();
      await grants.remove();
      // Thousands of files that nobody looks at any more would be slow to remove at the end.
      if (scenario.isFirst === true)
        await asSuperuser(servers, (client) => client.query(`drop database "${consumer.name}"`));
      if (!isThrough) cuts += 1;
    }
    expect(cuts).toBeGreaterThanOrEqual(4);
  },
  180_000,
);
