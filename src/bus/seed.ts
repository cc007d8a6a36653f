import { inspect } from 'node:util';
import { createAccount, createOperator, createUser, fromPublic, fromSeed, type KeyPair } from '@nats-io/nkeys';

const makers = { operator: createOperator, account: createAccount, user: createUser };
const prefixes = { operator: 'O', account: 'A', user: 'U' };
export type SeedKind = keyof typeof makers;

/** The private half of an nkey. It cannot be printed or put in JSON by accident; only `reveal` gives its text up (S5). */
export class Seed {
  readonly #text: Uint8Array;
  /** The public half; worked out from the seed. */
  readonly publicKey: string;

  /** Takes the seed's text (`SU…`), a newline after it ignored. Throws, without quoting it, when it is none of that kind. */
  constructor(kind: SeedKind, text: string | Uint8Array) {
    const bytes = new TextEncoder().encode((typeof text === 'string' ? text : new TextDecoder().decode(text)).trim());
    let pair: KeyPair;
    try {
      pair = fromSeed(bytes);
      this.publicKey = pair.getPublicKey();
    } catch {
      // No cause: a parser's complaint may quote what it was given.
      throw new Error(`this is no seed of a bus ${kind}`);
    }
    if (!this.publicKey.startsWith(prefixes[kind]))
      throw new Error(`this is the seed of another kind of key than a bus ${kind}`);
    this.#text = bytes;
  }

  /** Hands the seed's text, as bytes, to `use`. */
  reveal<T>(use: (text: Uint8Array) => T): T {
    return use(this.#text);
  }

  /** Ed25519 over the text's UTF-8; base64. */
  sign(text: string): string {
    return Buffer.from(fromSeed(this.#text).sign(new TextEncoder().encode(text))).toString('base64');
  }

  toString(): string {
    return '[seed]';
  }

  [inspect.custom](): string {
    return `[seed of ${this.publicKey}]`;
  }

  toJSON(): never {
    throw new TypeError('a seed has no JSON form');
  }
}

/** A new seed. A node's identity key is a user's, made on the node. */
export function makeSeed(kind: SeedKind): Seed {
  return new Seed(kind, makers[kind]().getSeed());
}

/** What is wrong with a text as the public half of a bus user, or undefined when it is one. */
export function userKeyFault(text: string): string | undefined {
  if (!text.startsWith('U')) return 'it does not begin with U, as the public key of a bus user does';
  try {
    fromPublic(text);
    return undefined;
  } catch {
    return 'it is not a whole nkey: its checksum does not fit';
  }
}

/** Whether `signature` (base64) over `text` is by the holder of this public nkey. Anything malformed: false. */
export function isSignedBy(publicKey: string, text: string, signature: string): boolean {
  const bytes = Buffer.from(signature, 'base64');
  if (bytes.length !== 64 || userKeyFault(publicKey) !== undefined) return false;
  return fromPublic(publicKey).verify(new TextEncoder().encode(text), new Uint8Array(bytes));
}
