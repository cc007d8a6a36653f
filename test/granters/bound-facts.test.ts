/** What a provider's program says of its consumers' bindings. */
import { describe, expect, test } from '@jest/globals';
import type { Grant, GrantList } from '../../src/domain/declaration/declaration.ts';
import { bound, type Bound } from '../../src/domain/provisioning/values.ts';
import type { GranterEntry } from '../../src/domain/report/report.ts';
import { provisionName } from '../../src/domain/words/names.ts';
import { boundFacts } from '../../src/granters/bound-facts.ts';
import { entryFor } from '../../src/granters/postgres/entries.ts';
import { grantOf } from './granting.ts';

const at = { host: '127.0.0.9', port: 20_000 };
const listOf = (grants: readonly Grant[]): GrantList => ({
  schema: 'mesh.grants',
  version: 1,
  provision: provisionName.parse('postgres-database'),
  drainMs: 0,
  at,
  grants: [...grants],
});
const factsOf = (grants: readonly Grant[], entries: readonly GranterEntry[]) => {
  const facts = boundFacts(listOf(grants), entries);
  if (facts === undefined) throw new Error('no facts');
  const read = [...facts.wanted].map(([key, text]) => [key, bound.parse(JSON.parse(text))] as const);
  return { wanted: Object.fromEntries<Bound>(read), gone: [...facts.gone].toSorted() };
};
const as = (state: GranterEntry['state']) => (grant: Grant) => entryFor(grant, state, undefined);
const named = (owner: string) => ({ ...at, database: owner, owner });

describe('the facts of bindings', () => {
  test('[S6] a rotation changes none: neither while both generations are granted nor after, and a login stands only where it stays', () => {
    const [one, two] = [grantOf('n1.notes', 1), grantOf('n1.notes', 2)];
    const password: Grant = { ...grantOf('n2.ledger', 4, { login: 'n2.ledger_a' }), keepsLogin: true };
    const first = factsOf([one, password], [one, password].map(as('granted')));
    expect(first).toEqual({
      wanted: {
        'n1.notes.postgres-database': named('n1.notes'),
        'n2.ledger.postgres-database': { ...named('n2.ledger'), login: 'n2.ledger_a' },
      },
      gone: [],
    });
    for (const states of [
      [as('granted')(one), as('granted')(two)],
      [as('draining')(one), as('granted')(two)],
      [as('granted')(one), as('fault')(two)],
    ])
      expect(factsOf([one, two, password], [...states, as('granted')(password)])).toEqual(first);
    expect(factsOf([two, password], [as('withdrawn')(one), ...[two, password].map(as('granted'))])).toEqual(first);
  });

  test('[S7] what is listed and not granted is not told, and takes nothing away; what is listed no more is gone', () => {
    const grants = [grantOf('n1.notes', 1), grantOf('n1.other', 1)] as const;
    expect(factsOf(grants, [])).toEqual({ wanted: {}, gone: [] });
    expect(factsOf(grants, grants.map(as('fault')))).toEqual({ wanted: {}, gone: [] });
    expect(factsOf([grants[0]], [as('granted')(grants[0]), as('withdrawn')(grants[1])])).toEqual({
      wanted: { 'n1.notes.postgres-database': named('n1.notes') },
      gone: ['n1.other.postgres-database'],
    });
  });

  test('[S14] each local has its own key, and the binding of which they are has the place', () => {
    const locals = ['n1.notes.reports', 'n1.notes.audit'].map((name) => grantOf(name, 1));
    const [reports] = locals;
    expect(factsOf(locals, locals.map(as('granted'))).wanted).toEqual({
      'n1.notes.postgres-database': at,
      'n1.notes.postgres-database.reports': named('n1.notes.reports'),
      'n1.notes.postgres-database.audit': named('n1.notes.audit'),
    });
    const plain = grantOf('n1.notes', 1);
    expect(factsOf([...locals, plain], [...locals, plain].map(as('granted'))).wanted).toMatchObject({
      'n1.notes.postgres-database': named('n1.notes'),
    });
    if (reports === undefined) throw new Error('no local');
    expect(factsOf([reports], locals.map(as('granted'))).gone).toEqual(['n1.notes.postgres-database.audit']);
    expect(factsOf([], locals.map(as('withdrawn'))).gone).toEqual([
      'n1.notes.postgres-database',
      'n1.notes.postgres-database.audit',
      'n1.notes.postgres-database.reports',
    ]);
  });

  test('a list that does not say where the provision is reached says nothing of its bindings', () => {
    const { at: _, ...before } = listOf([grantOf('n1.notes', 1)]);
    expect(boundFacts(before, [as('granted')(grantOf('n1.notes', 1))])).toBeUndefined();
  });
});
