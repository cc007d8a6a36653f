import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { loginsOf } from '../../../src/domain/credential/logins.ts';
import type { SecretForm } from '../../../src/domain/declaration/declaration.ts';
import { hash, pairKey } from '../mesh.ts';

const name = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
const forms: readonly SecretForm[] = ['password', 'json', 'pgpass', 'url'];
const key = (node: string, module: string, local: string | null) =>
  pairKey(`${node}/${module}`, 'db/postgres', 'postgres-database', local ?? undefined);

describe('[S9] roles are named after consumer, module and local', () => {
  test('[S9] a short name is readable, and stands in full', () => {
    expect(loginsOf(key('alpha', 'notes', 'app'), 1, 'json', hash)).toEqual({
      owner: 'alpha.notes.app',
      fullName: 'alpha.notes.app',
      login: 'alpha.notes.app_a',
      database: 'alpha.notes.app',
    });
  });

  test('[S9] the logins of a form that carries one take turns by generation; the password form keeps one', () => {
    const logins = (form: SecretForm) =>
      [1, 2, 3].map((generation) => loginsOf(key('a', 'b', null), generation, form, hash).login);
    for (const form of forms)
      expect(logins(form)).toEqual(form === 'password' ? ['a.b_a', 'a.b_a', 'a.b_a'] : ['a.b_a', 'a.b_b', 'a.b_a']);
  });

  test('[S9] every name is at most 63 bytes, and a shortened one cannot be a name that was not', () => {
    fc.assert(
      fc.property(
        name,
        name,
        fc.option(name),
        fc.integer({ min: 1, max: 9 }),
        fc.constantFrom(...forms),
        (node, module, local, generation, form) => {
          const { owner, login, database, fullName } = loginsOf(key(node, module, local), generation, form, hash);
          for (const one of [owner, login, database]) expect(Buffer.byteLength(one)).toBeLessThanOrEqual(63);
          expect(owner.includes('~')).toBe(owner !== fullName);
        },
      ),
    );
  });

  test('[S9] the limit holds to the byte: what fits with its turn stays readable, one more is shortened', () => {
    for (let length = 50; length <= 63; length += 1) {
      const { login, owner, fullName } = loginsOf(key('n'.repeat(length), 'm', null), 1, 'json', hash);
      expect(Buffer.byteLength(login)).toBeLessThanOrEqual(63);
      expect(owner === fullName).toBe(fullName.length <= 61);
    }
  });

  test('[S9] two consumers never share a role, also when their first 63 bytes are the same', () => {
    const long = 'a'.repeat(60);
    const near = fc.tuple(
      fc.constantFrom(long, `${long}b`, 'a', 'a-a'),
      fc.constantFrom(long, `${long}c`, 'a', 'b'),
      fc.option(fc.constantFrom('a', 'b', long)),
    );
    const any = fc.oneof(near, fc.tuple(name, name, fc.option(name)));
    fc.assert(
      fc.property(any, any, (one, other) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(other));
        const roles = ([node, module, local]: typeof one) => {
          const { owner, login } = loginsOf(key(node, module, local), 1, 'json', hash);
          return [owner, login];
        };
        expect(roles(one).some((role) => roles(other).includes(role))).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });
});
