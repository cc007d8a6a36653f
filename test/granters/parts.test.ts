import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { createAttention } from '../../src/granters/postgres/observe.ts';
import { namesFault } from '../../src/granters/postgres/role-names.ts';
import { createRetries } from '../../src/granters/postgres/retries.ts';
import { isVerifierOf, makeVerifier } from '../../src/granters/postgres/scram.ts';
import { loginComment, readLoginComment } from '../../src/granters/postgres/seen-logins.ts';
import { raiseForTests, type TestServers } from '../support/foundation.ts';
import { asSuperuser, failure, logIn } from './granting.ts';

let servers: TestServers;
beforeAll(async () => {
  servers = await raiseForTests({ postgres: true });
});
afterAll(async () => {
  await servers.close();
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
