/**
 * The registry: which module answers which kind of placeholder (P4, P6, P7). Compiled from what modules declare in `answers`;
 * the mesh's own domains are declared the same way, and nothing here knows them apart.
 */
import { canonicalJson } from '../declaration/canonical.ts';
import type { Refusal } from '../refusal/refusal.ts';
import { grouped } from '../words/grouped.ts';
import { moduleName, partName, type ModuleName } from '../words/names.ts';
import { shapeFault } from './key-shapes.ts';
import { registryKeys } from './keys.ts';
import { answers, boundBucket, buckets, type Answer, type Answers, type RegistryEntry } from './values.ts';

/** A module that answers kinds: a published composition, or one of the mesh's own domains. */
export type Domain = { readonly module: ModuleName; readonly answers: readonly Answers[] };

/** What is to be done so that the registry says what is declared. `refusals` change nothing: the present entry stays. */
export type Compiled = {
  readonly writes: readonly { readonly key: string; readonly value: RegistryEntry }[];
  readonly deletes: readonly string[];
  readonly refusals: readonly Refusal[];
};

/**
 * Compiles the registry. `present`: what the bucket holds now, key → value as it was read. Only what differs is written; a key
 * that no domain answers is deleted. Refusals: `kind-answered-twice`, `answer-invalid`.
 */
export function compileRegistry(of: {
  readonly domains: readonly Domain[];
  readonly present: ReadonlyMap<string, unknown>;
}): Compiled {
  const claims = of.domains.flatMap(({ module, answers: declared }) =>
    declared.map((one) => ({ module, declared: one })),
  );
  const kinds = [...grouped(claims, ({ declared }) => declared.kind)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const writes: { key: string; value: RegistryEntry }[] = [];
  const refusals: Refusal[] = [];
  const answered = new Set<string>();
  for (const [kind, [only, ...others]] of kinds) {
    if (only === undefined) continue;
    const key = registryKeys.of({ kind });
    answered.add(key);
    const modules = [...new Set([only, ...others].map((one) => one.module))].toSorted();
    if (others.length > 0) {
      refusals.push(answeredTwice(kind, modules));
      continue;
    }
    const read = readAnswer(only.declared);
    if (read.kind === 'fault') refusals.push(invalidAnswer(only.module, kind, read.says));
    else {
      const value = { module: only.module, answer: read.answer };
      if (!isSame(of.present.get(key), value)) writes.push({ key, value });
    }
  }
  return { writes, deletes: [...of.present.keys()].filter((key) => !answered.has(key)).toSorted(), refusals };
}

function isSame(present: unknown, value: RegistryEntry): boolean {
  return present !== undefined && canonicalJson(present) === canonicalJson(value);
}

/** Reads one of a manifest's `answers`: a bucket with its key shape, or `<seat>.<verb>`; `says` names what is wrong and what to write. */
export function readAnswer(
  declared: Answers,
): { readonly kind: 'answer'; readonly answer: Answer } | { readonly kind: 'fault'; readonly says: string } {
  const { bucket, key, verb } = declared;
  const fault = (says: string) => ({ kind: 'fault', says }) as const;
  if (verb !== undefined) {
    if (bucket !== undefined || key !== undefined) return fault('has both a verb and a bucket; write one of them');
    const [seat, name, ...more] = verb.split('.');
    const [seatRead, nameRead] = [partName.safeParse(seat), partName.safeParse(name)];
    if (!seatRead.success || !nameRead.success || more.length > 0)
      return fault(`found the verb ${JSON.stringify(verb)}; write <seat>.<verb>, like the-controller.secret`);
    return { kind: 'answer', answer: { seat: seatRead.data, verb: nameRead.data } };
  }
  if (bucket === undefined || key === undefined)
    return fault('says not where its values are; write bucket and key, or verb');
  const says = shapeFault(bucket, key);
  return says === undefined ? { kind: 'answer', answer: { bucket, key } } : fault(says);
}

function answeredTwice(kind: string, modules: readonly string[]): Refusal {
  const [one = '', other = one] = modules;
  const twice = one === other;
  return {
    kind: 'kind-answered-twice',
    what: twice
      ? `${one} answers placeholders of kind ${kind} twice`
      : `placeholders of kind ${kind} are answered by ${modules.join(' and by ')}`,
    why: 'which of them is asked must not depend on which came last; until then the registry stays as it is',
    next: twice
      ? [`take one of them out of answers in the manifest of ${one}`]
      : modules.map((module) => `take ${kind} out of answers in the manifest of ${module}`),
    facts: { kind, modules },
  };
}

function invalidAnswer(module: string, kind: string, says: string): Refusal {
  return {
    kind: 'answer-invalid',
    what: `${module} answers placeholders of kind ${kind}, and its answer ${says}`,
    why: 'a value that is looked for in no place is never found; until then the registry stays as it is',
    next: [`correct answers in the manifest of ${module}, then mesh module add it again`],
    facts: { module, kind },
  };
}

/** A domain as a manifest would declare it. */
function domain(module: string, declared: readonly object[]): Domain {
  return { module: moduleName.parse(module), answers: answers.array().parse(declared) };
}

const plan = (part: string): object => ({ bucket: buckets.assignments, key: `<node>.<module>#${part}.<name>` });

/** P4. What the mesh answers itself, in the same form as a manifest's `answers`. */
export const meshOwnDomains: readonly Domain[] = [
  domain('mesh-controller', [
    { kind: 'config', bucket: buckets.settings, key: '<node>.<module>.<name>' },
    { kind: 'secret', verb: 'the-controller.secret' },
    { kind: 'bound', bucket: boundBucket('<provider>'), key: '<node>.<module>.<name...>' },
    { kind: 'consumers', verb: 'the-controller.consumers' },
    { kind: 'dir', ...plan('dirs') },
    { kind: 'access', ...plan('access') },
    { kind: 'port', ...plan('ports') },
    { kind: 'seat', ...plan('seats') },
    { kind: 'machine', ...plan('machine') },
    { kind: 'resolution', ...plan('resolution') },
  ]),
  domain('mesh-provisioner', [
    { kind: 'collected', bucket: buckets.collect, key: '*.<name>.*' },
    { kind: 'shell', bucket: buckets.collect, key: '*.<kind>:<name>.*' },
    { kind: 'environment', bucket: buckets.collect, key: '*.<kind>:<name>.*' },
    { kind: 'contribution', bucket: buckets.collect, key: '*.<kind>:<name>.*' },
  ]),
];
