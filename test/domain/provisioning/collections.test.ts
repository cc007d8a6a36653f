import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson } from '../../../src/domain/declaration/canonical.ts';
import {
  collectedValue,
  collectionOf,
  contributorsOf,
  isOf,
  readCollections,
  type CollectedEntry,
} from '../../../src/domain/provisioning/collections.ts';
import { fillText } from '../../../src/domain/provisioning/fill.ts';
import { collectKeys } from '../../../src/domain/provisioning/keys.ts';
import { parsePlaceholder } from '../../../src/domain/provisioning/placeholders.ts';
import { nodeName } from '../../../src/domain/words/names.ts';

const entry = (node: string, contributor: string, item: CollectedEntry['item'], order?: number): CollectedEntry => ({
  node,
  contributor,
  item,
  collection: 'route',
  ...(order === undefined ? {} : { order }),
});
const entries = fc.array(
  fc
    .record({
      node: fc.constantFrom('alpha', 'beta', 'alpha-b'),
      contributor: fc.constantFrom('notes', 'notes:2', 'wiki'),
      item: fc.oneof<fc.Arbitrary<CollectedEntry['item']>[]>(
        fc.constantFrom('a', 'b', 1, null),
        fc.constant({ b: [1], a: 'x' }),
        fc.constant({ a: 'x', b: [1] }),
      ),
      order: fc.option(fc.integer({ min: -1, max: 1 }), { nil: undefined }),
    })
    .map(({ order, ...rest }) => entry(rest.node, rest.contributor, rest.item, order)),
);

describe('collections', () => {
  test('[P4] items come by order, then node, then contributor, and the same one once', () => {
    const all = [
      entry('beta', 'notes', 'c'),
      entry('alpha', 'wiki', 'b'),
      entry('alpha', 'notes', 'a'),
      entry('gamma', 'wiki', 'first', -1),
      entry('gamma', 'zsh', 'a', 7),
      entry('gamma', 'zsh', 'last', 7),
    ];
    expect(collectedValue(all)).toEqual(['first', 'a', 'b', 'c', 'last']);
  });

  test('[P4] in whatever order they were read, the same items make the same text', () => {
    fc.assert(
      fc.property(entries, fc.func(fc.integer()), (all, key) => {
        const shuffled = all.toSorted((a, b) => key(a) - key(b));
        expect(canonicalJson(collectedValue(shuffled))).toBe(canonicalJson(collectedValue(all)));
        expect(collectedValue([...all, ...all])).toEqual(collectedValue(all));
      }),
    );
  });

  test('[P13] in a file they are lines where all are texts, a list where a value stands alone, else JSON', () => {
    const fill = (format: 'raw' | 'json', text: string, all: readonly CollectedEntry[]) =>
      fillText({ file: 'f', format, text, valueOf: () => ({ kind: 'value', value: collectedValue(all) }) });
    const texts = [entry('beta', 'a', 'two'), entry('alpha', 'a', 'one')];
    expect(fill('raw', '${shell:zsh}\n', texts)).toEqual({ kind: 'filled', text: 'one\ntwo\n' });
    expect(fill('json', '{"a": ${shell:zsh}, "b": "${shell:zsh}"}', texts)).toEqual({
      kind: 'filled',
      text: '{"a": ["one","two"], "b": "one\\ntwo"}',
    });
    expect(fill('raw', 'a ${shell:zsh}', [])).toEqual({ kind: 'filled', text: 'a ' });
    expect(fill('json', '${shell:zsh}', [])).toEqual({ kind: 'filled', text: '[]' });
    expect(fill('raw', '${collected:route}', [entry('a', 'a', { name: 'x' })])).toEqual({
      kind: 'filled',
      text: '[{"name":"x"}]',
    });
  });

  test('[P4] [P14] a bucket is read back by name, and what is out of shape is said with its key', () => {
    const key = collectKeys.of({ node: nodeName.parse('alpha'), collection: 'shell:zsh:normal', contributor: 'notes' });
    const { collections, faults } = readCollections(
      new Map<string, unknown>([
        [key, { item: 'x', order: 2 }],
        ['alpha.Route.notes', { item: 1 }],
        ['alpha.route', { item: 1 }],
        ['alpha.route.notes', 'no item'],
      ]),
    );
    expect([...collections]).toEqual([
      [
        'shell:zsh:normal',
        [{ node: 'alpha', collection: 'shell:zsh:normal', contributor: 'notes', item: 'x', order: 2 }],
      ],
    ]);
    expect(faults.map((one) => one.key)).toEqual(['alpha.Route.notes', 'alpha.route', 'alpha.route.notes']);
    for (const fault of faults) expect(fault.says).toContain(JSON.stringify(fault.key));
  });

  test('[P4] shell, environment and contribution are read as collections of the same name', () => {
    const read = (written: string) => {
      const placeholder = parsePlaceholder(written);
      return placeholder.kind === 'placeholder' ? collectionOf(placeholder) : placeholder.says;
    };
    expect(
      ['${shell:zsh:normal}', '${environment:login}', '${contribution:motd}', '${collected:route}', '${config:a}'].map(
        read,
      ),
    ).toEqual(['shell:zsh:normal', 'environment:login', 'contribution:motd', 'route', undefined]);
  });

  test('[P14] a module’s contributors are told from those of a module whose name begins so', () => {
    expect(contributorsOf('notes', 3)).toEqual(['notes', 'notes:2', 'notes:3']);
    expect(['notes', 'notes:2', 'notes-b', 'note'].map((one) => isOf(one, 'notes'))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
