/**
 * Sealed boxes (libsodium `crypto_box_seal`): anyone seals to a public key, only the private half opens (S2).
 * A public key is always worked out from its private half and never kept beside it, so that the two cannot
 * disagree. Keys and blobs travel as standard base64, read strictly.
 */
import sodium from 'libsodium-wrappers';
import type { SealedCopy } from '../domain/credential/credential.ts';
import { base64Of, bytesOfBase64 } from './base64.ts';
import { sha256Hex } from './digest.ts';
import { Plaintext } from './plaintext.ts';

// The library is compiled code that is made ready once; awaiting it here lets every function below be plain.
await sodium.ready;

export const keyBytes = 32;

/** A sealing key pair. Made by `makeSealingKey` or `sealingKeyOf` alone, so that both halves belong together. */
export type SealingKey = {
  /** base64 of the 32 bytes. */
  readonly publicKey: string;
  readonly fingerprint: string;
  readonly secret: Plaintext;
};

/** The box does not open: another key's, cut, or changed. Names the key that was tried, never a byte of either. */
export class CannotOpen extends Error {
  readonly fingerprint: string;
  constructor(fingerprint: string) {
    super(`the sealed blob does not open with the key ${fingerprint}: it was sealed to another key, or is damaged`);
    this.name = 'CannotOpen';
    this.fingerprint = fingerprint;
  }
}

/** Makes a new pair, on the machine that is to hold it. */
export function makeSealingKey(): SealingKey {
  const { privateKey } = sodium.crypto_box_keypair();
  const key = sealingKeyOf(new Plaintext(privateKey));
  sodium.memzero(privateKey);
  return key;
}

/** The pair of a private half of 32 bytes. Any other length throws; the message tells the length only. */
export function sealingKeyOf(secret: Plaintext): SealingKey {
  if (secret.length !== keyBytes)
    throw new Error(`a private sealing key is ${keyBytes} bytes, this one is ${secret.length}`);
  const publicKey = base64Of(secret.reveal((bytes) => sodium.crypto_scalarmult_base(bytes)));
  return { publicKey, fingerprint: fingerprintOf(publicKey), secret };
}

/** `x25519:` and the first 32 hex digits of SHA-256 of the public key's bytes: what names a key in rows and messages. */
export function fingerprintOf(publicKey: string): string {
  return `x25519:${sha256Hex(publicKeyBytes(publicKey)).slice(0, 32)}`;
}

/**
 * What is wrong with a text as an x25519 public key, or undefined when it is one: base64 of 32 bytes, and no point of
 * small order (with such a one everybody could open what is sealed to it).
 */
export function publicKeyFault(text: string): string | undefined {
  const bytes = bytesOfBase64(text);
  if (bytes === undefined) return 'it is not base64';
  if (bytes.length !== keyBytes) return `it is ${bytes.length} bytes long, not ${keyBytes}`;
  try {
    sodium.crypto_scalarmult(new Uint8Array(keyBytes).fill(1), bytes);
    return undefined;
  } catch {
    // The one thing that this multiplication refuses is a point of small order.
    return 'it is no usable point of the curve';
  }
}

function publicKeyBytes(publicKey: string): Uint8Array {
  const bytes = bytesOfBase64(publicKey);
  if (bytes === undefined || bytes.length !== keyBytes) throw new Error(`a public key is base64 of ${keyBytes} bytes`);
  return bytes;
}

/** Seals to one public key; twice the same is two different blobs. Throws when the text is no public key. */
export function seal(plaintext: Plaintext, publicKey: string): SealedCopy {
  const key = publicKeyBytes(publicKey);
  const sealed = plaintext.reveal((bytes) => sodium.crypto_box_seal(bytes, key));
  return { sealed: base64Of(sealed), fingerprint: fingerprintOf(publicKey) };
}

/** Opens what was sealed to this pair; throws `CannotOpen` for anything else, never answers an empty value for it. */
export function open(sealed: string, key: SealingKey): Plaintext {
  const box = bytesOfBase64(sealed);
  if (box === undefined) throw new CannotOpen(key.fingerprint);
  return key.secret.reveal((secret) => {
    let opened: Uint8Array;
    try {
      opened = sodium.crypto_box_seal_open(box, sodium.crypto_scalarmult_base(secret), secret);
    } catch {
      // No cause: the library's error says nothing more, and whatever it may hold one day must not travel.
      throw new CannotOpen(key.fingerprint);
    }
    const plaintext = new Plaintext(opened);
    sodium.memzero(opened);
    return plaintext;
  });
}

/** S2. One value, sealed apart to each party's public key: the consumer's node, the provider's, and the operator's if there is one. */
export function sealToEach(
  value: Plaintext,
  to: { readonly consumer: string; readonly provider: string; readonly operator?: string | undefined },
): { readonly consumer: SealedCopy; readonly provider: SealedCopy; readonly operator?: SealedCopy } {
  const copies = { consumer: seal(value, to.consumer), provider: seal(value, to.provider) };
  return to.operator === undefined ? copies : { ...copies, operator: seal(value, to.operator) };
}
