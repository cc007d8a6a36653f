import { describe, expect, test } from '@jest/globals';
import { filesNeeded } from '../../../src/domain/manifest/manifest.ts';
import { placeholdersIn } from '../../../src/domain/provisioning/placeholders.ts';
import { refuseUnbuilt } from '../../../src/domain/manifest/unbuilt.ts';
import { manifestOf } from './manifest.ts';

const small = { module: 'notes', version: '1' };
const process = (part: object) => ({ ...small, resources: [{ kind: 'process', name: 'a', command: ['a'], ...part }] });

describe('what this mesh cannot do yet', () => {
  test('what is built is taken', () => {
    const built = manifestOf({
      ...small,
      requires: ['postgres-database'],
      listens: { http: 80 },
      provides: [{ name: 'api', scope: 'mesh', listens: 'http', grants: '/g' }],
      secrets: { 'postgres-database': { file: '/s', as: 'url' } },
      binds: { 'postgres-database': '/b' },
      holds: { key: '/k' },
      claims: [{ name: 'proxy', scope: 'node' }],
      seats: ['the-vault'],
      capabilities: ['memory'],
      settings: { title: { default: 'x' } },
      routes: [{ label: 'a', listens: 'http' }],
      contributes: [{ collection: 'shell:zsh', item: 'x' }],
      answers: [{ kind: 'weather', bucket: 'a', key: '<name>' }],
      builds: { image: { recipe: 'Dockerfile' } },
      resources: [
        { kind: 'directory', path: '/d', unknown: 'program' },
        { kind: 'file', path: '/f', content: '${config:title} ${weather:berlin}' },
        {
          kind: 'process',
          name: 'a',
          command: ['sh', '-c', 'echo $HOME ${HOME} ${x:-y} ${PATH:0:3} ${a:0:3} $(date)'],
        },
      ],
    });
    expect(refuseUnbuilt(built, new Map(), [])).toBeUndefined();
  });

  test.each<[string, object]>([
    ['keeps', { keeps: { export: '/e' } }],
    ['computed', { computed: 'private-network' }],
    ['health', { listens: { h: 1 }, health: { http: '/', listens: 'h' } }],
    ['resources[0]: a container', { resources: [{ kind: 'container', name: 'a', image: 'b' }] }],
    ['resources[0]: an archive', { resources: [{ kind: 'archive', path: '/a', from: 'b', unknown: 'aside' }] }],
    ['resources[0]: a network', { resources: [{ kind: 'network', name: 'a' }] }],
  ])('%s is refused by name, never ignored', (name, part) => {
    const refusal = refuseUnbuilt(manifestOf({ ...small, ...part }));
    expect(refusal?.kind).toBe('not-built-yet');
    expect(refusal?.what).toContain(name);
  });

  test.each<[string, object, string]>([
    ['a command', process({ command: ['a', '${port:http}'] }), 'resources[0].command[1]: ${port:http}'],
    ['an environment', process({ env: { A: '${machine:memory|url}' } }), 'resources[0].env.A: ${machine:memory|url}'],
    [
      'a contributed item',
      { ...small, contributes: [{ collection: 'a', item: { b: ['${port:http}'] } }] },
      'contributes[0].item: ${port:http}',
    ],
    [
      'a file, of a kind that nobody answers',
      { ...small, resources: [{ kind: 'file', path: '/f', content: '${config:title} ${weather:today}' }] },
      'resources[0].content: ${weather:today}',
    ],
  ])('a placeholder in %s is refused, never written as it stands', (_where, value, says) => {
    const refusal = refuseUnbuilt(manifestOf(value), new Map(), ['tide']);
    expect(refusal?.kind).toBe('placeholder-unfilled');
    expect(refusal?.facts?.['unbuilt']).toEqual([`placeholder at ${says}`]);
  });

  test('a placeholder in a file taken from the folder is found too, in text and not in bytes', () => {
    const taking = manifestOf({ ...small, resources: [{ kind: 'file', path: '/f', from: 'a.conf' }] });
    expect(filesNeeded(taking)).toEqual(['a.conf']);
    const file = (encoding: 'utf8' | 'base64') => new Map([['a.conf', { content: '${weather:x}', encoding }]]);
    expect(refuseUnbuilt(taking, file('utf8'), [])?.what).toContain('from (a.conf): ${weather:x}');
    expect(refuseUnbuilt(taking, file('base64'), [])).toBeUndefined();
    expect(refuseUnbuilt(taking, file('utf8'), ['weather'])).toBeUndefined();
    // Who does not know the other modules does not judge.
    expect(refuseUnbuilt(taking, file('utf8'))).toBeUndefined();
  });

  test('the shell’s own dollar is no placeholder', () => {
    expect(placeholdersIn('$A ${A} ${A:-b} ${a:-b} ${a:=b} ${a:+b} ${a:?b} ${a:1:2} ${a##*:} $$ ${a[0]}')).toEqual([]);
    expect(placeholdersIn('${dir:2nd} ${config:a} ${config:a} ${config:a|url}')).toEqual([
      '${dir:2nd}',
      '${config:a}',
      '${config:a|url}',
    ]);
  });
});
