import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { makeSeed } from '../../src/bus/seed.ts';
import { makeTokenId, parseInvitation, printInvitation } from '../../src/bus/token.ts';
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { nodeName } from '../../src/domain/words/names.ts';
import { makeDeclarationKey } from '../../src/sealing/signing.ts';

const anvil = nodeName.parse('anvil');
const declarationKey = makeDeclarationKey().publicKey;

describe('the printed invitation', () => {
  const expiresAt = new Date('2030-01-01T00:00:00Z');
  const before = new Date('2029-12-31T23:59:59Z');
  const invitation = {
    node: anvil,
    tokenId: makeTokenId(),
    servers: ['nats://127.0.0.1:4222'],
    userJwt: 'a.b.c',
    seed: makeSeed('user'),
    declarationKey,
    expiresAt,
  };
  const line = printInvitation(invitation);

  test('[U16] is one line, and reads back as what it was', () => {
    expect(line).toMatch(/^mesh-[A-Za-z0-9_-]+$/);
    const read = parseInvitation(` ${line}\n`, before);
    if (isRefusal(read)) throw new Error(read.what);
    expect({ ...read, seed: read.seed.publicKey }).toEqual({ ...invitation, seed: invitation.seed.publicKey });
  });

  test('[U16] is refused when it is cut, changed, something else or expired, and never quoted', () => {
    const refusedAs = (text: string, now = before) => {
      const read = parseInvitation(text, now);
      if (!isRefusal(read)) return 'read';
      expect(read.kind).toBe('token-invalid');
      if (text.length > 20) expect(JSON.stringify(read)).not.toContain(text.slice(5, 21));
      return read.what;
    };
    expect(refusedAs('hello')).toBe('this is not an invitation');
    expect(refusedAs('mesh-')).toBe('this invitation cannot be read');
    expect(refusedAs(line, expiresAt)).toBe('this invitation of anvil expired at 2030-01-01T00:00:00.000Z');
    fc.assert(
      fc.property(fc.nat(line.length - 1), (end) => refusedAs(line.slice(0, end)) !== 'read'),
      { numRuns: 200 },
    );
    const seedText = invitation.seed.reveal((bytes) => Buffer.from(bytes).toString());
    const wrong = Buffer.from(line.slice(5), 'base64url').toString().replace(seedText, seedText.replace(/.$/, '1'));
    expect(refusedAs(`mesh-${Buffer.from(wrong).toString('base64url')}`)).toBe('this invitation cannot be read');
  });
});
