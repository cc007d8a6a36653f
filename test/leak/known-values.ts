/** A random source that a test knows: the n-th answer is made of a seed and n, so that every value made from it can be searched for. */
import { createHash } from 'node:crypto';
import type { RandomBytes } from '../../src/sealing/value.ts';

const nth = (seed: string, n: number, bytes: number): Buffer =>
  createHash('sha512').update(`${seed} ${n}`).digest().subarray(0, bytes);

export function knownRandom(seed: string): RandomBytes {
  let asked = 0;
  return (bytes) => nth(seed, asked++, bytes);
}

/** The first values that `makeValue` makes of this source, in their order. */
export function knownValues(seed: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => nth(seed, n, 32).toString('base64url'));
}
