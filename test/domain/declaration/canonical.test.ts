import { expect, test } from '@jest/globals';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { canonicalJson } from '../../../src/domain/declaration/canonical.ts';

const wellFormed = fc.string({ unit: 'binary' }).filter((text) => !/\p{Surrogate}/u.test(text));
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    wellFormed,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value')),
    fc.dictionary(wellFormed, tie('value')),
  ),
})).value;

test('[D2] canonical JSON is what RFC 8785 says, as another program reads it', () => {
  fc.assert(
    fc.property(value, (any) => expect(canonicalJson(any)).toBe(canonicalize(any))),
    { numRuns: 500 },
  );
});

test('[D2] it reads back to the value, and no order of keys shows in it', () => {
  const shuffled = (any: unknown): unknown => {
    if (Array.isArray(any)) return any.map(shuffled);
    if (typeof any !== 'object' || any === null) return any;
    return Object.fromEntries(
      Object.entries(any)
        .toReversed()
        .map(([key, member]) => [key, shuffled(member)]),
    );
  };
  fc.assert(
    fc.property(value, (any) => {
      expect(canonicalJson(shuffled(any))).toBe(canonicalJson(any));
      expect(canonicalJson(JSON.parse(canonicalJson(any)))).toBe(canonicalJson(any));
    }),
  );
});

test('[D2] keys are sorted by UTF-16 code units, and numbers are written one way', () => {
  expect(canonicalJson({ '\u{1F600}': 1, '\uFB33': 2, b: undefined, a: [1e21, -0, 0.1, 1e-7] })).toBe(
    '{"a":[1e+21,0,0.1,1e-7],"\u{1F600}":1,"\uFB33":2}',
  );
});

test.each([NaN, Infinity, '\uD800', { '\uDC00': 1 }, undefined, [undefined], 1n, () => 1, new Map(), new Date(0)])(
  '[D2] what readers disagree about has no canonical form: %p',
  (any) => expect(() => canonicalJson(any)).toThrow(TypeError),
);
