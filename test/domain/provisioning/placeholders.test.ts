import { describe, expect, test } from '@jest/globals';
import {
  findPlaceholders,
  nameOf,
  parsePlaceholder,
  placeholdersIn,
} from '../../../src/domain/provisioning/placeholders.ts';

describe('placeholders', () => {
  test.each([
    ['${config:title}', { of: 'config', name: ['title'] }],
    ['${secret:postgres-database}', { of: 'secret', name: ['postgres-database'] }],
    ['${secret:postgres-database:login}', { of: 'secret', name: ['postgres-database'], field: 'login' }],
    ['${secret:postgres-database.reports|url}', { of: 'secret', name: ['postgres-database', 'reports'], form: 'url' }],
    ['${bound:postgres-database.reports:port}', { of: 'bound', name: ['postgres-database', 'reports'], field: 'port' }],
    ['${collected:route|raw}', { of: 'collected', name: ['route'], form: 'raw' }],
    ['${collected:shell:zsh:normal}', { of: 'collected', name: ['shell', 'zsh', 'normal'] }],
    ['${shell:zsh:normal}', { of: 'shell', name: ['zsh', 'normal'] }],
    ['${port:8080}', { of: 'port', name: ['8080'] }],
    ['${access:http:host|url}', { of: 'access', name: ['http'], field: 'host', form: 'url' }],
    ['${machine:gpu:driver}', { of: 'machine', name: ['gpu'], field: 'driver' }],
    ['${weather:berlin.now:wind}', { of: 'weather', name: ['berlin', 'now'], field: 'wind' }],
  ])('[P4] %s is read', (written, parts) => {
    expect(parsePlaceholder(written)).toEqual({ kind: 'placeholder', written, ...parts });
  });

  test.each([
    ['${config:Title}', 'found the name "Title"; write lower-case letters'],
    ['${config:<name>}', 'found the name "<name>"; write lower-case letters'],
    ['${config:title:x}', 'found the field "x"; config has no fields, write ${config:title}'],
    ['${config:a|base64}', 'found the form |base64; write |url, |raw'],
    ['${config:a|url|raw}', 'found the form |url|raw'],
    ['${secret:db:user}', 'found the field "user"; write one of password, login'],
    ['${secret:db.a.b}', 'found 3 parts in its name'],
    ['${bound:db}', 'names no field; write one of host, port, database, owner, login, like ${bound:db:host}'],
    ['${access:http}', 'names no field; write one of host, port'],
    ['${bound:db:host:x}', 'found 2 fields; write one at most'],
    ['${shell:zsh::a}', 'found the collection "zsh::a"'],
    ['${machine:gpu:Driver}', 'found the field "Driver"'],
    ['${port:}', 'found the name ""'],
  ])('[P12] %s is a fault that says what to write', (written, says) => {
    expect(parsePlaceholder(written)).toEqual({
      kind: 'placeholder-fault',
      written,
      says: expect.stringContaining(`${written}: ${says}`),
    });
  });

  test('[P4] they are found where they stand; the shell’s own dollar is none', () => {
    const text = '$A ${A} ${A:-b} ${a:-b} ${a:=b} ${a:1:2} ${a##*:} $$ x${config:a}${config:B} ${config:a}';
    expect(findPlaceholders(text).map(({ at, found }) => [at, found.kind, found.written])).toEqual([
      [text.indexOf('${config:a}'), 'placeholder', '${config:a}'],
      [text.indexOf('${config:B}'), 'placeholder-fault', '${config:B}'],
      [text.lastIndexOf('${config:a}'), 'placeholder', '${config:a}'],
    ]);
    expect(placeholdersIn(text)).toEqual(['${config:a}', '${config:B}']);
  });

  test('[P1] a need’s name is one text: dots between a provision and its local, colons in a collection', () => {
    const names = ['${secret:db.reports:login}', '${shell:zsh:normal}', '${config:a}'].map((written) => {
      const read = parsePlaceholder(written);
      return read.kind === 'placeholder' ? nameOf(read) : read.says;
    });
    expect(names).toEqual(['db.reports', 'zsh:normal', 'a']);
  });
});
