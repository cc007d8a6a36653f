/** What a person may bring as a secret arrives byte for byte (C43), and shows in no error's words (C44). */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { z } from 'zod';

import { errorChain } from '../../src/domain/words/error-chain.ts';
import { freePorts } from '../../src/foundation/ports.ts';
import { makeSealingKey, open, seal } from '../../src/sealing/box.ts';
import { Plaintext } from '../../src/sealing/plaintext.ts';
import {
  failure,
  grantDirectory,
  grantOf,
  logIn,
  startGranter,
  type GrantDirectory,
  type RunningGranter,
} from '../granters/granting.ts';
import { makeNode, type TestNode } from '../host/node.ts';
import { raiseForTests, type TestServers } from '../support/foundation.ts';
import { until } from '../support/until.ts';
import { finderOf } from './finder.ts';

const caseFile = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../cases/${name}`, import.meta.url), 'utf8'));
const values = z.array(z.string()).parse(caseFile('C43-secret-changed-on-the-way/values.json'));
const expected = z
  .object({ each: z.array(z.object({ n: z.int(), sha256: z.string(), bytes: z.int() })) })
  .parse(caseFile('C43-secret-changed-on-the-way/expected.json'));
const long = {
  value: 'k'.repeat(64 * 1024),
  sha256: '82453847604f296a0366e423cb284284e24af9665eb3a98c70bad1397285e541',
};
const secrets = [...expected.each.map(({ n, sha256 }) => ({ value: values[n] ?? 'absent', sha256 })), long];
const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

let servers: TestServers;
let node: TestNode;
let grants: GrantDirectory;
let granter: RunningGranter;
beforeAll(async () => {
  [servers, node, grants] = await Promise.all([raiseForTests({ postgres: true }), makeNode(), grantDirectory()]);
  granter = startGranter(servers, grants);
}, 60_000);
afterAll(async () => {
  await granter.stop();
  await Promise.all([servers.close(), node.remove(), grants.remove()]);
});

describe('a secret on its way', () => {
  test('[C43] [S6] sealed, opened on the node and written into its file it is the same bytes', async () => {
    const facts = { login: 'a', host: '127.0.0.1', port: 5432, database: 'd' };
    const resources = secrets.flatMap(({ value }, n) => [
      node.secret(value, { id: `notes/secret/${n}`, path: `/etc/${n}`, form: 'password' }),
      node.secret(value, { id: `notes/secret/${n}-json`, path: `/etc/${n}.json`, form: 'json', facts }),
      node.secret(value, { id: `notes/secret/${n}-url`, path: `/etc/${n}.url`, form: 'url', facts }),
    ]);
    const applied = await node.apply(...resources);
    expect(applied.failures).toEqual([]);
    for (const [n, { value, sha256 }] of secrets.entries()) {
      expect([n, digest(await readFile(node.at(`/etc/${n}`)))]).toEqual([n, sha256]);
      const json: unknown = JSON.parse(await node.read(`/etc/${n}.json`));
      expect(json).toEqual({ login: 'a', password: value });
      expect(decodeURIComponent(new URL(await node.read(`/etc/${n}.url`)).password)).toBe(value);
    }
  });

  test('[C43] [S8] it is the password, byte for byte, at the server', async () => {
    const some = secrets
      .map(({ value }, n) => ({ grant: grantOf(`n1.c43-${n}`, 1), password: value }))
      .filter(({ password }) => password !== '');
    await grants.write(some);
    for (const { grant } of some) await grants.state(grant, 'granted');
    for (const { grant, password } of some) {
      const client = await logIn(servers, grant.login, password, grant.database);
      await client.end();
    }
    // What merely looks like it is another password.
    const newline = some.find(({ password }) => password === 'ends-with-newline\n');
    if (newline === undefined) throw new Error('the case is missing');
    expect(await failure(logIn(servers, newline.grant.login, 'ends-with-newline', newline.grant.database))).toBe(
      '28P01',
    );
  }, 90_000);

  test('[C43] an empty one is refused by the granter, which says so', async () => {
    const grant = grantOf('n1.c43-empty', 1);
    await grants.write([{ grant, password: '' }]);
    expect((await grants.state(grant, 'fault')).fault).toContain('is empty');
  });
});

describe('a canary in what goes wrong', () => {
  const canary = z
    .object({ value: z.string(), forms: z.record(z.string(), z.union([z.string(), z.array(z.string())])) })
    .parse(caseFile('C44-secret-seen-in-passing/canary.json'));
  const find = finderOf([{ of: 'canary', secret: Buffer.from(canary.value) }]);
  const isIn = (text: string): boolean =>
    find(Buffer.from(text)).length > 0 ||
    Object.values(canary.forms)
      .flat()
      .some((form) => text.includes(form));

  test('[C44] every form of it would be seen', () => {
    for (const form of Object.values(canary.forms).flat()) expect([form, isIn(`x ${form} y`)]).toEqual([form, true]);
    expect(isIn('nothing of the kind')).toBe(false);
  });

  test('[C44] [S5] wrong password, unreachable server, refused statement, bad key: no error, log or status holds it', async () => {
    const passwordFile = path.join(path.dirname(grants.directory), 'superuser');
    await writeFile(passwordFile, canary.value, { mode: 0o600 });
    const [nobody] = await freePorts('127.0.0.1', 1);
    const texts: string[] = [];
    const badLogins = [{ passwordFile }, ...(nobody === undefined ? [] : [{ passwordFile, port: nobody }])];
    for (const bad of badLogins) {
      const other = await grantDirectory();
      const failing = startGranter(servers, other, bad);
      await other.write([{ grant: grantOf('n1.canary', 1), password: canary.value }]);
      await until(async () => (await other.status())?.fault !== undefined, { withinMs: 10_000, what: 'a fault' });
      await failing.stop();
      texts.push(...failing.said, JSON.stringify(await other.status()));
      await other.remove();
    }
    expect(texts.join('\n')).toMatch(/refuses the password/);
    expect(texts.join('\n')).toMatch(/ECONNREFUSED/);

    const tooLong = grantOf('n1.canary', 2, { owner: 'x'.repeat(64), login: `${'x'.repeat(64)}_b` });
    await grants.write([{ grant: tooLong, password: canary.value }]);
    texts.push((await grants.state(tooLong, 'fault')).fault ?? '', ...granter.said);
    texts.push(await readFile(grants.statusFile, 'utf8'));

    const sealed = seal(new Plaintext(canary.value), makeSealingKey().publicKey);
    try {
      open(sealed.sealed, makeSealingKey());
    } catch (error) {
      texts.push(error instanceof Error ? errorChain(error) : '', inspect(error, { depth: 9, showHidden: true }));
    }
    const applied = await node.apply({
      ...node.secret(canary.value, { id: 'notes/secret/bad', path: '/etc/bad', form: 'password' }),
      ...sealed,
    });
    expect(applied.failures).toHaveLength(1);
    expect(existsSync(node.at('/etc/bad'))).toBe(false);
    texts.push(JSON.stringify(applied.failures));
    const pgpass = await node.apply(
      node.secret(`${canary.value}\n`, {
        id: 'notes/secret/pgpass',
        path: '/etc/pgpass',
        form: 'pgpass',
        facts: { login: 'a', host: 'h', port: 1, database: 'd' },
      }),
    );
    expect(pgpass.failures).toHaveLength(1);
    texts.push(JSON.stringify(pgpass.failures));
    expect(texts.length).toBeGreaterThan(8);
    expect(texts.filter(isIn)).toEqual([]);
  }, 60_000);
});
