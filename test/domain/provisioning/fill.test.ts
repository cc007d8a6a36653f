import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parse as parseYaml } from 'yaml';
import { z } from 'zod';
import { readTemplates } from '../../../src/domain/manifest/parse-manifest.ts';
import type { FileFormat } from '../../../src/domain/declaration/declaration.ts';
import { fillText, percentEncoded, type Value } from '../../../src/domain/provisioning/fill.ts';
import { manifestOf } from '../manifest/manifest.ts';

const folder = mkdtempSync(join(tmpdir(), 'fill-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Fills with values by name; a name without one is missing. */
function filling(format: FileFormat, text: string, values: Readonly<Record<string, unknown>>) {
  const known = new Map(Object.entries(values));
  const valueOf = ({ name }: { readonly name: readonly string[] }): Value =>
    known.has(name.join('.'))
      ? { kind: 'value', value: known.get(name.join('.')) }
      : { kind: 'missing', reason: 'is not set' };
  return fillText({ file: '/etc/a.conf', text, format, valueOf });
}
function filled(format: FileFormat, text: string, values: Readonly<Record<string, unknown>>): string {
  const made = filling(format, text, values);
  if (made.kind !== 'filled') throw new Error(made.faults.map((one) => one.says).join('\n'));
  return made.text;
}
function says(format: FileFormat, text: string, values: Readonly<Record<string, unknown>>): readonly string[] {
  const made = filling(format, text, values);
  return made.kind === 'filled' ? [] : made.faults.map((one) => one.says);
}

/** Texts made of what formats trip over. */
const nasty = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '"',
        "'",
        '\n',
        '$',
        '@',
        '#',
        ' ',
        '  ',
        '\t',
        '\\',
        '`',
        '%',
        '!',
        '&',
        '*',
        '|',
        '>',
        '=',
        ';',
        '~',
        '?',
      ),
      fc.constantFrom(
        '{',
        '}',
        '[',
        ']',
        ',',
        ': ',
        '- ',
        ' #',
        'yes',
        'null',
        '012',
        '${config:x}',
        '$HOME',
        '$(id)',
        '\\n',
        "'\\''",
      ),
      fc.constantFrom('ü', '日本', '😀', '\u2028', '\u0085', '\ufeff', '\u00a0', 'é', '\r'),
      fc.string({ unit: 'grapheme', maxLength: 4 }),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''));
// oxlint-disable-next-line no-control-regex -- these are exactly what is looked for
const hasControl = (text: string): boolean => /[\u0000-\u0008\u000b-\u001f\u007f]/.test(text);

/** Each text of a value that was read, with the mark in it replaced: what must be read from the file filled in. */
function replaced(read: unknown, mark: string, value: string): unknown {
  if (typeof read === 'string') return read.split(mark).join(value);
  if (Array.isArray(read)) return read.map((one: unknown) => replaced(one, mark, value));
  if (typeof read !== 'object' || read === null) return read;
  return Object.fromEntries(
    Object.entries(read).map(([key, member]) => [key.split(mark).join(value), replaced(member, mark, value)]),
  );
}
/** The law of every format: read after filling is the same as filled after reading. */
function expectSame(format: FileFormat, template: string, value: string, read: (text: string) => unknown): void {
  const text = filled(format, template.replaceAll('X', '${config:x}'), { x: value });
  expect(read(text)).toEqual(replaced(read(template.replaceAll('X', 'MARK')), 'MARK', value));
}

describe('JSON', () => {
  const templates = [
    '{"a": "X", "b": ["X y X", "\\"X\\\\"], "c": {"X": "http://X:1/X?x"}}',
    '"X"',
    ' [ "X" ,"\\u00e9X"]\n',
  ];
  test('[P13] a text in quotes arrives intact, whatever it holds', () => {
    fc.assert(
      fc.property(nasty, fc.constantFrom(...templates), (value, template) => {
        expectSame('json', template, value, (text) => z.json().parse(JSON.parse(text)));
      }),
    );
  });

  test('[P13] a value without quotes keeps its type', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom('X', '{"a":X}', '[1,X , X]', '{\n  "a": X\n}'), (value, template) => {
        const text = filled('json', template.replaceAll('X', '${config:x}'), { x: value });
        const plain: unknown = JSON.parse(template.replaceAll('X', () => JSON.stringify(value)));
        expect(JSON.parse(text)).toEqual(plain);
      }),
    );
  });

  test('[P13] in quotes a number is text', () => {
    expect(filled('json', '{"a": "${port:http}", "b": ${port:http}}', { http: 8080 })).toBe('{"a": "8080", "b": 8080}');
    expect(filled('json', '["${config:x|raw}", ${config:y|raw}]', { x: 'a\\n', y: '1, 2' })).toBe('["a\\n", 1, 2]');
  });

  test.each([
    ['{"a": 1${config:x}}', 'stands beside other text'],
    ['{"a": ${config:x}${config:x}}', 'stands beside other text'],
    ['{"a": "\\${config:x}"}', 'behind a backslash'],
    ['{"a": "\\u00${config:x}"}', 'behind a backslash'],
    ['{"a": "${config:x}"', 'is no JSON'],
    ['{"a": ${config:x},}', 'is no JSON'],
  ])('[P12] %s is refused, and says which placeholder', (text, reason) => {
    const faults = says('json', text, { x: 41 });
    expect(faults[0]).toContain('/etc/a.conf: ${config:x}: ');
    expect(faults[0]).toContain(reason);
  });
});

describe('YAML', () => {
  const templates = [
    'a: X',
    'a: X # remark\nb: c',
    '- X\n- a X b\n-   - X\n    - k: X\n',
    'a: "X"\nb: \'X\'\n',
    "a: 'it''s X'\nb: \"\\tX\\u00e9\"",
    'X: 1\n"X y": 2\n',
    'url: http://X:80/X?a=X#X\nport: 80X',
    'a: [X, "X", \'X\', {k: X, "j":X}, X]\n',
    'a: {X: X}\n',
    'a: |\n  one X\n    two X\n\n  three\nb: X\n',
    'a: |-\n  X\nb: 1\n',
    'a: |+\n  X\n\n\nb: 1\n',
    'a:\n  - |2\n     X\n  - >-\n    some X\n    folded\n\n    more X\n      kept X\n    end\n',
    'a: >\n  X\n  X\n\n\n  X\nb: >+\n  X\n\nc: 1\n',
    '---\nX\n...\n',
    '--- |\nX\nb\n',
    'a: !!str X\nb: &n X\nc: *n\n',
    'a:\n  X\nb:\r\n  - "X"\r\nc: |\r\n  X\r\n  d\r\n',
    '? X\n: X\n',
    'a: "one\n  X\n  two X three"\n',
    '"a": X\n"b":\n  c: X\n',
    '- a: X\n  b: |\n   X\n  c: X\n',
  ];
  const read = (text: string): unknown => parseYaml(text, { uniqueKeys: false, logLevel: 'error' });
  // The empty text is one that lines cannot be put together with; in quotes of several lines it is refused.
  const isLost = (template: string, value: string): boolean => value === '' && template.includes('"one\n');

  test('[P13] a text arrives intact in every style of YAML, whatever it holds', () => {
    fc.assert(
      fc.property(nasty, fc.constantFrom(...templates), (value, template) => {
        fc.pre(!isLost(template, value));
        expectSame('yaml', template, value, read);
      }),
      { numRuns: 1500 },
    );
  });

  test('[P13] a value without quotes keeps its type', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        fc.constantFrom('a: X\n', '- X\n- b\n', 'a: [1, X]', 'a: {b: X}', 'X'),
        (value, template) => {
          const text = filled('yaml', template.replaceAll('X', '${config:x}'), { x: value });
          expect(read(text)).toEqual(read(template.replaceAll('X', () => JSON.stringify(value))));
        },
      ),
    );
  });

  test('[P13] what some readers of YAML take for a line’s end, or refuse, is spelled out', () => {
    fc.assert(
      fc.property(nasty, fc.constantFrom(...templates), (value, template) => {
        fc.pre(!isLost(template, value));
        // oxlint-disable-next-line no-control-regex -- these are exactly what is looked for
        const unsafe = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\ufeff]/;
        expect(filled('yaml', template.replaceAll('X', '${config:x}'), { x: value })).not.toMatch(unsafe);
      }),
    );
  });

  test('[P13] a number beside other text, or in quotes, is text', () => {
    const text = 'a: ${port:h}\nb: "${port:h}"\nc: h:${port:h}\nd: yes ${config:t}\ne: ${config:t}\n';
    expect(read(filled('yaml', text, { h: 80, t: 'no' }))).toEqual({ a: 80, b: '80', c: 'h:80', d: 'yes no', e: 'no' });
    expect(filled('yaml', '${config:x|raw}\na: "${config:x|raw}"', { x: 'b: 1' })).toBe('b: 1\na: "b: 1"');
  });

  test.each([
    ['# ${config:x}\na: 1', 'in a comment, a name'],
    ['a: 1 # ${config:x}', 'in a comment, a name'],
    ['a: !${config:x} b', 'in a comment, a name or a heading'],
    ['a: one\n  ${config:x}', 'several lines without quotes'],
    ['a: ${config:x}\n  two\nb: 1', 'several lines without quotes'],
    ['a: "\\x4${config:x}"', 'behind a backslash'],
    ["a: 'one\n  ${config:x}'", 'in single quotes of several lines'],
  ])('[P12] %j is refused, and says which placeholder', (text, reason) => {
    const faults = says('yaml', text, { x: 'a\nb' });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain('/etc/a.conf: ${config:x}: ');
    expect(faults[0]).toContain(reason);
  });
});

/** systemd's reader of an EnvironmentFile, as its source has it (basic/env-file.c). */
function systemdEnv(text: string): ReadonlyMap<string, string> {
  const read = new Map<string, string>();
  let at = 0;
  while (at < text.length) {
    const key = /[ \t]*([A-Za-z_]\w*)=[ \t]*/y;
    key.lastIndex = at;
    const name = key.exec(text)?.[1];
    if (name === undefined) {
      at = text.indexOf('\n', at) + 1 || text.length;
      continue;
    }
    at = key.lastIndex;
    let value = '';
    let isStart = true;
    for (; at < text.length && text[at] !== '\n'; at += 1) {
      const character = text[at] ?? '';
      if (isStart && character === "'") {
        for (at += 1; at < text.length && text[at] !== "'"; at += 1) value += text[at] ?? '';
      } else if (isStart && character === '"') {
        for (at += 1; at < text.length && text[at] !== '"'; at += 1)
          if (text[at] === '\\') {
            at += 1;
            value += '"\\`$'.includes(text[at] ?? '') ? (text[at] ?? '') : `\\${text[at] ?? ''}`;
          } else value += text[at] ?? '';
      } else {
        value += character;
        isStart = false;
      }
    }
    read.set(name, value);
    at += 1;
  }
  return read;
}

/** What the shell has after sourcing a file. */
function sourced(text: string, names: readonly string[]): ReadonlyMap<string, string> {
  const file = join(folder, 'a.env');
  writeFileSync(file, text);
  const script = `set -eu; . "$1"; printf '%s\\0' ${names.map((name) => `"\${${name}}"`).join(' ')}`;
  const out = execFileSync('sh', ['-c', script, 'sh', file], { env: { HOME: '/home/of-nobody' }, encoding: 'utf8' });
  const values = out.split('\0');
  return new Map(names.map((name, index) => [name, values[index] ?? '']));
}

describe('environment files', () => {
  const templates = ['X', '"X"', "'X'", 'aXb', '"a X b"', "'a X b'", 'a X', 'http://X@h/X', 'export:X'];
  const clean = nasty.filter((text) => !hasControl(text));

  test('[P13] a value arrives intact where the shell sources it and where systemd reads it', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(clean, fc.constantFrom(...templates)), { minLength: 1, maxLength: 30 }), (all) => {
        const names = all.map((_, index) => `V${index}`);
        const values = Object.fromEntries(all.map(([value], index) => [`v${index}`, value]));
        const lines = all.map(
          ([, template], index) => `${names[index]}=${template.replaceAll('X', `\${config:v${index}}`)}`,
        );
        const text = filled('env', `# remark\n\n${lines.join('\n')}\nLAST=end # remark\n`, values);
        const wanted = new Map(
          all.map(([value, template], index) => [
            `V${index}`,
            template.replace(/^(["'])(.*)\1$/s, '$2').replaceAll('X', () => value),
          ]),
        );
        expect(sourced(text, names)).toEqual(wanted);
        const bySystemd = systemdEnv(text);
        for (const [name, value] of wanted) expect([name, bySystemd.get(name)]).toEqual([name, value]);
      }),
      { numRuns: 40 },
    );
  });

  test('[P13] a value without quotes of its own arrives intact where a dotenv reader reads it', () => {
    const simple = clean.filter((text) => !/['\r]/.test(text));
    fc.assert(
      fc.property(simple, fc.constantFrom('X', '"X"', "'X'"), (value, template) => {
        const text = filled('env', `A=${template.replaceAll('X', '${config:x}')}\n`, { x: value });
        expect(parseEnv(text)['A']).toBe(value);
      }),
    );
  });

  test('[P13] what the shell expands in double quotes stays the shell’s, and a value beside it is none of it', () => {
    const text = filled('env', 'export P="$HOME/\\$a/${config:x}"\n', { x: '$HOME"`' });
    expect(sourced(text, ['P']).get('P')).toBe('/home/of-nobody/$a/$HOME"`');
  });

  test.each([
    ['# ${config:x}', 'in a comment, a name'],
    ['${config:x}=1', 'in a comment, a name or a heading'],
    ['A=$HOME/${config:x}', 'of several parts'],
    ['A="a"\'${config:x}\'', 'of several parts'],
    ['A=${config:x} # remark', 'of several parts'],
    ['A="$HOME \\${config:x}"', 'behind a backslash'],
  ])('[P12] %s is refused, and says which placeholder', (text, reason) => {
    const faults = says('env', text, { x: 'a' });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain('/etc/a.conf: ${config:x}: ');
    expect(faults[0]).toContain(reason);
  });

  test('[P12] [S5] a control character is refused without a word of the value', () => {
    const faults = says('env', 'A=${config:x}', { x: 'CANARY\u0007' });
    expect(faults).toHaveLength(1);
    expect(faults.join()).not.toContain('CANARY');
  });
});

describe('INI files', () => {
  const templates = ['X', '"X"', 'aXb', '"a X b"', 'http://X@h/X', 'a X'];
  // oxlint-disable-next-line no-control-regex -- these are exactly what is looked for
  const holdable = nasty.filter((text) => !/[\u0000-\u0008\u000a-\u001f\u007f]/.test(text));
  /** What git, a real reader of such files, reads. */
  const byGit = (text: string): ReadonlyMap<string, string> => {
    const file = join(folder, 'a.ini');
    writeFileSync(file, text);
    const out = execFileSync('git', ['config', '-z', '-f', file, '--list'], { encoding: 'utf8' });
    return new Map(
      out
        .split('\0')
        .filter((entry) => entry !== '')
        .map((entry) => [entry.slice(0, entry.indexOf('\n')), entry.slice(entry.indexOf('\n') + 1)]),
    );
  };

  test('[P13] a value of one line arrives intact', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(holdable, fc.constantFrom(...templates)), { minLength: 1, maxLength: 30 }),
        (all) => {
          const values = Object.fromEntries(all.map(([value], index) => [`v${index}`, value]));
          const lines = all.map(
            ([, template], index) => `  v${index} = ${template.replaceAll('X', `\${config:v${index}}`)}`,
          );
          const text = filled('ini', `; remark\n[a]\n${lines.join('\n')}\n`, values);
          const wanted = new Map(
            all.map(([value, template], index) => [
              `a.v${index}`,
              template.replaceAll('"', '').replaceAll('X', () => value),
            ]),
          );
          expect(byGit(text)).toEqual(wanted);
        },
      ),
      { numRuns: 40 },
    );
  });

  test.each([
    ['; ${config:x}', 'in a comment, a name'],
    ['[${config:x}]', 'in a comment, a name or a heading'],
    ['${config:x} = 1', 'in a comment, a name or a heading'],
    ['a = b ; ${config:x}', 'beside quotes, a comment'],
    ["a = '${config:x}'", 'beside quotes'],
    ['a = "\\${config:x}"', 'behind a backslash'],
  ])('[P12] %s is refused, and says which placeholder', (text, reason) => {
    const faults = says('ini', text, { x: 'a' });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain('/etc/a.conf: ${config:x}: ');
    expect(faults[0]).toContain(reason);
  });

  test('[P12] [S5] a value of several lines is refused without a word of it, and nothing of the file is filled', () => {
    const made = filling('ini', 'a = ${config:y}\nb = ${config:x}', { x: 'CANARY\nCANARY', y: 'good' });
    expect(made.kind).toBe('unfilled');
    expect(JSON.stringify(made)).toContain('/etc/a.conf: ${config:x}: its value has several lines');
    expect(JSON.stringify(made)).not.toMatch(/CANARY|good/);
  });
});

describe('every format', () => {
  test('[P13] raw is text as it is', () => {
    fc.assert(
      fc.property(nasty, (value) => {
        expect(filled('raw', 'a ${config:x}${config:x} $HOME ${A:-b}\n', { x: value })).toBe(
          `a ${value}${value} $HOME \${A:-b}\n`,
        );
      }),
    );
    expect(filled('raw', '${config:n} ${config:o} ${config:b}', { n: 1.5, o: { b: [1], a: 'x' }, b: true })).toBe(
      '1.5 {"a":"x","b":[1]} true',
    );
  });

  test('[P13] |url leaves nothing but what is unreserved, and is read back whole', () => {
    fc.assert(
      fc.property(nasty, (value) => {
        const text = filled('raw', '${secret:db|url}', { db: value });
        expect(text).toMatch(/^(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*$/);
        expect(decodeURIComponent(text)).toBe(value);
      }),
    );
  });

  test('[P12] whole or not at all: every fault is said, with its file and placeholder', () => {
    const text = 'a: ${config:x}\nb: ${config:gone}\nc: ${config:Bad}\nd: ${bound:db}\n';
    const faults = says('yaml', text, { x: 1 });
    expect(faults).toEqual([
      '/etc/a.conf: ${config:gone}: is not set',
      expect.stringContaining('/etc/a.conf: ${config:Bad}: found the name "Bad"; write'),
      expect.stringContaining('/etc/a.conf: ${bound:db}: names no field; write one of host, port'),
    ]);
  });

  test('[P12] a placeholder that can stand nowhere in its file is a fault of the manifest, not of a node', () => {
    const adding = (content: string, format: string) =>
      readTemplates(
        manifestOf({
          module: 'notes',
          version: '1',
          settings: { x: {} },
          resources: [{ kind: 'file', path: '/etc/notes', format, content }],
        }),
        new Map(),
        'module.yaml',
      );
    expect(adding('# ${config:x}\nA=1\n', 'env')).toMatchObject({
      kind: 'manifest-invalid',
      what: expect.stringContaining('resources[0].content: /etc/notes: ${config:x}: stands where env has no value'),
    });
    expect(adding('{"a": ${config:x}', 'json')).toMatchObject({ kind: 'manifest-invalid' });
    for (const [content, format] of [
      ['A=${config:x}', 'env'],
      ['{"a": [${config:x}, "${config:x|url}"]}', 'json'],
      ['{${config:x|raw}}', 'json'],
      ['# ${config:x}', 'raw'],
    ] as const)
      expect(adding(content, format)).toMatchObject({ module: 'notes' });
  });

  test('[P12] [U5] a value that is null is refused where text stands: which placeholder, which file, and what to do', () => {
    const alone = 'or write ${seat:x} alone and without quotes in a json or yaml file, where null may stand';
    const nobody = `/etc/a.conf: \${seat:x}: its value is null, which has no text; nobody holds the seat x: assign a module that holds it, ${alone}`;
    for (const [format, text] of [
      ['raw', 'a=${seat:x}'],
      ['env', 'a=${seat:x}'],
      ['ini', 'a=${seat:x}'],
      ['json', '["${seat:x}"]'],
      ['yaml', 'a: b ${seat:x}'],
    ] as const)
      expect(says(format, text, { x: null })).toEqual([nobody]);
    expect(says('raw', '${seat:x|url}', { x: null })).toEqual([nobody.replace('${seat:x}:', '${seat:x|url}:')]);
    expect(says('raw', '${config:x}', { x: null })[0]).toContain('set another value: mesh set NODE/MODULE x=VALUE');
    expect(says('raw', '${weather:x}', { x: null })[0]).toContain('have whoever answers weather answer a text');
    expect(filled('json', '[${seat:x}]', { x: null })).toBe('[null]');
    expect(says('raw', '${config:x}', { x: ['\ud800'] })[0]).toContain('no well-formed text');
  });

  test('[P13] a file without placeholders stays byte for byte what it is', () => {
    fc.assert(
      fc.property(nasty, fc.constantFrom('json', 'yaml', 'env', 'ini', 'raw'), (text, format) => {
        fc.pre(!text.includes('${config:x}'));
        expect(filled(format, text, {})).toBe(text);
      }),
    );
  });
});

describe('C42', () => {
  const c42 = z
    .object({
      each: z.array(z.object({ password: z.string(), encoded: z.string() })),
      more: z.array(z.record(z.string(), z.string())),
    })
    .parse(
      JSON.parse(
        readFileSync(new URL('../../cases/C42-password-in-an-address/expected.json', import.meta.url), 'utf8'),
      ),
    );
  // The case leaves ' as it is, which means the same in an address; P13 encodes all that is not unreserved.
  const strictly = (encoded: string): string => encoded.replaceAll("'", '%27');
  const address =
    'postgresql://${secret:db:login|url}:${secret:db|url}@${bound:db:host|url}:${bound:db:port}/${bound:db:database|url}';
  const values =
    (password: string, host = 'h') =>
    (asked: { readonly of: string; readonly field?: string }): Value => {
      const facts: Readonly<Record<string, unknown>> = { login: 'a@b', host, port: 5432, database: 'my db/1' };
      return { kind: 'value', value: asked.field === undefined ? password : facts[asked.field] };
    };

  test.each(c42.each)('[P13] [C42] the password $password in an address of every format', ({ password, encoded }) => {
    const whole = `postgresql://a%40b:${strictly(encoded)}@h:5432/my%20db%2F1`;
    const fill = (format: FileFormat, text: string): string => {
      const made = fillText({ file: 'f', text, format, valueOf: values(password) });
      return made.kind === 'filled' ? made.text : JSON.stringify(made.faults);
    };
    expect(fill('raw', address)).toBe(whole);
    expect(JSON.parse(fill('json', `{"url": "${address}"}`))).toEqual({ url: whole });
    expect(parseYaml(fill('yaml', `url: ${address}\n`))).toEqual({ url: whole });
    expect(sourced(fill('env', `URL=${address}\n`), ['URL']).get('URL')).toBe(whole);
    expect(decodeURIComponent(new URL(whole).password)).toBe(password);
    expect(fill('ini', `url = ${address}`)).toBe(`url = ${whole}`);
  });

  test('[C42] user and database are encoded, and an IPv6 host is in brackets', () => {
    expect(c42.more).toHaveLength(3);
    for (const one of c42.more) {
      const [kind = '', value = ''] = Object.entries(one)[0] ?? [];
      const made = fillText({
        file: 'f',
        text: address,
        format: 'raw',
        valueOf: values('p', kind === 'host' ? value : 'h'),
      });
      const wanted = one['encoded'] ?? one['in_address'] ?? 'nothing';
      if (kind !== 'host') expect(percentEncoded(value)).toBe(wanted);
      expect(made).toMatchObject({ kind: 'filled', text: expect.stringContaining(wanted) });
    }
  });
});
