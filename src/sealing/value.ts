import { randomBytes } from 'node:crypto';
import { Plaintext } from './plaintext.ts';

const valueBytes = 32;

/** Answers that many random bytes. */
export type RandomBytes = (bytes: number) => Uint8Array;

/**
 * S22: the one function that makes a value; push, rotate, rekey and reissue all call it. 32 random bytes, written
 * base64url without padding (43 characters). `random` is given only by tests.
 */
export function makeValue(random: RandomBytes = randomBytes): Plaintext {
  const bytes = random(valueBytes);
  // A source that answers short would make a value that can be guessed, and nobody would ever see it.
  if (bytes.length !== valueBytes)
    throw new Error(`the random source answered ${bytes.length} bytes, not ${valueBytes}`);
  return new Plaintext(Buffer.from(bytes).toString('base64url'));
}
