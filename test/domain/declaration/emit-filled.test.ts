import { describe, expect, test } from '@jest/globals';
import type { FileResource } from '../../../src/domain/declaration/declaration.ts';
import { composed, mesh, module, own, pair, pairKey, port, provider } from '../mesh.ts';

const content =
  'L=${secret:postgres-database:login}\nP=${secret:postgres-database}\nK=${secret:cookie-key}\nT=${config:title}\n';
const notes = module('notes', {
  requires: ['postgres-database'],
  holds: { 'cookie-key': '/etc/notes/cookie.key' },
  settings: { title: {} },
  resources: [
    { kind: 'file', path: '/etc/notes/notes.env', format: 'env', content },
    { kind: 'file', path: '/etc/notes/title', content: '${config:title}' },
    { kind: 'file', path: '/etc/notes/plain', content: 'nothing to fill' },
  ],
});
const world = (generation: number, blob = 'one') =>
  mesh({
    modules: [provider('postgres'), notes],
    assigned: ['alpha/postgres', 'beta/notes'],
    ports: [port('alpha/postgres', 'sql', 20_000)],
    pairSecrets: [pair(pairKey('beta/notes', 'alpha/postgres'), generation)],
    ownSecrets: [
      own('beta/notes', 'cookie-key', {
        node: { sealed: Buffer.from(blob).toString('base64'), fingerprint: 'key-of-beta' },
      }),
    ],
  });
const filesOf = (inventory: ReturnType<typeof world>) => {
  const files = composed(inventory, 'beta').declaration.resources.filter(
    (one): one is FileResource => one.kind === 'file',
  );
  return new Map(files.map((one) => [one.path, one]));
};

describe('templates in a declaration', () => {
  test('[P13] a file with placeholders travels as it was written, with its format; others have nothing to fill', () => {
    const files = filesOf(world(1));
    expect(files.get('/etc/notes/notes.env')).toMatchObject({ content, fill: { format: 'env' } });
    expect(files.get('/etc/notes/title')).toMatchObject({
      mode: '0644',
      fill: { format: 'raw', generations: {}, own: {} },
    });
    expect(files.get('/etc/notes/plain')?.fill).toBeUndefined();
  });

  test('[S6] [D9] a file that a credential goes into is its owner’s alone', () => {
    expect(filesOf(world(1)).get('/etc/notes/notes.env')?.mode).toBe('0600');
  });

  test('[S11] a rotation changes it: it names the generation it is to hold', () => {
    const digest = (inventory: ReturnType<typeof world>) => composed(inventory, 'beta').digest;
    expect(filesOf(world(3)).get('/etc/notes/notes.env')?.fill?.generations).toEqual({ 'postgres-database': 3 });
    expect(digest(world(1))).not.toBe(digest(world(2)));
    expect(digest(world(1))).not.toBe(digest(world(1, 'another')));
    expect(digest(world(1))).toBe(digest(world(1)));
  });

  test('[S3] [S7] its credential is made, and granted by the provider, like any other', () => {
    const missing = { ...world(1), pairSecrets: [] };
    expect(composed(missing, 'beta').wouldMake).toMatchObject([
      { path: 'alpha/postgres-database/beta/notes', form: 'filled' },
    ]);
    const provided = composed(world(2), 'alpha').declaration.resources;
    expect(provided.map(({ id }) => id)).toContain('postgres/secret/var/lib/postgres-grants/beta.notes.2');
    const list = provided.find((one) => one.kind === 'file' && one.path.endsWith('grants.json'));
    expect(list).toMatchObject({ content: expect.stringContaining('"login":"beta.notes_b"') });
  });

  test('[S5] no value and no sealed blob is in it', () => {
    const text = JSON.stringify(filesOf(world(1)).get('/etc/notes/notes.env'));
    expect(text).not.toContain(pair(pairKey('beta/notes', 'alpha/postgres'), 1).consumer.sealed);
  });
});
