/** A1 with the real granter on a real PostgreSQL: how an act sees that a consumer moved, and what it does when one does not. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type pg from 'pg';

import { pushId, rotationId } from '../../src/domain/act/act.ts';
import { rotationResult } from '../../src/domain/act/act.ts';
import { raiseActingMesh, type ActingMesh } from '../acts/acting-mesh.ts';
import { addAll, consumerModule, databaseModule, place } from '../acts/catalogue.ts';
import type { PlayedNode } from '../acts/played-node.ts';
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { moduleName, nodeName, provisionName } from '../../src/domain/words/names.ts';
import { unassign } from '../../src/operations/intent/unassign.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { until } from '../support/until.ts';
import {
  endingOf,
  failure,
  grantDirectory,
  logIn,
  startGranter,
  values,
  type GrantDirectory,
  type RunningGranter,
} from './granting.ts';
import { grantAsTold, holdAsTold, type Held } from './granting-node.ts';

const drainMs = 2_000;
const many = Array.from({ length: 50 }, (_, n) => `reader-${n + 1}`);
const provision = provisionName.parse('postgres-database');

let mesh: ActingMesh;
let alpha: PlayedNode;
let beta: PlayedNode;
let grants: GrantDirectory;
let granter: RunningGranter;
let granting: ReturnType<typeof grantAsTold>;
let holding: ReturnType<typeof holdAsTold>;

beforeAll(async () => {
  mesh = await raiseActingMesh();
  await mesh.startController();
  alpha = await mesh.join('alpha');
  beta = await mesh.join('beta');
  const [provides] = databaseModule.provides;
  await addAll(mesh.store, [
    { ...databaseModule, provides: [{ ...provides, drain: `${drainMs / 1_000}s` }] },
    consumerModule('ledger', 'password'),
    ...['notes', ...many].map((module) => consumerModule(module, 'json')),
  ]);
  await place(mesh.store, alpha.node, 'postgres');
  grants = await grantDirectory();
  granter = startGranter(mesh, grants);
  granting = grantAsTold(alpha, grants);
  holding = holdAsTold(beta);
}, 120_000);
afterAll(async () => {
  await granting.stop();
  await holding.stop();
  await granter.stop();
  await grants.remove();
  await mesh.close();
}, 120_000);
const pair = (module: string) => ({
  provision,
  providerNode: alpha.node,
  providerModule: moduleName.parse('postgres'),
  consumerNode: nodeName.parse('beta'),
  consumerModule: moduleName.parse(module),
});
async function push(): Promise<void> {
  await (await mesh.start('pushNodes', pushId(undefined, sha256Hex), { person: 'ada' })).result();
}
const rotate = (module: string, more: object = {}) => {
  const selection = { of: 'pairs' as const, pairs: [pair(module)] };
  return mesh.start('rotateCredential', rotationId(selection, sha256Hex), { selection, person: 'ada', ...more });
};
const enter = ({ login, password, database }: Held): Promise<pg.Client> => logIn(mesh, login, password, database);
async function waitsFor(act: string, words: RegExp): Promise<void> {
  await until(
    async () => {
      const [row] = await mesh.ask(`select detail->'waitsFor' as waits from mesh.acts where act = '${act}'`);
      return Array.isArray(row?.['waits']) && row['waits'].some((one) => words.test(String(one)));
    },
    { withinMs: 20_000, what: `the act to wait for ${words.source}` },
  );
}
/** A consumer that is there, granted and connected once. */
async function assigned(module: string): Promise<Held> {
  await place(mesh.store, beta.node, module);
  await push();
  await until(
    async () => {
      const status = await grants.status();
      return status?.entries.some((entry) => entry.module === module && entry.state === 'granted') ?? false;
    },
    { withinMs: 20_000, what: `${module} to be granted` },
  );
  return holding.of(module);
}
async function gone(module: string): Promise<void> {
  const answer = await unassign(mesh.store, 'ada', { node: beta.node, module: moduleName.parse(module) });
  if (isRefusal(answer)) throw new Error(answer.what);
}

describe('a rotation with the real granter', () => {
  test('[S11] [C33] a consumer that connects for 5 ms once a minute is seen: that once is enough', async () => {
    const old = await assigned('notes');
    const handle = await rotate('notes');
    await waitsFor(handle.firstExecutionRunId, /notes@beta to connect/);
    const fresh = holding.of('notes');
    expect(fresh.login).not.toBe(old.login);
    // Both work meanwhile, for as long as nobody came.
    await (await enter(old)).end();
    const client = await enter(fresh);
    const cameAt = performance.now();
    await client.end();
    // Less than any look at the list of sessions would find.
    expect(performance.now() - cameAt).toBeLessThan(100);
    expect(rotationResult.parse(await handle.result())).toMatchObject({
      overlapping: 1,
      windowMs: 0,
      sessionsEnded: 0,
      cutOff: [],
    });
    expect(await failure(enter(old))).toBe('28P01');
    expect(await failure((await enter(fresh)).end())).toBeUndefined();
  });

  test('[S11] [C37] a pool that never closes goes on until the grace is over, and what is ended then is counted', async () => {
    const pool = [await enter(holding.of('notes')), await enter(holding.of('notes')), await enter(holding.of('notes'))];
    const handle = await rotate('notes');
    await waitsFor(handle.firstExecutionRunId, /notes@beta to connect/);
    const moved = await enter(holding.of('notes'));
    await waitsFor(handle.firstExecutionRunId, /alpha to end the old postgres-database login of notes@beta/);
    const drainingFrom = performance.now();
    for (const client of pool) expect(await values(client, 'select 1')).toEqual([1]);
    // One of them leaves by itself, and is nobody's loss.
    await pool.pop()?.end();
    expect(rotationResult.parse(await handle.result())).toMatchObject({ sessionsEnded: 2, cutOff: [] });
    expect(performance.now() - drainingFrom).toBeGreaterThan(drainMs / 2);
    for (const client of pool) expect(await endingOf(client)).toBe('57P01');
    expect(await values(moved, 'select 1')).toEqual([1]);
    await moved.end();
  });

  test('[S11] a limit that passes: the old one is withdrawn, and who was cut off is counted by name', async () => {
    const old = holding.of('notes');
    const open = await enter(old);
    const handle = await rotate('notes', { limitMs: 1_000 });
    expect(rotationResult.parse(await handle.result())).toMatchObject({
      committed: true,
      sessionsEnded: 1,
      cutOff: ['alpha/postgres-database/beta/notes'],
    });
    expect(await endingOf(open)).toBe('57P01');
    expect(await failure(enter(old))).toBe('28P01');
    // It was told, and may come when it likes.
    await (await enter(holding.of('notes'))).end();
  });

  test('[A1] [M14] a consumer that is unassigned during its rotation is not waited for: the act ends, and nothing stays locked', async () => {
    const old = holding.of('notes');
    const handle = await rotate('notes');
    await waitsFor(handle.firstExecutionRunId, /notes@beta to connect/);
    const fresh = holding.of('notes');
    await gone('notes');
    expect(rotationResult.parse(await handle.result())).toMatchObject({ committed: true, cutOff: [] });
    expect(await mesh.ask('select * from mesh.credential_locks')).toEqual([]);
    await push();
    for (const held of [old, fresh]) {
      await until(async () => (await failure(enter(held))) === '28P01', {
        withinMs: 10_000,
        what: `${held.login} to be refused`,
      });
    }
  });

  test('[A1] [S11] one of the password form that is unassigned before its new one is granted leaves no window of years', async () => {
    await place(mesh.store, beta.node, 'ledger');
    await push();
    await granter.stop();
    try {
      const handle = await rotate('ledger');
      await waitsFor(handle.firstExecutionRunId, /alpha to grant postgres-database to ledger@beta/);
      await gone('ledger');
      expect(rotationResult.parse(await handle.result())).toMatchObject({
        committed: true,
        overlapping: 0,
        windowMs: 0,
      });
    } finally {
      granter = startGranter(mesh, grants);
    }
  });

  test('[S11] [C33] all 50 credentials of a provider in one act: no login of a sample fails, whoever logs in all the time', async () => {
    for (const module of many) await place(mesh.store, beta.node, module);
    await push();
    await until(
      async () => {
        const entries = (await grants.status())?.entries ?? [];
        return many.every((module) => entries.some((entry) => entry.module === module && entry.state === 'granted'));
      },
      { withinMs: 90_000, what: 'fifty to be granted' },
    );
    const before = many.map((module) => holding.of(module));
    const failures: string[] = [];
    let [logins, isOver] = [0, false];
    const sample = async (from: number): Promise<void> => {
      for (let n = from; !isOver; n += 2) {
        // The file is read anew before each login, as a program would that starts just now.
        const held = holding.of(many[n % many.length] ?? '');
        const failed = await failure(enter(held).then((client) => client.end()));
        logins += 1;
        if (failed !== undefined) failures.push(`${held.login} ${failed}`);
      }
    };
    const samples = [sample(0), sample(1)];
    const selection = { of: 'provider' as const, node: alpha.node, provision };
    const handle = await mesh.start('rotateCredential', rotationId(selection, sha256Hex), { selection, person: 'ada' });
    const result = rotationResult.parse(
      await handle.result().finally(() => {
        isOver = true;
      }),
    );
    await Promise.all(samples);
    expect(result).toMatchObject({ credentials: 50, overlapping: 50, windowMs: 0, sessionsEnded: 0, cutOff: [] });
    expect(failures).toEqual([]);
    expect(logins).toBeGreaterThan(100);
    const [one, another] = [before[0], before[49]];
    for (const held of [one, another]) if (held !== undefined) expect(await failure(enter(held))).toBe('28P01');
    expect(many.filter((module, n) => holding.of(module).login === before[n]?.login)).toEqual([]);
  }, 180_000);
});
