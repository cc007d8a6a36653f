import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { describeChanges } from '../../../src/domain/declaration/describe-changes.ts';
import { differenceOf } from '../../../src/domain/declaration/difference.ts';
import { diffLines, type DiffLine } from '../../../src/domain/declaration/line-diff.ts';
import { resolve } from '../../../src/domain/resolution/resolve.ts';
import { base64, composed, consumer, hash, mesh, module, pair, pairKey, port, provider } from '../mesh.ts';

type Composed = ReturnType<typeof composed>;
const digests = ({ resources }: Composed): ReadonlyMap<string, string> =>
  new Map([...resources].map(([id, text]) => [id, `sha256:${hash(text)}`]));
function described(was: Composed, will: Composed, over: { body?: string | undefined } = {}) {
  const sent = { digest: was.digest, resources: digests(was) };
  const difference = differenceOf(sent.resources, digests(will));
  return describeChanges({ body: was.text, ...over, sent, would: will.resources, difference, hash });
}
const running = (part: object, files?: Parameters<typeof module>[2]) => {
  const modules = [module('web', { listens: { http: 80 }, ...part }, files)];
  return composed(mesh({ modules, assigned: ['alpha/web'], ports: [port('alpha/web', 'http', 20_000)] }), 'alpha');
};
const file = (content: string, more: object = {}) => ({
  resources: [{ kind: 'file', path: '/etc/web', content, ...more }],
});
const run = (more: object) => ({ resources: [{ kind: 'process', name: 'web', command: ['web'], ...more }] });

describe('[D6] what changes inside a resource', () => {
  test('[D6] a file’s lines, with three around them, and its mode as a field', () => {
    const text = (line: string) => ['1', '2', '3', '4', line, '6', '7', '8', '9'].join('\n');
    expect(described(running(file(text('five'))), running(file(text('FIVE'), { mode: '0600' })))).toEqual({
      kind: 'described',
      changes: [
        {
          id: 'web/file/etc/web',
          fields: [{ field: 'mode', before: '"0644"', after: '"0600"' }],
          hunks: [
            {
              before: 2,
              after: 2,
              lines: [
                ...['2', '3', '4'].map((line) => ({ is: 'same', text: line })),
                { is: 'gone', text: 'five' },
                { is: 'new', text: 'FIVE' },
                ...['6', '7', '8'].map((line) => ({ is: 'same', text: line })),
              ],
            },
          ],
        },
      ],
    });
  });

  test('[D6] a process’s fields by name, those that came and those that went', () => {
    const was = running(run({ env: { TITLE: 'a', OLD: 'x' } }));
    const will = running(run({ env: { TITLE: 'b' }, command: ['web', '-v'], cwd: '/srv', stop: { wait: '1s' } }));
    expect(described(was, will)).toMatchObject({
      changes: [
        {
          id: 'web/process/web',
          fields: [
            { field: 'command', before: '["web"]', after: '["web","-v"]' },
            { field: 'cwd', after: '"/srv"' },
            { field: 'env.OLD', before: '"x"' },
            { field: 'env.TITLE', before: '"a"', after: '"b"' },
            { field: 'stop.waitMs', before: '10000', after: '1000' },
          ],
        },
      ],
    });
  });

  test('[D6] content that is no text is only counted', () => {
    const taken = (content: string) =>
      running(
        { resources: [{ kind: 'file', path: '/etc/web', from: 'a' }] },
        new Map([['a', { content, encoding: 'base64', mode: '0644' }]]),
      );
    expect(described(taken(base64('ab')), taken(base64('abcd')))).toMatchObject({
      changes: [{ bytes: { before: 2, after: 4 } }],
    });
  });

  test('[D6] [S5] a secret is sealed anew, or to another key, and its blob is nowhere', () => {
    const key = pairKey('beta/notes', 'alpha/postgres');
    const with_ = (part: Parameters<typeof pair>[3]) => {
      const inventory = mesh({
        modules: [provider('postgres'), consumer('notes')],
        assigned: ['alpha/postgres', 'beta/notes'],
        ports: [port('alpha/postgres', 'sql', 20_000)],
        pairSecrets: [pair(key, 1, 'current', part)],
      });
      return { inventory, beta: composed(inventory, 'beta') };
    };
    const first = with_({});
    const anew = with_({ consumer: { sealed: base64('another blob'), fingerprint: 'key-of-beta' } });
    const change = described(first.beta, anew.beta);
    expect(change).toEqual({
      kind: 'described',
      changes: [{ id: 'notes/secret/etc/notes/db.json', fields: [], sealed: 'sealed anew' }],
    });
    const node = first.inventory.nodes.map((one) =>
      one.name === 'beta' ? { ...one, sealingFingerprint: 'the-next-key' } : one,
    );
    const other = composed(
      {
        ...first.inventory,
        nodes: node,
        pairSecrets: [pair(key, 1, 'current', { consumer: { sealed: base64('b'), fingerprint: 'the-next-key' } })],
      },
      'beta',
    );
    const toAnother = described(first.beta, other);
    expect(toAnother).toMatchObject({ changes: [{ sealed: 'other key' }] });
    for (const said of [JSON.stringify(change), JSON.stringify(toAnother)]) {
      expect(said).not.toContain(base64('another blob'));
      expect(said).not.toContain(base64('1 for beta'));
      expect(said).not.toContain('the-next-key');
    }
    expect(resolve(first.inventory).nodes.size).toBe(3);
  });

  test('[D6] a body that is not what was recorded tells nothing, whatever it holds', () => {
    const [was, will] = [running(file('a')), running(file('b'))];
    const forged = was.text.replace('"content":"a"', '"content":"forged"');
    // Its changed resources are what was recorded, and something else in it is not.
    const elsewhere = was.text.replace('"address":"alpha.test"', '"address":"forged.test"');
    expect(elsewhere).not.toBe(was.text);
    for (const body of [undefined, forged, elsewhere, '', 'nonsense', will.text]) {
      const said = described(was, will, { body });
      expect(said).toMatchObject({ kind: 'unknown', why: expect.any(String) });
      expect(JSON.stringify(said)).not.toContain('forged');
    }
    // The whole has the recorded digest, and one resource in it another than was recorded.
    const sent = { digest: was.digest, resources: new Map([['web/file/etc/web', 'sha256:0']]) };
    const difference = { added: [], changed: ['web/file/etc/web'], removed: [] };
    expect(describeChanges({ body: was.text, sent, would: will.resources, difference, hash })).toMatchObject({
      kind: 'unknown',
      why: 'web/file/etc/web is not what was recorded as sent',
    });
  });
});

describe('lines', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 30 }).map((lines) => lines.join('\n'));
  const linesOf = (of: string): number => (of === '' ? 0 : of.split('\n').length);
  const those = (lines: readonly DiffLine[], without: DiffLine['is']): readonly string[] =>
    lines.filter(({ is }) => is !== without).map((line) => line.text);

  test('[D6] the hunks, put where they say, turn the one text into the other', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const was = before === '' ? [] : before.split('\n');
        for (const hunk of diffLines(before, after).toReversed()) {
          expect(was.slice(hunk.before - 1, hunk.before - 1 + those(hunk.lines, 'new').length)).toEqual(
            those(hunk.lines, 'new'),
          );
          was.splice(hunk.before - 1, those(hunk.lines, 'new').length, ...those(hunk.lines, 'gone'));
        }
        expect(was.join('\n')).toBe(after);
      }),
    );
  });

  test('[D6] the same text has none, and what is shown is no more than both', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        expect(diffLines(before, before)).toEqual([]);
        const shown = diffLines(before, after).flatMap(({ lines }) => lines);
        expect(shown.filter(({ is }) => is === 'gone').length).toBeLessThanOrEqual(linesOf(before));
        expect(shown.filter(({ is }) => is === 'new').length).toBeLessThanOrEqual(linesOf(after));
      }),
    );
  });

  test('[D6] two long texts with nothing in common are shown within a second', () => {
    const long = (letter: string) => Array.from({ length: 20_000 }, (_, n) => `${letter}${n}`).join('\n');
    const started = performance.now();
    expect(diffLines(long('a'), long('b'))[0]?.lines).toHaveLength(40_000);
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
