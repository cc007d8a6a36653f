import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { finderOf, formsOf } from './finder.ts';
import { knownRandom, knownValues } from './known-values.ts';
import { makeValue } from '../../src/sealing/value.ts';

const [value = '', other = ''] = knownValues('finder', 2);
const find = finderOf([
  { of: 'value', secret: Buffer.from(value) },
  { of: 'other', secret: Buffer.from(other) },
]);

describe('the search', () => {
  test('[S5] finds each form wherever it stands in whatever surrounds it, and nothing where it is not', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 40 }),
        fc.uint8Array({ maxLength: 40 }),
        fc.constantFrom(...formsOf(Buffer.from(value)).values()),
        (before, after, form) => {
          const bytes = Buffer.concat([before, form, after]);
          expect(find(bytes).map(({ of }) => of)).toContain('value');
          expect(find(bytes).map(({ of }) => of)).not.toContain('other');
          expect(find(Buffer.concat([before, after]))).toEqual([]);
        },
      ),
    );
  });

  test('[S5] finds a value in what was encoded as a whole', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 20 }),
        fc.uint8Array({ maxLength: 20 }),
        fc.constantFrom('base64' as const, 'base64url' as const, 'hex' as const),
        (before, after, encoding) => {
          const encoded = Buffer.concat([before, Buffer.from(value), after]).toString(encoding);
          expect(find(Buffer.from(`"${encoded}"`)).map(({ of }) => of)).toContain('value');
        },
      ),
    );
  });

  test('[S22] knows the values that are made of the known source', () => {
    const random = knownRandom('finder');
    const made = [makeValue(random), makeValue(random)].map((one) =>
      one.reveal((bytes) => Buffer.from(bytes).toString()),
    );
    expect(made).toEqual([value, other]);
  });
});
