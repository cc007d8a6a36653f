import { createPrivateKey, sign as signBytes, type KeyObject } from 'node:crypto';
import { inspect } from 'node:util';
import { createAccount, createOperator, createUser, fromPublic, fromSeed, type KeyPair } from '@nats-io/nkeys';

const makers = { operator: createOperator, account: createAccount, user: createUser };
const prefixes = { operator: 'O', account: 'A', user: 'U' };
export type SeedKind = keyof typeof makers;

/** The private half of an nkey. It cannot be printed or put in JSON by accident; only `reveal` gives its text up (S5). */
export class Seed {
  readonly #text: Uint8Array;
  /** Node signs in microseconds where the library's own JavaScript takes 20 ms. */
  readonly #handle: KeyObject;
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
    this.#handle = createPrivateKey({ key: Buffer.concat([pkcs8Head, rawSeed(bytes)]), format: 'der', type: 'pkcs8' });
  }

  /** Hands the seed's text, as bytes, to `use`. */
  reveal<T>(use: (text: Uint8Array) => T): T {
    return use(this.#text);
  }

  /** Ed25519 over the text's UTF-8; base64. */
  sign(text: string): string {
    return Buffer.from(this.signBytes(new TextEncoder().encode(text))).toString('base64');
  }

  /** Ed25519; 64 bytes. */
  signBytes(bytes: Uint8Array): Uint8Array {
    return new Uint8Array(signBytes(null, bytes, this.#handle));
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

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** What stands before the 32 bytes of an Ed25519 private key in PKCS #8. */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The 32 bytes in a seed's text, which is base32 of two bytes that tell the kind, these, and a checksum. */
function rawSeed(text: Uint8Array): Uint8Array {
  let [bits, held] = [0, 0];
  const bytes: number[] = [];
  for (const letter of new TextDecoder().decode(text)) {
    bits = ((bits << 5) | base32.indexOf(letter)) & 0xfff;
    held += 5;
    if (held < 8) continue;
    held -= 8;
    bytes.push((bits >> held) & 0xff);
  }
  return Uint8Array.from(bytes.slice(2, 34));
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
