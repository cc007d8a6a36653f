import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  CannotOpen,
  fingerprintOf,
  makeSealingKey,
  open,
  publicKeyFault,
  seal,
  sealToEach,
  sealingKeyOf,
} from '../../src/sealing/box.ts';
import { makeOverlayKey, overlayKeyOf } from '../../src/sealing/overlay.ts';
import { Plaintext } from '../../src/sealing/plaintext.ts';
import { makeValue } from '../../src/sealing/value.ts';

const bytesOf = (opened: Plaintext) => opened.reveal((bytes) => Buffer.from(bytes));
const textOf = (opened: Plaintext) => bytesOf(opened).toString('utf8');

describe('a plaintext', () => {
  const planted = 'CANARY-9f3b/7c@41 x';
  const plaintext = new Plaintext(planted);

  test('[S5] no way of printing shows it', () => {
    const shown = [
      String(plaintext),
      `${plaintext.toString()}`,
      inspect(plaintext),
      inspect({ deep: [{ er: plaintext }] }, { depth: 9, showHidden: true }),
      inspect(makeSealingKey(), { depth: 9, showHidden: true }),
      JSON.stringify(Object.entries(plaintext)),
    ];
    for (const text of shown) {
      expect(text).not.toContain(planted);
      expect(text).not.toContain('67,65,78');
    }
    expect(inspect(plaintext)).toBe('[plaintext]');
  });

  test('[S5] JSON of anything that holds one throws', () => {
    expect(() => JSON.stringify({ row: { plaintext } })).toThrow('a plaintext has no JSON form');
  });

  test('[S5] wiping what it was made of does not change it, and a structured clone does not carry it', () => {
    const source = Buffer.from(planted);
    const copy = new Plaintext(source);
    source.fill(0);
    expect(textOf(copy)).toBe(planted);
    expect(inspect(structuredClone(copy))).not.toContain('67');
  });
});

describe('a value', () => {
  test('[S22] is 32 bytes of the random source, written base64url', () => {
    const value = makeValue((bytes) => new Uint8Array(bytes).fill(251));
    expect(textOf(value)).toBe(Buffer.alloc(32, 251).toString('base64url'));
    expect(textOf(makeValue())).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(textOf(makeValue())).not.toBe(textOf(makeValue()));
  });

  test('[S22] a random source that answers short makes no value', () => {
    expect(() => makeValue(() => new Uint8Array(31))).toThrow('31 bytes');
  });
});

describe('sealing', () => {
  test('[S2] to each party apart: three blobs, none holds the value, each opened by its own key only', () => {
    const keys = { consumer: makeSealingKey(), provider: makeSealingKey(), operator: makeSealingKey() };
    const value = makeValue();
    const copies = sealToEach(value, {
      consumer: keys.consumer.publicKey,
      provider: keys.provider.publicKey,
      operator: keys.operator.publicKey,
    });
    expect(Object.keys(copies)).toEqual(['consumer', 'provider', 'operator']);
    for (const to of ['consumer', 'provider', 'operator'] as const) {
      const copy = copies[to];
      if (copy === undefined) throw new Error(`no copy for the ${to}`);
      expect(copy.fingerprint).toBe(keys[to].fingerprint);
      expect(Buffer.from(copy.sealed, 'base64').includes(bytesOf(value))).toBe(false);
      for (const by of ['consumer', 'provider', 'operator'] as const) {
        if (by === to) expect(textOf(open(copy.sealed, keys[by]))).toBe(textOf(value));
        else expect(() => open(copy.sealed, keys[by])).toThrow(CannotOpen);
      }
    }
  });

  test('[S2] without an operator key there is no third blob', () => {
    const copies = sealToEach(makeValue(), {
      consumer: makeSealingKey().publicKey,
      provider: makeSealingKey().publicKey,
      operator: undefined,
    });
    expect(Object.keys(copies)).toEqual(['consumer', 'provider']);
  });

  test('[S2] any bytes come back, the empty value too', () => {
    const key = makeSealingKey();
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const back = bytesOf(open(seal(new Plaintext(bytes), key.publicKey).sealed, key));
        return back.equals(bytes);
      }),
    );
  });

  test('[S2] a fault in opening holds no byte of the blob or the value', () => {
    const [mine, other] = [makeSealingKey(), makeSealingKey()];
    const { sealed } = seal(new Plaintext('planted-value'), other.publicKey);
    try {
      open(sealed, mine);
      throw new Error('it opened');
    } catch (error) {
      expect(error).toBeInstanceOf(CannotOpen);
      const shown = inspect(error, { depth: 9 });
      expect(shown).toContain(mine.fingerprint);
      expect(shown).not.toContain(sealed.slice(0, 12));
      expect(shown).not.toContain('planted-value');
    }
  });

  test('[U16] a public key that is none is told from one', () => {
    expect(publicKeyFault(makeSealingKey().publicKey)).toBeUndefined();
    expect(publicKeyFault('')).toMatch('0 bytes');
    expect(publicKeyFault('not base64!')).toMatch('not base64');
    expect(publicKeyFault(Buffer.alloc(31, 9).toString('base64'))).toMatch('31 bytes');
    const smallOrder = ['00'.repeat(32), `01${'00'.repeat(31)}`, `ec${'ff'.repeat(30)}7f`];
    for (const hex of smallOrder) {
      expect(publicKeyFault(Buffer.from(hex, 'hex').toString('base64'))).toMatch('no usable point');
    }
    // The last character's spare bits: the same 32 bytes in another text would be a second name for one key.
    const key = Buffer.alloc(32, 9).toString('base64');
    expect(publicKeyFault(key.replace('k=', 'l='))).toMatch('not base64');
  });

  test('[S2] a fingerprint names the key and is the same every time', () => {
    const key = makeSealingKey();
    expect(key.fingerprint).toMatch(/^x25519:[0-9a-f]{32}$/);
    expect(fingerprintOf(key.publicKey)).toBe(key.fingerprint);
    expect(makeSealingKey().fingerprint).not.toBe(key.fingerprint);
  });
});

test('[U16] an overlay key is one that WireGuard takes: clamped, its public half worked out from it', () => {
  // Two implementations of the curve agree on a secret from outside (case C47's first key).
  const known = new Plaintext(Buffer.from('5ce86efb75fa4e2c410f46e16de9f6acae1a1703528651b69bc176c088bef3ee', 'hex'));
  expect(overlayKeyOf(known).publicKey).toBe(sealingKeyOf(known).publicKey);
  const made = makeOverlayKey();
  const secret = bytesOf(made.secret);
  expect(secret.readUInt8(0) & 7).toBe(0);
  expect(secret.readUInt8(31) & 192).toBe(64);
  expect(publicKeyFault(made.publicKey)).toBeUndefined();
  expect(overlayKeyOf(made.secret).publicKey).toBe(made.publicKey);
});
