import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import {
  appliedKeys,
  assignmentKeys,
  boundKeys,
  collectKeys,
  compositionKeys,
  decodeToken,
  encodeToken,
  healthKeys,
  keysUnder,
  needKeys,
  registryKeys,
  settingKeys,
} from '../../../src/domain/provisioning/keys.ts';
import { localName, moduleName, nodeName, partName, provisionName } from '../../../src/domain/words/names.ts';

const wellFormed = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }).filter((text) => !/\p{Surrogate}/u.test(text)),
  fc
    .array(fc.constantFrom('=', '.', ':', '*', '>', ' ', '=2E', 'a', 'é', 'é', '日', '/', '\0'), { minLength: 1 })
    .map((all) => all.join('')),
);
const read = (token: string): string | undefined => {
  const decoded = decodeToken(token);
  return decoded.kind === 'text' ? decoded.text : undefined;
};

describe('tokens', () => {
  test('[P1] shell:zsh:normal is written shell=3Azsh=3Anormal', () => {
    expect(encodeToken('shell:zsh:normal')).toBe('shell=3Azsh=3Anormal');
    expect(read('shell=3Azsh=3Anormal')).toBe('shell:zsh:normal');
    expect(encodeToken('ü=.')).toBe('=C3=BC=3D=2E');
  });

  test('[P1] every non-empty well-formed text is read back, and its token is one that a key can hold', () => {
    fc.assert(
      fc.property(wellFormed, (text) => {
        const token = encodeToken(text);
        expect(token).toMatch(/^[A-Za-z0-9_/=-]+$/);
        expect(read(token)).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  test('[P1] two texts never share a token, and two tokens never a text', () => {
    fc.assert(
      fc.property(wellFormed, wellFormed, (one, other) => {
        expect(encodeToken(one) === encodeToken(other)).toBe(one === other);
      }),
    );
    const tokens = fc
      .array(fc.constantFrom('=', 'a', 'A', '2', 'E', '4', '1', 'C', '3', 'B', '=41', '=C3=BC', 'f', '_', '.'))
      .map((all) => all.join(''));
    fc.assert(
      fc.property(tokens, (token) => {
        const text = read(token);
        if (text !== undefined) expect(encodeToken(text)).toBe(token);
      }),
      { numRuns: 1000 },
    );
  });

  test.each(['', '=', '=4', '=4g', '=3a', '=41', '=2', 'a.b', 'a b', 'ü', '=FF', '=C0=80', '=ED=A0=80', 'a='])(
    '[P1] %j is no token: a fault that names it',
    (token) => {
      const decoded = decodeToken(token);
      expect(decoded).toMatchObject({ kind: 'key-fault', key: token });
      expect(JSON.stringify(decoded)).toContain(JSON.stringify(JSON.stringify(token)).slice(1, -1));
    },
  );

  test('[P1] what has no token is no text of a name: empty, or not well-formed', () => {
    expect(() => encodeToken('')).toThrow('empty');
    expect(() => encodeToken('\ud800')).toThrow('surrogate');
  });

  test('[C77] every name of the case has a token of its own that is read back, in which nothing stands for itself', () => {
    const names = z
      .array(z.string())
      .parse(JSON.parse(readFileSync(new URL('../../cases/C77-names-as-keys/names.json', import.meta.url), 'utf8')))
      .filter((name) => name !== '');
    const tokens = names.map(encodeToken);
    expect(tokens.map(read)).toEqual(names);
    expect(new Set(tokens).size).toBe(new Set(names).size);
    for (const token of tokens) expect(token).not.toMatch(/[.*>]/);
    // What holds for all keys of the node `web` does not cover those of `web.eu`.
    expect(`${encodeToken('web.eu')}.notes`.startsWith(keysUnder('web').slice(0, -1))).toBe(false);
  });
});

describe('keys of the buckets', () => {
  const node = nodeName.parse('alpha');
  const module = moduleName.parse('notes');
  const part = partName.parse('title');
  const provision = provisionName.parse('postgres-database');
  const local = localName.parse('reports');

  test('[P1] each bucket’s key is made from its parts and read back into them', () => {
    const all = [
      [registryKeys.of({ kind: part }), 'title', registryKeys, { kind: 'title' }],
      [
        needKeys.of({ node, module, kind: part, name: 'zsh:normal' }),
        'alpha.notes.title.zsh=3Anormal',
        needKeys,
        { node, module, kind: part, name: 'zsh:normal' },
      ],
      [appliedKeys.of({ node, module }), 'alpha.notes', appliedKeys, { node, module }],
      [
        collectKeys.of({ node, collection: 'shell:zsh', contributor: 'notes:2' }),
        'alpha.shell=3Azsh.notes=3A2',
        collectKeys,
        { node, collection: 'shell:zsh', contributor: 'notes:2' },
      ],
      [
        boundKeys.of({ node, module, provision }),
        'alpha.notes.postgres-database',
        boundKeys,
        { node, module, provision },
      ],
      [
        boundKeys.of({ node, module, provision, local }),
        'alpha.notes.postgres-database.reports',
        boundKeys,
        { node, module, provision, local },
      ],
      [assignmentKeys.of({ node }), 'alpha', assignmentKeys, { node }],
      [assignmentKeys.of({ node, module }), 'alpha.notes', assignmentKeys, { node, module }],
      [settingKeys.of({ node, module, name: part }), 'alpha.notes.title', settingKeys, { node, module, name: part }],
      [compositionKeys.of({ module }), 'notes', compositionKeys, { module }],
      [healthKeys.of({ node, module }), 'alpha.notes', healthKeys, { node, module }],
    ] as const;
    for (const [made, written, keys, parts] of all) {
      expect(made).toBe(written);
      expect(keys.read(written)).toEqual({ kind: 'key', parts });
    }
    expect([boundKeys.shape, assignmentKeys.shape]).toEqual([
      '<node>.<module>.<provision>[.<local>]',
      '<node>[.<module>]',
    ]);
  });

  test.each([
    ['alpha', 'has 1 parts; a key here is <node>.<module>'],
    ['alpha.notes.more', 'has 3 parts; a key here is <node>.<module>'],
    ['alpha.Notes', 'module: "Notes" is not a module name'],
    ['alpha.=41', '"=41" is not how a name is written in a key'],
    ['alpha.', '"" is not how a name is written in a key'],
    ['alpha.no=2Etes', 'module: "no.tes" is not a module name'],
  ])('[P14] the key %s is a fault that names it', (key, says) => {
    expect(appliedKeys.read(key)).toMatchObject({ kind: 'key-fault', key, says: expect.stringContaining(says) });
  });

  test('[P1] what any key of needs is made from is what is read from it', () => {
    fc.assert(
      fc.property(wellFormed, (name) => {
        const parts = { node, module, kind: part, name };
        expect(needKeys.read(needKeys.of(parts))).toEqual({ kind: 'key', parts });
      }),
    );
  });
});
