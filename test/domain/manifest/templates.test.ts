import { describe, expect, test } from '@jest/globals';
import { readTemplates } from '../../../src/domain/manifest/parse-manifest.ts';
import type { Manifest } from '../../../src/domain/manifest/manifest.ts';
import { isRefusal } from '../../../src/domain/refusal/refusal.ts';
import { manifestOf } from './manifest.ts';

const file = (content: string, part: object = {}) => ({
  module: 'notes',
  version: '1',
  requires: ['postgres-database'],
  holds: { 'cookie-key': '/etc/notes/cookie.key' },
  listens: { http: 80 },
  settings: { title: {} },
  resources: [
    { kind: 'directory', path: '/var/lib/notes/state', unknown: 'program' },
    { kind: 'file', path: '/etc/notes/notes.env', format: 'env', content, ...part },
  ],
});

function read(value: object, files: Parameters<typeof readTemplates>[1] = new Map()): Manifest | string {
  const manifest = readTemplates(manifestOf(value), files, 'module.yaml');
  return isRefusal(manifest) ? manifest.what : manifest;
}
const filledOf = (value: object) => {
  const manifest = read(value);
  return typeof manifest === 'string' ? manifest : manifest.filled;
};

describe('what placeholders ask for', () => {
  test('[M7] a credential that only files with placeholders hold is one need, in the form that says whether its login may change', () => {
    expect(filledOf(file('P=${secret:postgres-database}'))).toEqual([
      { requirement: 'postgres-database', as: 'filled-password' },
    ]);
    expect(filledOf(file('L=${secret:postgres-database:login}\nP=${secret:postgres-database}'))).toEqual([
      { requirement: 'postgres-database', as: 'filled' },
    ]);
    expect(filledOf(file('P=${secret:postgres-database.reports|url}'))).toEqual([
      { requirement: 'postgres-database', local: 'reports', as: 'filled-password' },
    ]);
  });

  test('[M7] a credential that has a file of its own is no second one', () => {
    const both = {
      ...file('P=${secret:postgres-database}'),
      secrets: { 'postgres-database': { file: '/s', as: 'json' } },
    };
    expect(filledOf(both)).toEqual([]);
  });

  test('[S10] a secret that the module holds itself is nobody’s credential', () => {
    expect(filledOf(file('K=${secret:cookie-key}'))).toEqual([]);
  });

  test('what is taken from the folder is read as well, and bytes are not', () => {
    const taking = { ...file(''), resources: [{ kind: 'file', path: '/f', from: 'a.conf' }] };
    const taken = (encoding: 'utf8' | 'base64') =>
      new Map([['a.conf', { content: '${secret:postgres-database}', encoding }]]);
    expect(read(taking, taken('utf8'))).toMatchObject({ filled: [{ as: 'filled-password' }] });
    expect(read(taking, taken('base64'))).toMatchObject({ filled: [] });
  });
});

describe('[P12] a placeholder that cannot be filled is refused where the manifest tells', () => {
  test.each([
    [
      '${config:titel}',
      '${config:titel} names titel, which is not among settings; write one of title, or add it to settings',
    ],
    ['${secret:mysql-database}', 'write one of postgres-database, cookie-key, or add it to requires and holds'],
    ['${bound:mysql-database:host}', 'is not among requires'],
    ['${port:https}', 'is not among listens; write one of http'],
    ['${dir:cache}', 'is not among directories of resources; write one of state'],
    ['${consumers:api}', 'add it to provides'],
    ['${bound:postgres-database}', 'names no field; write one of host, port'],
    ['${config:title|urlencode}', 'found the form |urlencode; write |url'],
  ])('%s', (content, says) => {
    expect(read(file(`A=${content}`))).toContain(says);
  });

  test('names that are there, and kinds that are another module’s to answer, are taken', () => {
    const content =
      'A=${config:title} ${port:http} ${dir:state} ${access:http:host} ${machine:memory} ${seat:the-vault} ${weather:berlin} ${collected:route}';
    expect(filledOf(file(content))).toEqual([]);
  });
});

describe('[S6] [M10] a file that a credential is filled into', () => {
  test('is its owner’s alone', () => {
    expect(read(file('P=${secret:postgres-database}', { mode: '0640' }))).toContain(
      'has the mode 0640 and a credential in it',
    );
    expect(read(file('P=${secret:postgres-database}', { mode: '0400' }))).toMatchObject({ module: 'notes' });
    expect(read(file('L=${secret:postgres-database:login}', { mode: '0644' }))).toMatchObject({ module: 'notes' });
  });

  test('is never the environment of a container', () => {
    const value = file('P=${secret:postgres-database}');
    const container = { kind: 'container', name: 'a', image: 'b', 'env-files': ['/etc/notes/notes.env'] };
    expect(read({ ...value, resources: [...value.resources, container] })).toContain(
      '/etc/notes/notes.env holds a secret',
    );
  });
});
