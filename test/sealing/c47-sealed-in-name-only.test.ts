import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { CannotOpen, makeSealingKey, open, seal, sealingKeyOf } from '../../src/sealing/box.ts';
import { Plaintext } from '../../src/sealing/plaintext.ts';

const keyVector = z.object({ seed_hex: z.string(), public_hex: z.string(), secret_hex: z.string() });
const vector = z
  .object({
    k1: keyVector,
    k2: keyVector,
    plaintext: z.string(),
    sealed_k1_base64: z.string(),
    sealed_k2_base64: z.string(),
  })
  .parse(JSON.parse(readFileSync(new URL('../cases/C47-sealed-in-name-only/vector.json', import.meta.url), 'utf8')));

const keyOf = (hex: string) => sealingKeyOf(new Plaintext(Buffer.from(hex, 'hex')));
const k1 = keyOf(vector.k1.secret_hex);
const k2 = keyOf(vector.k2.secret_hex);
const textOf = (opened: Plaintext) => opened.reveal((bytes) => Buffer.from(bytes).toString('utf8'));

describe('C47 sealed in name only', () => {
  test('[C47] real boxes open, each with its own key', () => {
    expect(textOf(open(vector.sealed_k1_base64, k1))).toBe(vector.plaintext);
    expect(textOf(open(vector.sealed_k2_base64, k2))).toBe(vector.plaintext);
  });

  test('[C47] a box of one key is refused to another, naming the key that was tried', () => {
    expect(() => open(vector.sealed_k1_base64, k2)).toThrow(CannotOpen);
    expect(() => open(vector.sealed_k1_base64, k2)).toThrow(k2.fingerprint);
  });

  test('[C47] every single flipped bit is refused', () => {
    const box = Buffer.from(vector.sealed_k1_base64, 'base64');
    for (let bit = 0; bit < box.length * 8; bit += 1) {
      const flipped = Buffer.from(box);
      const at = Math.floor(bit / 8);
      flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << (bit % 8)), at);
      expect(() => open(flipped.toString('base64'), k1)).toThrow(CannotOpen);
    }
  });

  test('[C47] every prefix is refused, of the bytes and of their text', () => {
    const box = Buffer.from(vector.sealed_k1_base64, 'base64');
    for (let length = 0; length < box.length; length += 1) {
      expect(() => open(box.subarray(0, length).toString('base64'), k1)).toThrow(CannotOpen);
    }
    for (let length = 0; length < vector.sealed_k1_base64.length; length += 1) {
      expect(() => open(vector.sealed_k1_base64.slice(0, length), k1)).toThrow(CannotOpen);
    }
  });

  test('[C47] sealing twice gives two boxes, each 48 bytes longer than the text', () => {
    const value = new Plaintext(vector.plaintext);
    const [first, second] = [seal(value, k1.publicKey), seal(value, k1.publicKey)];
    expect(first.sealed).not.toBe(second.sealed);
    for (const { sealed } of [first, second]) {
      expect(Buffer.from(sealed, 'base64').length).toBe(Buffer.byteLength(vector.plaintext) + 48);
    }
  });

  test('[C47] no way of decoding the stored form shows the text', () => {
    const { sealed } = seal(new Plaintext(vector.plaintext), k1.publicKey);
    const whole = Buffer.from(sealed, 'base64');
    const decoded = [
      Buffer.from(sealed),
      whole,
      Buffer.from(sealed, 'base64url'),
      Buffer.from(sealed, 'hex'),
      Buffer.from(whole.toString('latin1'), 'hex'),
      Buffer.from(whole.toString('latin1'), 'base64'),
      Buffer.from(decodeURIComponent(sealed)),
    ];
    for (const form of decoded) {
      expect(form.includes(Buffer.from(vector.plaintext))).toBe(false);
      expect(form.includes(Buffer.from('sample-Password'))).toBe(false);
    }
  });

  test('[C47] the public key handed out is worked out from the secret key', () => {
    expect(Buffer.from(k1.publicKey, 'base64').toString('hex')).toBe(vector.k1.public_hex);
    expect(Buffer.from(k2.publicKey, 'base64').toString('hex')).toBe(vector.k2.public_hex);
    const made = makeSealingKey();
    expect(sealingKeyOf(made.secret).publicKey).toBe(made.publicKey);
    // Even a public half that lies does not stop the right key from opening: it is not what `open` uses.
    expect(textOf(open(vector.sealed_k1_base64, { ...k1, publicKey: k2.publicKey }))).toBe(vector.plaintext);
  });
});
