import { inspect } from 'node:util';

/**
 * A value that cannot be printed by accident: only `reveal` gives it up (S5). Private keys are plaintexts too.
 * The bytes are copied on the way in, so that whoever made them may wipe theirs.
 */
export class Plaintext {
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array | string) {
    this.#bytes = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : Uint8Array.from(bytes);
  }

  /** The length in bytes, which is no secret: a sealed blob tells it to anyone. */
  get length(): number {
    return this.#bytes.length;
  }

  /** Hands the bytes to `use` and returns what that returns. The bytes are the plaintext's own: do not keep or change them. */
  reveal<T>(use: (bytes: Uint8Array) => T): T {
    return use(this.#bytes);
  }

  toString(): string {
    return '[plaintext]';
  }

  [inspect.custom](): string {
    return '[plaintext]';
  }

  // A plaintext in JSON is a leak on its way to a row, a log or a history: stop there, loudly.
  toJSON(): never {
    throw new TypeError('a plaintext has no JSON form');
  }
}
