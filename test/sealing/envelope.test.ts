import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { declarationLimitBytes, signedText } from '../../src/domain/declaration/declaration.ts';
import { nodeName } from '../../src/domain/words/names.ts';
import { digestOf, sha256Hex } from '../../src/sealing/digest.ts';
import { signEnvelope, verifyEnvelope } from '../../src/sealing/envelope.ts';
import { Plaintext } from '../../src/sealing/plaintext.ts';
import { declarationKeyPem, loadDeclarationKey, makeDeclarationKey, sign, verify } from '../../src/sealing/signing.ts';

const node = nodeName.parse('anvil');
const other = nodeName.parse('bellows');
const key = makeDeclarationKey();
const trustedKey = key.publicKey;
const bodyOf = (of: string) =>
  JSON.stringify({
    address: '127.0.0.1',
    capabilities: ['é\u001f"'],
    granters: [],
    node: of,
    resources: [],
    schema: 'mesh.declaration',
    version: 1,
  });
const text = bodyOf(node);
const envelope = await signEnvelope({ node, number: 7, text, key });
const kindOf = (value: unknown, by = { node, trustedKey }) => {
  const verified = verifyEnvelope(value, by);
  return 'kind' in verified ? verified.kind : 'believed';
};

describe('an envelope', () => {
  test('[D3] is believed by the node it is for, with the key it trusts', () => {
    const verified = verifyEnvelope(JSON.parse(JSON.stringify(envelope)), { node, trustedKey });
    expect(verified).toMatchObject({ envelope: { number: 7 }, declaration: { node: 'anvil', resources: [] } });
    expect(envelope.digest).toBe(`sha256:${sha256Hex(text)}`);
  });

  test('[D3] any single changed byte is refused', () => {
    const bytes = Buffer.from(JSON.stringify(envelope));
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, by) => {
        const changed = Buffer.from(bytes);
        changed.writeUInt8(changed.readUInt8(at) ^ by, at);
        let value: unknown;
        try {
          value = JSON.parse(changed.toString('utf8'));
        } catch {
          return true;
        }
        // The same envelope in another spelling (\u001f, \u001F) is no change at all.
        return JSON.stringify(value) === bytes.toString('utf8') || kindOf(value) !== 'believed';
      }),
      { numRuns: 3000 },
    );
  });

  test('[D3] every changed character of its signature is refused, spare bits of base64 included', () => {
    for (let at = 0; at < envelope.signature.length; at += 1) {
      for (const put of 'ABQgwx/+=') {
        const signature = envelope.signature.slice(0, at) + put + envelope.signature.slice(at + 1);
        if (signature !== envelope.signature) expect(kindOf({ ...envelope, signature })).not.toBe('believed');
      }
    }
  });

  test('[D3] each way of not being ours is told apart', async () => {
    expect(kindOf('hello')).toBe('unreadable');
    expect(kindOf(undefined)).toBe('unreadable');
    expect(kindOf({ ...envelope, more: 1 })).toBe('unreadable');
    expect(kindOf(envelope, { node, trustedKey: makeDeclarationKey().publicKey })).toBe('wrong-signature');
    expect(kindOf(envelope, { node, trustedKey: 'nonsense' })).toBe('wrong-signature');
    expect(kindOf({ ...envelope, number: 8 })).toBe('wrong-signature');
    expect(kindOf({ ...envelope, node: other }, { node: other, trustedKey })).toBe('wrong-signature');
    expect(kindOf(envelope, { node: other, trustedKey })).toBe('another-node');
    expect(kindOf({ ...envelope, body: `${text} ` })).toBe('digest-mismatch');
    expect(kindOf(await signEnvelope({ node, number: 7, text: '{"a":', key }))).toBe('not-a-declaration');
    expect(kindOf(await signEnvelope({ node, number: 7, text: '{}', key }))).toBe('not-a-declaration');
    expect(kindOf(await signEnvelope({ node, number: 7, text: bodyOf(other), key }))).toBe('not-a-declaration');
  });

  test('[D4] a body over the limit is refused before anything is made of it', async () => {
    const huge = ' '.repeat(declarationLimitBytes + 1);
    expect(kindOf(await signEnvelope({ node, number: 1, text: huge, key }))).toBe('unreadable');
  });

  test('[D3] two bodies never share a digest through halves of surrogate pairs', async () => {
    const body = text.replace('127.0.0.1', '\ufffd');
    const half = text.replace('127.0.0.1', '\ud800');
    const signed = await signEnvelope({ node, number: 1, text: body, key });
    expect(digestOf(half)).toBe(signed.digest);
    expect(kindOf(signed)).toBe('believed');
    expect(kindOf({ ...signed, body: half })).toBe('unreadable');
  });

  test('[S5] no refusal quotes the body', async () => {
    const planted = bodyOf(node).replace('"resources":[]', '"resources":["CANARY-9f3b"]');
    for (const value of [
      await signEnvelope({ node, number: 1, text: planted, key }),
      await signEnvelope({ node, number: 1, text: 'CANARY-9f3b', key }),
    ]) {
      const verified = verifyEnvelope(value, { node, trustedKey });
      expect(verified).toHaveProperty('kind', 'not-a-declaration');
      expect(JSON.stringify(verified)).not.toContain('CANARY');
    }
  });
});

describe('the key that signs declarations', () => {
  test('[D3] is read back from PEM and from raw base64 as the same key', async () => {
    const again = loadDeclarationKey(declarationKeyPem(key));
    expect(again.publicKey).toBe(key.publicKey);
    expect(verify('a text', await sign('a text', again), key.publicKey)).toBe(true);
    // RFC 8032, section 7.1, test 1.
    const known = loadDeclarationKey(
      new Plaintext(
        Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex').toString('base64'),
      ),
    );
    expect(Buffer.from(known.publicKey, 'base64').toString('hex')).toBe(
      'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    );
  });

  test('[S5] what is no key is refused without quoting it, and so is a key of another kind', () => {
    expect(() => loadDeclarationKey(new Plaintext('-----BEGIN CANARY'))).toThrow('neither PEM nor base64');
    const x25519 = `-----BEGIN PRIVATE KEY-----\n${Buffer.concat([Buffer.from('302e020100300506032b656e04220420', 'hex'), Buffer.alloc(32, 8)]).toString('base64')}\n-----END PRIVATE KEY-----\n`;
    expect(() => loadDeclarationKey(new Plaintext(x25519))).toThrow('must be an Ed25519 key');
  });

  test('[D3] a signature is over this exact text', async () => {
    const named = { node, digest: digestOf('x'), number: 3 };
    const signature = await sign(signedText(named), key);
    expect(verify(signedText(named), signature, trustedKey)).toBe(true);
    expect(verify(signedText({ ...named, number: 30 }), signature, trustedKey)).toBe(false);
    expect(verify(signedText(named), '', trustedKey)).toBe(false);
  });
});
