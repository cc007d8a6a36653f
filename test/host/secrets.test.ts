import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { z } from 'zod';
import { secretFile } from '../../src/host/apply/secret-forms.ts';
import { makeNode, processOf, type TestNode } from './node.ts';

const facts = { login: 'anvil.notes_a', host: '10.0.0.7', port: 20_000, database: 'anvil.notes' };
const bytes = (text: string) => new TextEncoder().encode(text);
const form = (...of: Parameters<typeof secretFile>) => Buffer.from(secretFile(...of)).toString('utf8');
const asUrl = (password: string, over: Partial<typeof facts> = {}) =>
  form('url', bytes(password), { ...facts, ...over });

const c42 = z
  .object({
    each: z.array(z.object({ password: z.string(), encoded: z.string() })),
    more: z.tuple([
      z.object({ user: z.string(), encoded: z.string() }),
      z.object({ db: z.string(), encoded: z.string() }),
      z.object({ host: z.string(), in_address: z.string() }),
    ]),
  })
  .parse(
    JSON.parse(readFileSync(new URL('../cases/C42-password-in-an-address/expected.json', import.meta.url), 'utf8')),
  );

describe('forms', () => {
  test.each(c42.each)('[S6] [C42] the password $password in an address', ({ password, encoded }) => {
    expect(asUrl(password)).toBe(`postgresql://anvil.notes_a:${encoded}@10.0.0.7:20000/anvil.notes`);
  });

  test('[S6] [C42] login, database and an IPv6 host in an address', () => {
    const [user, db, host] = c42.more;
    expect(asUrl('x', { login: user.user })).toContain(`//${user.encoded}:`);
    expect(asUrl('x', { database: db.db })).toMatch(new RegExp(`/${db.encoded}$`));
    expect(asUrl('x', { host: host.host })).toContain(`@${host.in_address}:20000/`);
  });

  test('[S6] an address reads back to what it was put together from', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1 });
    // A way through a path in any address, however it is spelled; no database is called so, since each has its consumer's name.
    const isNoStep = (name: string): boolean => name !== '.' && name !== '..';
    fc.assert(
      fc.property(text, text, text.filter(isNoStep), (login, password, database) => {
        const read = new URL(asUrl(password, { login, database }));
        expect([read.username, read.password, read.pathname.slice(1)].map(decodeURIComponent)).toEqual([
          login,
          password,
          database,
        ]);
        expect(read.host).toBe('10.0.0.7:20000');
      }),
    );
  });

  test('[S6] json holds login and password, and nothing else', () => {
    expect(JSON.parse(form('json', bytes('a"b\\'), facts))).toEqual({ login: 'anvil.notes_a', password: 'a"b\\' });
  });

  test('[S6] pgpass escapes what would end a field, and refuses what would end the line', () => {
    expect(form('pgpass', bytes('a:b\\c'), { ...facts, host: '::1' })).toBe(
      '\\:\\:1:20000:anvil.notes:anvil.notes_a:a\\:b\\\\c\n',
    );
    expect(() => form('pgpass', bytes('two\nlines'), facts)).toThrow(
      'the form pgpass cannot hold a value with a line break',
    );
  });

  test('[S6] password is the value alone, byte for byte', () => {
    fc.assert(fc.property(fc.uint8Array(), (value) => expect(secretFile('password', value, undefined)).toEqual(value)));
  });

  test('[S5] what a form cannot hold is said without a byte of the value', () => {
    for (const as of ['json', 'pgpass', 'url'] as const) {
      expect(() => secretFile(as, bytes('planted-value'), undefined)).toThrow(
        `the form ${as} needs to know whose credential it is`,
      );
      expect(() => secretFile(as, Uint8Array.of(0x70, 0xff, 0xfe), facts)).toThrow(
        `the form ${as} holds text, and the value is none`,
      );
    }
  });
});

describe('on the node', () => {
  let node: TestNode;
  beforeEach(async () => {
    node = await makeNode();
  });
  afterEach(() => node.remove());

  test('[D9] [S6] a secret is opened there alone, 0600, and put together with its facts', async () => {
    const secret = node.secret('hush', { path: '/etc/notes/db.json', form: 'json', facts });
    expect((await node.apply(secret)).failures).toEqual([]);
    expect(await node.read('/etc/notes/db.json')).toBe('{"login":"anvil.notes_a","password":"hush"}');
    expect((await stat(node.at('/etc/notes/db.json'))).mode & 0o777).toBe(0o600);
  });

  test('[D11] the same value sealed anew changes neither the file nor the process that reads it; another value does both', async () => {
    const declared = (value: string) => [
      node.secret(value, { path: '/etc/notes/db' }),
      processOf('web', 'exec sleep 1000', { restartOn: ['/etc/notes/db'] }),
    ];
    await node.apply(...declared('one'));
    const [ino, pid] = [(await stat(node.at('/etc/notes/db'))).ino, node.supervisor.pidOf('notes.web')];
    await node.apply(...declared('one'));
    expect([(await stat(node.at('/etc/notes/db'))).ino, node.supervisor.pidOf('notes.web')]).toEqual([ino, pid]);
    await node.apply(...declared('two'));
    expect(await node.read('/etc/notes/db')).toBe('two');
    expect(node.supervisor.pidOf('notes.web')).not.toBe(pid);
  });

  test('[S5] neither the value nor its digest is in an answer of the host', async () => {
    const secret = node.secret('planted-value', { path: '/run', form: 'url' });
    const answer = await node.apply(secret, node.secret('planted-value', { path: '/etc/notes/ok' }));
    expect(answer.failures).toEqual([
      { resource: secret.id, error: 'the form url needs to know whose credential it is, and that was not sent' },
    ]);
    expect(JSON.stringify(answer)).not.toContain('planted-value');
  });
});
