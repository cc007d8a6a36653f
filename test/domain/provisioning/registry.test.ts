import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { locate, partOf, shapeFault, type Asking } from '../../../src/domain/provisioning/key-shapes.ts';
import { meshKinds, parsePlaceholder } from '../../../src/domain/provisioning/placeholders.ts';
import { compileRegistry, meshOwnDomains, readAnswer, type Domain } from '../../../src/domain/provisioning/registry.ts';
import { answers, registryEntry, type Answers } from '../../../src/domain/provisioning/values.ts';
import { moduleName } from '../../../src/domain/words/names.ts';

const domain = (module: string, ...declared: object[]): Domain => ({
  module: moduleName.parse(module),
  answers: declared.map((one) => answers.parse(one)),
});
const weather = { kind: 'weather', bucket: 'almanac_weather', key: '<name>' };
const compile = (domains: readonly Domain[], present: object = {}) =>
  compileRegistry({ domains, present: new Map(Object.entries(present)) });
/** What the bucket holds after what was compiled was done. */
const after = (present: ReadonlyMap<string, unknown>, { writes, deletes }: ReturnType<typeof compileRegistry>) => {
  const now = new Map(present);
  for (const { key, value } of writes) now.set(key, value);
  for (const key of deletes) now.delete(key);
  return now;
};

describe('the registry', () => {
  test('[P4] the mesh answers all of its kinds, declared as a manifest would declare them', () => {
    const compiled = compile(meshOwnDomains);
    expect(compiled.refusals).toEqual([]);
    expect(compiled.writes.map(({ key }) => key)).toEqual([...meshKinds].toSorted());
    for (const { value } of compiled.writes) expect(registryEntry.parse(value)).toEqual(value);
  });

  test('[P5] secrets and consumers are answered by a verb, and in no bucket', () => {
    for (const { key, value } of compile(meshOwnDomains).writes)
      expect([key, 'seat' in value.answer]).toEqual([key, ['secret', 'consumers'].includes(key)]);
  });

  test('[P6] only what differs is written; a kind nobody answers is deleted', () => {
    const almanac = domain('almanac', weather);
    const entry = { answer: { key: '<name>', bucket: 'almanac_weather' }, module: 'almanac' };
    expect(compile([almanac])).toEqual({ writes: [{ key: 'weather', value: entry }], deletes: [], refusals: [] });
    expect(compile([almanac], { weather: entry })).toEqual({ writes: [], deletes: [], refusals: [] });
    expect(compile([almanac], { weather: { ...entry, module: 'other' } }).writes).toHaveLength(1);
    expect(compile([almanac], { weather: 'not what an entry is' }).writes).toHaveLength(1);
    expect(compile([], { weather: entry, 'no=kind': 1 })).toEqual({
      writes: [],
      deletes: ['no=kind', 'weather'],
      refusals: [],
    });
  });

  test('[P7] two modules that answer one kind are refused, naming both, and the present entry stays', () => {
    const entry = { module: 'almanac', answer: { bucket: 'almanac_weather', key: '<name>' } };
    const two = [
      domain('forecast', weather),
      domain('almanac', weather),
      domain('tides', { ...weather, kind: 'tide' }),
    ];
    const compiled = compile(two, { weather: entry });
    expect(compiled.writes.map(({ key }) => key)).toEqual(['tide']);
    expect(compiled.deletes).toEqual([]);
    expect(compiled.refusals).toEqual([
      expect.objectContaining({
        kind: 'kind-answered-twice',
        what: 'placeholders of kind weather are answered by almanac and by forecast',
        facts: { kind: 'weather', modules: ['almanac', 'forecast'] },
      }),
    ]);
    expect(compile(two).writes.map(({ key }) => key)).toEqual(['tide']);
  });

  test('[P7] a module that answers a kind of the mesh’s own is refused like any other', () => {
    const compiled = compile([...meshOwnDomains, domain('thief', { kind: 'secret', verb: 'thief.secret' })]);
    expect(compiled.writes.map(({ key }) => key)).not.toContain('secret');
    expect(compiled.refusals.map((one) => one.what)).toEqual([
      'placeholders of kind secret are answered by mesh-controller and by thief',
    ]);
    expect(compile([domain('a', weather, weather)]).refusals[0]?.what).toContain(
      'a answers placeholders of kind weather twice',
    );
  });

  test.each<[Partial<Answers>, string]>([
    [{}, 'says not where its values are'],
    [{ bucket: 'b' }, 'says not where its values are'],
    [{ bucket: 'b', key: '<name>', verb: 'a.b' }, 'has both a verb and a bucket'],
    [{ verb: 'secret' }, 'found the verb "secret"; write <seat>.<verb>'],
    [{ verb: 'a.b.c' }, 'found the verb "a.b.c"'],
    [{ verb: 'A.b' }, 'found the verb "A.b"'],
    [{ bucket: 'a.b', key: '<name>' }, 'found the bucket "a.b"'],
    [{ bucket: 'b', key: '<who>' }, 'found "<who>" in the key'],
    [{ bucket: 'b', key: 'a..b' }, 'found "" in the key'],
    [{ bucket: 'b', key: '>' }, 'found ">" in the key'],
    [{ bucket: 'b', key: '<node>#' }, 'found "#" at the end of the key'],
    [{ bucket: 'b', key: '<node>#a#b' }, 'found "#a#b" at the end'],
  ])('[P12] an answer %j is refused by what is wrong with it', (part, says) => {
    const compiled = compile([domain('almanac', { kind: 'weather', ...part })], { weather: 'as it was' });
    expect(compiled).toMatchObject({ writes: [], deletes: [], refusals: [{ kind: 'answer-invalid' }] });
    expect(compiled.refusals[0]?.what).toContain(
      `almanac answers placeholders of kind weather, and its answer ${says}`,
    );
  });

  test('[P6] compiled a second time there is nothing to do, whatever was there', () => {
    const kind = fc.constantFrom('a', 'b', 'c', 'config', 'secret');
    const declared = fc.record({
      kind,
      bucket: fc.constantFrom('x', 'y', 'bad.one'),
      key: fc.constantFrom('<name>', '<node>.<name>', '<'),
    });
    const domains = fc.array(
      fc.record({ module: fc.constantFrom('m', 'n', 'o'), declared: fc.array(declared, { maxLength: 3 }) }),
      { maxLength: 4 },
    );
    const present = fc.dictionary(kind, fc.jsonValue()).map((all) => new Map<string, unknown>(Object.entries(all)));
    fc.assert(
      fc.property(domains, present, (all, there) => {
        const declaredOnes = all.map((one) => domain(one.module, ...one.declared));
        const first = compileRegistry({ domains: declaredOnes, present: there });
        const held = after(there, first);
        const second = compileRegistry({ domains: declaredOnes, present: held });
        expect(second).toEqual({ writes: [], deletes: [], refusals: first.refusals });
        const refused = new Set(first.refusals.map((one) => one.facts?.['kind']));
        for (const [key, value] of there) if (refused.has(key)) expect(held.get(key)).toEqual(value);
      }),
    );
  });
});

describe('where values are', () => {
  const asking = (written: string, provider?: string): Asking => {
    const placeholder = parsePlaceholder(written);
    if (placeholder.kind !== 'placeholder') throw new Error(placeholder.says);
    return { node: 'alpha', module: 'notes', placeholder, ...(provider === undefined ? {} : { provider }) };
  };
  const own = (written: string, provider?: string) => {
    const asked = asking(written, provider);
    const entry = compile(meshOwnDomains).writes.find(({ key }) => key === asked.placeholder.of);
    return entry === undefined ? undefined : locate(entry.value.answer, asked);
  };

  test('[P4] each kind of the mesh’s own is found where the table of buckets has it', () => {
    expect(own('${config:title}')).toEqual({
      kind: 'key',
      bucket: 'mesh-controller_settings',
      key: 'alpha.notes.title',
      at: [],
    });
    expect(own('${secret:db}')).toEqual({ kind: 'verb', seat: 'the-controller', verb: 'secret' });
    expect(own('${bound:db.reports:host}', 'postgres')).toEqual({
      kind: 'key',
      bucket: 'postgres_bound',
      key: 'alpha.notes.db.reports',
      at: [],
    });
    expect(own('${bound:db:host}')).toEqual({ kind: 'nowhere', says: 'notes on alpha is bound to no provider of db' });
    expect(own('${port:http}')).toEqual({
      kind: 'key',
      bucket: 'mesh-controller_assignments',
      key: 'alpha.notes',
      at: ['ports', 'http'],
    });
    expect(own('${collected:shell:zsh}')).toEqual({
      kind: 'gather',
      bucket: 'mesh-provisioner_collect',
      keys: '*.shell=3Azsh.*',
      at: [],
    });
    expect(own('${shell:zsh:normal}')).toEqual({
      kind: 'gather',
      bucket: 'mesh-provisioner_collect',
      keys: '*.shell=3Azsh=3Anormal.*',
      at: [],
    });
  });

  test('[P4] what a bucket holds is looked into, never beyond what it holds itself', () => {
    const plan = { ports: { http: 20000 }, machine: { gpu: { driver: 'x' } } };
    expect(partOf(plan, ['ports', 'http'])).toBe(20000);
    expect(partOf(plan, ['machine', 'gpu'], 'driver')).toBe('x');
    expect(partOf(plan, ['ports', 'constructor'])).toBeUndefined();
    expect(partOf(plan, ['ports', 'http'], 'x')).toBeUndefined();
    expect(partOf('text', [])).toBe('text');
    expect(partOf([1], ['0'])).toBeUndefined();
  });

  test('[P4] every answer of the mesh’s own has a shape without fault', () => {
    for (const { answers: declared } of meshOwnDomains)
      for (const one of declared) {
        expect(readAnswer(one).kind).toBe('answer');
        if (one.bucket !== undefined && one.key !== undefined) expect(shapeFault(one.bucket, one.key)).toBeUndefined();
      }
  });
});
