import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { differenceOf } from '../../../src/domain/declaration/difference.ts';

const digests = fc
  .dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.constantFrom('1', '2'))
  .map((made) => new Map<string, string>(Object.entries(made)));

test('[D6] doing what the difference says makes the one into the other', () => {
  fc.assert(
    fc.property(digests, digests, (sent, would) => {
      const { added, changed, removed } = differenceOf(sent, would);
      const made = new Map([...sent].filter(([id]) => !removed.includes(id)));
      for (const id of [...added, ...changed]) made.set(id, would.get(id) ?? '');
      expect(Object.fromEntries(made)).toEqual(Object.fromEntries(would));
      expect(added.some((id) => sent.has(id))).toBe(false);
      expect(new Set([...added, ...changed, ...removed]).size).toBe(added.length + changed.length + removed.length);
    }),
  );
  expect(differenceOf(new Map([['a', '1']]), new Map([['a', '1']]))).toEqual({ added: [], changed: [], removed: [] });
});
