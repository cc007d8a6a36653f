import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { granterStatus, type GranterStatus } from '../../src/domain/report/report.ts';
import { lookAt } from '../../src/granters/postgres/directory.ts';
import { createAttention } from '../../src/granters/postgres/observe.ts';
import { namesFault } from '../../src/granters/postgres/role-names.ts';
import { createRetries } from '../../src/granters/postgres/retries.ts';
import { isVerifierOf, makeVerifier } from '../../src/granters/postgres/scram.ts';
import { loginComment, readLoginComment } from '../../src/granters/postgres/seen-logins.ts';
import { statusFile } from '../../src/granters/postgres/status-file.ts';
import { raiseForTests, type TestServers } from '../support/foundation.ts';
import { until } from '../support/until.ts';
import { asSuperuser, failure, logIn } from './granting.ts';

let servers: TestServers;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'mesh-granter-'));
  servers = await raiseForTests({ postgres: true });
});
afterAll(async () => {
  await servers.close();
  await rm(folder, { recursive: true, force: true });
});

test('[S8] the server takes a verifier as it is, and lets in who has the password, in any alphabet', async () => {
  const passwords = [
    'plain',
    ' spaces in and around ',
    'quote\'s "and" $$',
    'pässwörd',
    '密码',
    'Ⅸ ﬁne',
    'x'.repeat(900),
  ];
  for (const [index, password] of passwords.entries()) {
    const verifier = makeVerifier(Buffer.from(password));
    await asSuperuser(servers, (client) => client.query(`create role scram_${index} login password '${verifier}'`));
    const client = await logIn(servers, `scram_${index}`, password, 'postgres');
    await client.end();
    expect(await failure(logIn(servers, `scram_${index}`, `${password}.`, 'postgres'))).toBe('28P01');
  }
});

test('[S8] a verifier is the one of its password and of no other, never twice the same, and holds no part of it', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 64 }),
      fc.uint8Array({ minLength: 1, maxLength: 64 }),
      (one, other) => {
        const verifier = makeVerifier(one);
        expect(isVerifierOf(verifier, one)).toBe(true);
        expect(makeVerifier(one)).not.toBe(verifier);
        if (
          !Buffer.from(one).equals(Buffer.from(other)) &&
          [...one, ...other].every((byte) => byte >= 0x20 && byte < 0x7f)
        ) {
          expect(isVerifierOf(verifier, other)).toBe(false);
        }
      },
    ),
    { numRuns: 50 },
  );
  for (const kept of [
    '',
    'md5d41d8cd98f00b204e9800998ecf8427e',
    'SCRAM-SHA-256$4096:',
    'SCRAM-SHA-256$0:AAAA$A:A',
    'pw',
  ]) {
    expect(isVerifierOf(kept, Buffer.from('pw'))).toBe(false);
  }
});

test('[S9] a name is usable only when the server keeps all of it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 80 }), (name) => {
      const fault = namesFault({ owner: name, login: 'login', database: 'database' });
      const fits = Buffer.byteLength(name) <= 63 && !name.includes('\u0000');
      const isFree = !name.startsWith('pg_') && !['public', 'none', 'login'].includes(name);
      expect(fault === undefined).toBe(fits && isFree);
    }),
  );
  for (const owner of ['', 'pg_monitor', 'public', 'none', 'a\u0000b', 'x'.repeat(64), 'login']) {
    expect(namesFault({ owner, login: 'login', database: 'database' })).toBeDefined();
  }
});

test('[S9] a login’s comment tells its full name and generation, whatever the name', () => {
  fc.assert(
    fc.property(fc.string(), fc.integer({ min: 1, max: 999_999_999 }), (fullName, generation) => {
      expect(readLoginComment(loginComment({ fullName, generation }))).toEqual({ fullName, generation });
    }),
  );
  expect(readLoginComment('n1.app')).toBeUndefined();
});

test('[S8] a database is entered when its counter moved, and not for our own visit; what is awaited comes first', () => {
  const attention = createAttention();
  const of = (database: string, sessions: number, isAwaited = false) => ({
    database,
    sessions: String(sessions),
    isAwaited,
  });
  expect(attention.choose([of('a', 3), of('b', 5), of('c', 1, true)])).toEqual(['c', 'a']);
  attention.entered('a', '3', 10);
  attention.entered('c', '1', 11);
  expect(attention.choose([of('a', 4), of('b', 5), of('c', 2, true)])).toEqual(['b']);
  attention.entered('b', '5', 12);
  expect(attention.choose([of('a', 4), of('b', 6), of('c', 2, true)])).toEqual([]);
  // Somebody came together with us, and the counter of a restarted server begins anew.
  expect(attention.choose([of('a', 5), of('b', 0), of('c', 2, true)])).toEqual(['a']);
});

test('[S8] what failed is tried later each time, and at once when it is about something else', () => {
  let nowMs = 0;
  const retries = createRetries(() => nowMs);
  expect(retries.mayTry('x', 'one')).toBe(true);
  const waits: number[] = [];
  for (let count = 0; count < 9; count += 1) {
    retries.failed('x', 'one');
    const from = nowMs;
    while (!retries.mayTry('x', 'one')) nowMs += 100;
    waits.push(nowMs - from);
  }
  expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  retries.failed('x', 'one');
  expect(retries.mayTry('x', 'two')).toBe(true);
  expect(retries.mayTry('y', 'one')).toBe(true);
  retries.succeeded('x');
  expect(retries.mayTry('x', 'one')).toBe(true);
});

test('[S8] a credential is told by its digest, of a file that was read before and one written in place too', async () => {
  const file = path.join(folder, 'n1.app.1');
  const directory = lookAt(folder, () => undefined);
  expect(directory.digest('n1.app.1')).toBeUndefined();
  expect(directory.read('n1.app.1')).toBeUndefined();
  await writeFile(file, 'first-password');
  const first = directory.digest('n1.app.1');
  // Once its times are old enough to be trusted it is not read again, but for a change.
  const changed = (await stat(file)).ctimeMs;
  await until(() => Date.now() - changed > 2_100, { withinMs: 5_000, what: 'the file to be old' });
  expect(directory.digest('n1.app.1')).toBe(first);
  expect(directory.digest('n1.app.1')).toBe(first);
  await writeFile(file, 'other-password');
  expect(directory.digest('n1.app.1')).not.toBe(first);
  await writeFile(file, 'first-password\n');
  // A line's end is part of it, as it is for the consumer (C43).
  expect(directory.digest('n1.app.1')).not.toBe(first);
  expect(directory.read('n1.app.1')?.password.toString()).toBe('first-password\n');
  directory.close();
});

test('[S8] counts and times alone are written once a second; a state, a fault and the first use at once', async () => {
  const file = path.join(folder, 'grants.status.json');
  const written = async (): Promise<GranterStatus> => granterStatus.parse(JSON.parse(await readFile(file, 'utf8')));
  const entry = { node: 'n1', module: 'app', generation: 1, login: 'n1.app_a', sessionsEnded: 0 };
  const status = (seen: number, more: object = {}): GranterStatus =>
    granterStatus.parse({
      schema: 'mesh.granter-status',
      version: 1,
      provision: 'postgres-database',
      entries: [{ ...entry, state: 'granted', seen, lastSeenAt: `2030-01-01T00:00:00.${seen}00Z`, ...more }],
    });
  const kept = statusFile(file);
  const after = async (asked: GranterStatus, nowMs: number): Promise<number | undefined> => {
    kept.write(asked, nowMs);
    return (await written()).entries[0]?.seen;
  };
  expect(await after(status(0), 0)).toBe(0);
  expect(await after(status(1), 10)).toBe(1);
  expect(await after(status(2), 500)).toBe(1);
  expect(await after(status(3), 1_009)).toBe(1);
  expect(await after(status(3), 1_010)).toBe(3);
  expect(await after(status(4, { state: 'draining' }), 1_020)).toBe(4);
  expect(await after(status(5, { state: 'fault', fault: 'x' }), 1_030)).toBe(5);
  expect(await after(status(6, { state: 'fault', fault: 'y' }), 1_040)).toBe(6);
  expect(statusFile(file).before?.entries[0]?.seen).toBe(6);
});
