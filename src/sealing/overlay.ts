import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { base64Of } from './base64.ts';
import { Plaintext } from './plaintext.ts';

/** A node's key in the overlay network, as WireGuard writes it: both halves are base64 of 32 bytes. */
export type OverlayKey = { readonly publicKey: string; readonly secret: Plaintext };

/** What stands before the 32 bytes of an x25519 private key in PKCS #8. */
const pkcs8Head = Buffer.from('302e020100300506032b656e04220420', 'hex');
const publicJwk = z.object({ x: z.base64url() });

/** Makes a new overlay key pair, on the node. */
export function makeOverlayKey(): OverlayKey {
  const bytes = randomBytes(32);
  // WireGuard's own `genkey` clamps; some of its implementations refuse a key that is not.
  bytes.writeUInt8(bytes.readUInt8(0) & 248, 0);
  bytes.writeUInt8((bytes.readUInt8(31) & 127) | 64, 31);
  return overlayKeyOf(new Plaintext(bytes));
}

/** The pair of a private half of 32 bytes. Any other length throws. */
export function overlayKeyOf(secret: Plaintext): OverlayKey {
  if (secret.length !== 32) throw new Error(`a private overlay key is 32 bytes, this one is ${secret.length}`);
  const key = secret.reveal((bytes) =>
    createPrivateKey({ key: Buffer.concat([pkcs8Head, bytes]), format: 'der', type: 'pkcs8' }),
  );
  const { x } = publicJwk.parse(createPublicKey(key).export({ format: 'jwk' }));
  return { publicKey: base64Of(Buffer.from(x, 'base64url')), secret };
}
