import { describe, expect, test } from '@jest/globals';
import { rotationId, rotationSelection, rotationSummary } from '../../../src/domain/act/act.ts';
import type { PairSecret } from '../../../src/domain/credential/credential.ts';
import { pairPath } from '../../../src/domain/credential/credential.ts';
import { selectForRotation } from '../../../src/domain/credential/select-for-rotation.ts';
import { isRefusal, type Refusal } from '../../../src/domain/refusal/refusal.ts';
import { resolve } from '../../../src/domain/resolution/resolve.ts';
import { consumer, hash, mesh, pair, pairKey, provider } from '../mesh.ts';

const keys = ['one', 'two', 'three'].map((name) => pairKey(`alpha/${name}`, 'beta/postgres'));
const paths = keys.map(pairPath);
const [one, two, three] = paths;
const modules = [provider('postgres'), ...['one', 'two', 'three'].map((name) => consumer(name))];
/** A mesh in which these credentials were handed over by a person, and the others made. */
const worldOf = (...accepted: readonly string[]) =>
  mesh({
    modules,
    assigned: ['beta/postgres', 'alpha/one', 'alpha/two', 'alpha/three'],
    pairSecrets: keys.map((key): PairSecret => {
      return pair(key, 1, 'current', accepted.includes(pairPath(key)) ? { origin: 'accepted' } : {});
    }),
  });
const all = (...except: readonly string[]) =>
  rotationSelection.parse({
    of: 'provider',
    node: 'beta',
    provision: 'postgres-database',
    ...(except.length === 0 ? {} : { except }),
  });
const chosen = (accepted: readonly string[], selection = all()) => {
  const inventory = worldOf(...accepted);
  return selectForRotation({ inventory, resolution: resolve(inventory), selection });
};
function refusal(answer: ReturnType<typeof chosen>): Refusal {
  if (!isRefusal(answer)) throw new Error(`not refused: ${answer.map(({ key }) => pairPath(key)).join()}`);
  return answer;
}
const named = (answer: ReturnType<typeof chosen>) =>
  isRefusal(answer) ? answer.kind : answer.map(({ key }) => pairPath(key));

describe('of many', () => {
  test('[S13] one that was accepted has the lot refused, naming it and the command that leaves it out', () => {
    const said = refusal(chosen([`${two}`]));
    expect(said).toMatchObject({ kind: 'secret-accepted', facts: { credentials: [two] } });
    expect(said.what).toContain(`${two} was handed over by a person`);
    expect(said.next).toEqual([
      `mesh secret rotate --all --provider beta --provision postgres-database --except ${two}`,
      'mesh secret accept alpha/two postgres-database',
    ]);
    expect(refusal(chosen([`${two}`, `${one}`])).next[0]).toContain(`--except ${one} --except ${two}`);
  });

  test('[S13] and left out, the rest is chosen; what was left out before stays in the command that is named', () => {
    expect(named(chosen([`${two}`], all(`${two}`)))).toEqual([one, three]);
    expect(refusal(chosen([`${two}`, `${one}`], all(`${two}`))).next[0]).toContain(`--except ${two} --except ${one}`);
  });

  test('[S13] a name that is none of them is refused: it was to be left alone', () => {
    expect(named(chosen([], all('beta/postgres-database/alpha/tow')))).toBe('unknown-credential');
    expect(named(chosen([], all(...paths)))).toBe('nothing-to-do');
  });

  test('[S13] [A1.0] another choice is another act, and says so', () => {
    const [whole, some] = [all(), all(`${two}`)];
    expect(rotationId(whole, hash)).toBe('rotate/beta/postgres-database');
    expect(rotationId(some, hash)).toMatch(/^rotate\/beta\/postgres-database\/except-[0-9a-f]{32}$/);
    expect(rotationId(all(`${one}`, `${two}`), hash)).toBe(rotationId(all(`${two}`, `${one}`), hash));
    expect(rotationSummary(some)).toBe(`Rotate every postgres-database credential that beta grants but ${two}`);
  });
});

test('[S13] a single one that was accepted is refused, with handing over another value as the remedy', () => {
  const [key] = keys;
  const selection = rotationSelection.parse({ of: 'pairs', pairs: [key] });
  expect(refusal(chosen([`${one}`], selection))).toMatchObject({
    kind: 'secret-accepted',
    next: ['mesh secret accept alpha/one postgres-database'],
  });
  expect(named(chosen([], selection))).toEqual([one]);
});

test('[S13] of one consumer with several, the others are rotated with --except', () => {
  const selection = rotationSelection.parse({ of: 'pairs', pairs: keys });
  expect(refusal(chosen([`${three}`], selection)).next[0]).toMatch(/^mesh secret rotate alpha\/\w+ --except /);
});
