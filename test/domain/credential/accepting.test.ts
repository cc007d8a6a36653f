import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { acceptingOf, endsOf, secretNamed } from '../../../src/domain/credential/accepting.ts';
import { unfitFor, valueLimitBytes } from '../../../src/domain/credential/unfit-value.ts';
import { secretForm } from '../../../src/domain/declaration/declaration.ts';
import { isRefusal, type Refusal } from '../../../src/domain/refusal/refusal.ts';
import type { Inventory } from '../../../src/domain/resolution/inventory.ts';
import { localName, nodeName, partName } from '../../../src/domain/words/names.ts';
import { at, consumer, mesh, module, node, own, pairKey, provider } from '../mesh.ts';

const vault = module('vault', { holds: { seal: '/etc/vault/seal' } });
const reports = { file: '/etc/shop/reports', as: 'json' };
const web = { file: '/etc/shop/web', as: 'url' };
const parts = {
  modules: [provider('postgres'), consumer('notes'), vault, consumer('shop', { reports, web })],
  assigned: ['alpha/notes', 'beta/postgres', 'gamma/vault', 'gamma/shop'],
};
type More = { readonly local?: string; readonly provider?: string };
function named(placed: string, name: string, { local, provider: from }: More = {}) {
  return {
    ...at(placed),
    name: partName.parse(name),
    ...(local === undefined ? {} : { local: localName.parse(local) }),
    ...(from === undefined ? {} : { provider: nodeName.parse(from) }),
  };
}
const meant = (placed: string, name: string, more: More = {}, inventory: Inventory = mesh(parts)) =>
  secretNamed(inventory, named(placed, name, more));
function refusal(answer: ReturnType<typeof meant>): Refusal {
  if (!isRefusal(answer)) throw new Error(`not refused: ${answer.path}`);
  return answer;
}

describe('which secret is meant', () => {
  test('[S12] a provision that the module takes, one of its locals, or a secret of its own: with whose keys it is sealed to', () => {
    const ends = (...of: Parameters<typeof meant>) => {
      const secret = meant(...of);
      if (isRefusal(secret)) throw new Error(secret.what);
      return [secret.path, endsOf(secret)];
    };
    expect(ends('alpha/notes', 'postgres-database')).toEqual(['beta/postgres-database/alpha/notes', ['alpha', 'beta']]);
    expect(ends('gamma/shop', 'postgres-database', { local: 'web', provider: 'beta' })).toEqual([
      'beta/postgres-database/gamma/shop/web',
      ['gamma', 'beta'],
    ]);
    expect(ends('gamma/vault', 'seal')).toEqual(['gamma/vault/seal', ['gamma']]);
  });

  test('[S12] what is not asked for is refused with what is', () => {
    expect(refusal(meant('alpha/notes', 'seal'))).toMatchObject({
      kind: 'unknown-credential',
      why: 'its manifest asks for postgres-database',
      next: ['mesh secret accept alpha/notes postgres-database'],
    });
    // Two locals match: both are listed, neither is chosen.
    expect(refusal(meant('gamma/shop', 'postgres-database')).next).toEqual([
      'mesh secret accept gamma/shop postgres-database --local reports',
      'mesh secret accept gamma/shop postgres-database --local web',
    ]);
    expect(refusal(meant('alpha/notes', 'postgres-database', { provider: 'gamma' }))).toMatchObject({
      kind: 'unknown-credential',
      why: expect.stringContaining('beta/postgres'),
    });
    expect(refusal(meant('gamma/vault', 'seal', { provider: 'beta' })).kind).toBe('unknown-credential');
    expect(refusal(meant('gamma/vault', 'seal', { local: 'web' })).kind).toBe('unknown-credential');
    expect(refusal(meant('beta/postgres', 'seal')).next).toEqual(['mesh module show postgres']);
    expect(refusal(meant('alpha/vault', 'seal')).kind).toBe('unknown-assignment');
  });

  test('[S12] [D5] an end without a key, or a node that cannot be resolved, is named', () => {
    const { sealingFingerprint: _, ...invited } = node('beta');
    const waiting = mesh({ ...parts, nodes: ['alpha', invited, 'gamma'] });
    expect(refusal(meant('alpha/notes', 'postgres-database', {}, waiting))).toMatchObject({
      kind: 'node-not-joined',
      facts: { nodes: ['beta'] },
    });
    const unprovided = mesh({ ...parts, assigned: ['alpha/notes'] });
    expect(refusal(meant('alpha/notes', 'postgres-database', {}, unprovided)).kind).toBe('node-unresolvable');
  });

  test('[S13] the remedy that refusals name is a command that means just that secret', () => {
    for (const [placed, name, more] of [
      ['alpha/notes', 'postgres-database', {}],
      ['gamma/shop', 'postgres-database', { local: 'reports' }],
      ['gamma/vault', 'seal', {}],
    ] as const) {
      const secret = meant(placed, name, more);
      if (isRefusal(secret)) throw new Error(secret.what);
      const local = 'local' in more ? ` --local ${more.local}` : '';
      expect(acceptingOf(secret)).toBe(`mesh secret accept ${placed} ${name}${local}`);
    }
  });
});

describe('what a value cannot be', () => {
  const key = pairKey('alpha/notes', 'beta/postgres');
  const path = 'beta/postgres-database/alpha/notes';
  const forms = [...secretForm.options, 'filled', 'filled-password'] as const;
  const asPair = (form: (typeof forms)[number], bytes: Uint8Array) =>
    unfitFor({ kind: 'pair', key, path, form }, bytes);
  const asOwn = (bytes: Uint8Array) =>
    unfitFor({ kind: 'own', key: own('gamma/vault', 'seal').key, path: 'gamma/vault/seal' }, bytes);
  const bytes = (text: string) => new TextEncoder().encode(text);

  test('[S12] [C43] a NUL byte, and more than the limit, which is named; the limit itself is no fault', () => {
    for (const judge of [asOwn, (of: Uint8Array) => asPair('password', of)]) {
      expect(judge(bytes('a\0b'))?.what).toContain('a NUL byte');
      expect(judge(new Uint8Array(valueLimitBytes + 1).fill(0x6b))?.what).toContain('more than 65536 bytes');
      expect(judge(new Uint8Array(valueLimitBytes).fill(0x6b))).toBeUndefined();
    }
  });

  test('[S12] [C43] an empty one is an own secret, and no credential', () => {
    expect(asOwn(bytes(''))).toBeUndefined();
    for (const form of forms) expect(asPair(form, bytes(''))?.what).toContain('it is empty');
  });

  test('[S12] [S6] what the consumer’s form cannot hold, and would refuse the whole node for', () => {
    const notText = Uint8Array.of(0x61, 0xff);
    expect(asPair('password', notText)).toBeUndefined();
    for (const form of forms.filter((one) => one !== 'password'))
      expect(asPair(form, notText)?.what).toContain('no text in UTF-8');
    for (const ending of ['\n', '\r', '\r\n']) {
      expect(asPair('pgpass', bytes(`a${ending}`))?.what).toContain('a line break');
      for (const form of forms.filter((one) => one !== 'pgpass'))
        expect(asPair(form, bytes(`a${ending}`))).toBeUndefined();
    }
  });

  test('[S5] no refusal holds a part of the value', () => {
    fc.assert(
      fc.property(fc.constantFrom(...forms), fc.stringMatching(/^[A-Z]{8,16}$/), (form, planted) => {
        for (const value of [bytes(`${planted}\0`), bytes(`${planted}\n`), Uint8Array.of(...bytes(planted), 0xff)]) {
          const said = JSON.stringify([asPair(form, value), asOwn(value)]);
          expect(said).not.toContain(planted);
        }
      }),
    );
  });
});
