/** What a granter does when its server will not have a password, and while its server is away (C34). */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';

import { raiseForTests, type TestServers } from '../support/foundation.ts';
import { until } from '../support/until.ts';
import { raiseGate, type Gate } from './gate.ts';
import {
  ask,
  failure,
  grantDirectory,
  grantOf,
  logIn,
  startGranter,
  values,
  type GrantDirectory,
  type RunningGranter,
} from './granting.ts';
import { needsADigit } from './password-rule.ts';

let servers: TestServers;
let gate: Gate;
beforeAll(async () => {
  servers = await raiseForTests({ postgres: true });
  gate = await raiseGate(servers.foundation.postgres);
}, 60_000);
const running: RunningGranter[] = [];
const directories: GrantDirectory[] = [];
async function granting(): Promise<GrantDirectory & { readonly statements: readonly string[] }> {
  const grants = await grantDirectory();
  const statements: string[] = [];
  const rule = needsADigit(grants);
  running.push(
    startGranter(servers, grants, {
      port: gate.port,
      drainMs: 500,
      async beforeStatement(database, sql) {
        statements.push(sql);
        await rule(database, sql);
      },
    }),
  );
  directories.push(grants);
  return { ...grants, statements };
}
afterEach(async () => {
  gate.open();
  for (const granter of running.splice(0)) await granter.stop();
  for (const grants of directories.splice(0)) await grants.remove();
});
afterAll(async () => {
  await gate.end();
  await servers.close();
}, 60_000);

const of = (name: string, generation: number, password: string) => ({ grant: grantOf(name, generation), password });

test('[C34] a password that a rule of the server refuses is told as that, with the server’s reason; the login in use goes on', async () => {
  const grants = await granting();
  const [old, refused, other] = [of('n1.rule', 1, 'digit-1'), of('n1.rule', 2, 'letters'), of('n1.rule', 4, 'digit-2')];
  await grants.write([old]);
  await grants.state(old.grant, 'granted');
  await grants.write([old, refused]);
  expect(await grants.state(refused.grant, 'fault')).toMatchObject({
    valueRefused: true,
    fault: 'the server refuses the password of "n1.rule_b": password must contain a digit (22023)',
    faultSince: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  expect(await ask(servers, old, 'select 1')).toEqual([1]);
  expect(await failure(ask(servers, refused, 'select 1'))).toBe('28P01');
  await grants.write([old, other]);
  expect(await grants.state(other.grant, 'granted')).not.toHaveProperty('valueRefused');
  expect(await ask(servers, other, 'select 1')).toEqual([1]);
  // Nothing of the refused one is left where it could be taken for the login's.
  await grants.entry(refused.grant, ({ state }) => state === 'withdrawn', 'the refused one to be passed over');
});

test('[C34] what is no rule of the server’s is no refused value', async () => {
  const grants = await granting();
  const nul = of('n1.nul', 1, 'a\0b1');
  await grants.write([nul]);
  const entry = await grants.state(nul.grant, 'fault');
  expect(entry.fault).toContain('holds a NUL byte');
  expect(entry).not.toHaveProperty('valueRefused');
});

test('[C34] [S11] a value that goes on under a higher number is not set again, and whoever is in with it stays in', async () => {
  const grants = await granting();
  const [old, refused] = [of('n1.back', 1, 'digit-1'), of('n1.back', 2, 'letters')];
  await grants.write([old]);
  await grants.state(old.grant, 'granted');
  const open = await logIn(servers, old.grant.login, old.password, old.grant.database);
  await grants.entry(old.grant, ({ seen }) => seen === 1, 'the session to be seen');
  await grants.write([old, refused]);
  await grants.state(refused.grant, 'fault');
  const before = grants.statements.length;
  const again = of('n1.back', 3, 'digit-1');
  await grants.write([again]);
  expect(await grants.state(again.grant, 'granted')).toMatchObject({ seen: 1, sessionsEnded: 0 });
  await grants.state(old.grant, 'withdrawn');
  await grants.state(refused.grant, 'withdrawn');
  expect(grants.statements.slice(before).filter((sql) => /^alter role .* password '/.test(sql))).toEqual([]);
  expect(await values(open, 'select 1')).toEqual([1]);
  await open.end();
});

test('[C34] a server that is away is tried at growing pauses; the status says since when and why, and then it is the same value', async () => {
  const grants = await granting();
  await grants.write([]);
  await until(async () => (await grants.status()) !== undefined, { withinMs: 10_000, what: 'the granter to begin' });
  gate.close();
  const wanted = of('n1.away', 1, 'digit-1');
  await grants.write([wanted]);
  const from = gate.triedAt.length;
  await until(() => gate.triedAt.length - from >= 7, { withinMs: 30_000, what: 'seven tries' });
  const first = await grants.status();
  expect(first).toMatchObject({ fault: expect.stringMatching(/127\.0\.0\.1:\d+.*ECONNRESET/) });
  const pauses = gate.triedAt.slice(from).map((at, n, all) => at - (all[n - 1] ?? at));
  // From 100 ms to two seconds and no further: ten minutes are some three hundred tries, and back at once when it is over.
  const [, second = 0, third = 0, fourth = 0, fifth = 0] = pauses;
  for (const [shorter, longer] of [
    [second, third],
    [third, fourth],
    [fourth, fifth],
  ] as const)
    expect(longer).toBeGreaterThan(shorter * 1.4);
  expect(Math.max(...pauses)).toBeLessThan(4_000);
  const later = await grants.status();
  expect(later?.faultSince).toBe(first?.faultSince);
  expect(Date.parse(first?.faultSince ?? '')).toBeLessThan(Date.now() - 3_000);
  gate.open();
  await grants.state(wanted.grant, 'granted');
  expect(await ask(servers, wanted, 'select 1')).toEqual([1]);
  expect(await grants.status()).not.toHaveProperty('faultSince');
}, 60_000);
