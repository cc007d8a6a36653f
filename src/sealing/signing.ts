/** The key that signs declarations: Ed25519. Hosts trust its public half, given to them in the invitation (D3). */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign as signBytes,
  verify as verifyBytes,
  type KeyObject,
} from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { base64Of, bytesOfBase64 } from './base64.ts';
import { Plaintext } from './plaintext.ts';

const seedBytes = 32;
/** What stands before the 32 bytes of an Ed25519 private key in PKCS #8, and of a public one in SPKI. */
const pkcs8Head = Buffer.from('302e020100300506032b657004220420', 'hex');
const spkiHead = Buffer.from('302a300506032b6570032100', 'hex');
const publicJwk = z.object({ x: z.base64url() });

export type DeclarationKey = {
  /** base64 of the 32 bytes; worked out from the private half. */
  readonly publicKey: string;
  /** Node's handle on the private half: it shows nothing when printed, and has no JSON form. */
  readonly handle: KeyObject;
};

function keyFrom(handle: KeyObject): DeclarationKey {
  if (handle.asymmetricKeyType !== 'ed25519') throw new Error('the key that signs declarations must be an Ed25519 key');
  const { x } = publicJwk.parse(createPublicKey(handle).export({ format: 'jwk' }));
  return { publicKey: base64Of(Buffer.from(x, 'base64url')), handle };
}

/** Makes a new key that signs declarations. */
export function makeDeclarationKey(): DeclarationKey {
  return keyFrom(generateKeyPairSync('ed25519').privateKey);
}

/** The private half as PEM text, for its 0600 file. */
export function declarationKeyPem(key: DeclarationKey): Plaintext {
  return new Plaintext(key.handle.export({ format: 'pem', type: 'pkcs8' }).toString());
}

/** Reads a private half: PEM (PKCS #8), or base64 of the 32 raw bytes. Throws, without a byte of it, on anything else. */
export function loadDeclarationKey(text: Plaintext): DeclarationKey {
  return text.reveal((bytes) => {
    const content = Buffer.from(bytes).toString('utf8').trim();
    const raw = bytesOfBase64(content);
    if (raw?.length === seedBytes) {
      return keyFrom(createPrivateKey({ key: Buffer.concat([pkcs8Head, raw]), format: 'der', type: 'pkcs8' }));
    }
    let handle: KeyObject;
    try {
      handle = createPrivateKey({ key: content, format: 'pem' });
    } catch {
      // No cause: a parser's complaint may quote what it was given.
      throw new Error('the declaration key is neither PEM nor base64 of 32 bytes');
    }
    return keyFrom(handle);
  });
}

/** Ed25519 over the text's UTF-8; base64. In one of the process's threads: many are signed while this one goes on. */
export async function sign(text: string, key: DeclarationKey): Promise<string> {
  return base64Of(await signInThread(null, Buffer.from(text), key.handle));
}
const signInThread = promisify<null, Buffer, KeyObject, Buffer>(signBytes);

/** Whether `signature` (base64) over `text` is by the holder of `publicKey` (base64 of 32 bytes). A malformed key or signature: false. */
export function verify(text: string, signature: string, publicKey: string): boolean {
  const bytes = bytesOfBase64(signature);
  const key = bytesOfBase64(publicKey);
  if (bytes === undefined || key?.length !== 32) return false;
  const handle = createPublicKey({ key: Buffer.concat([spkiHead, key]), format: 'der', type: 'spki' });
  return verifyBytes(null, Buffer.from(text), handle, bytes);
}
