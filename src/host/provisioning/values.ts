/**
 * What placeholders stand for on this node. Which kind is answered where is the registry's to say; a credential is asked of
 * a seat and comes sealed to this node, and is opened only while the file that needs it is written (P5).
 */
import { z } from 'zod';
import { isRefused, type Refused } from '../../bus/verbs.ts';
import { collectedValue, readCollections } from '../../domain/provisioning/collections.ts';
import type { Value } from '../../domain/provisioning/fill.ts';
import { locate, partOf, type Location } from '../../domain/provisioning/key-shapes.ts';
import { registryKeys } from '../../domain/provisioning/keys.ts';
import { nameOf, type Placeholder } from '../../domain/provisioning/placeholders.ts';
import { buckets, registryEntry, type BoundReference } from '../../domain/provisioning/values.ts';
import { given } from '../../domain/words/given.ts';
import { localName, partName, type ModuleName, type NodeName } from '../../domain/words/names.ts';

import { open, type SealingKey } from '../../sealing/box.ts';
import { consumersVerb, secretVerb } from '../../seats/the-controller/verbs.ts';
import { errorChain } from '../fault.ts';
import type { World } from './world.ts';

/** Who asks: a module on this node, and whose facts its bindings are. */
export type Asker = { readonly node: NodeName; readonly module: ModuleName; readonly bound: readonly BoundReference[] };

/**
 * `plain` is the value itself. `sealed` is one that is asked for and opened only when its file is written: `as` says which one
 * it will be, so that a file with the same ones need not be written again.
 */
export type Answered =
  | { readonly kind: 'plain'; readonly value: Value }
  | { readonly kind: 'sealed'; readonly as: string; readonly open: (asked: AskedSecrets) => Promise<Value> };

type SecretAnswer = z.output<typeof secretVerb.answer> | Refused;
/** What was asked for one file: its login and its password are of one generation, because they are one answer. By `<provision>[.<local>]`. */
export type AskedSecrets = {
  readonly answers: Map<string, Promise<SecretAnswer>>;
  /** Which generation it has to be, or a later one: the declaration was composed of it. */
  readonly atLeast: ReadonlyMap<string, number>;
  /** Of which generation each is that was opened. */
  readonly opened: Map<string, number>;
};

const missing = (reason: string): Value => ({ kind: 'missing', reason });
const plain = (value: Value): Answered => ({ kind: 'plain', value });

/** Answers one placeholder. Never rejects: what is not to be had is a missing value with its reason (P12). */
export async function answerTo(
  world: World,
  asker: Asker,
  placeholder: Placeholder,
  sealingKey: SealingKey,
): Promise<Answered> {
  const entry = await world.get(
    buckets.registry,
    registryKeys.of({ kind: partName.parse(placeholder.of) }),
    registryEntry,
  );
  if (entry.kind === 'absent')
    return plain(missing(`no module of this mesh answers placeholders of kind ${placeholder.of}`));
  if (entry.kind === 'fault') return plain(missing(entry.says));
  const [provision, local] = placeholder.name;
  const reference = asker.bound.find((one) => one.provision === provision && one.local === local);
  const provider = reference?.provider ?? asker.bound.find((one) => one.provision === provision)?.provider;
  const location = locate(entry.value.answer, {
    node: asker.node,
    module: asker.module,
    placeholder,
    ...(provider === undefined ? {} : { provider }),
  });
  return placeOf(world, asker, placeholder, location, sealingKey);
}

async function placeOf(
  world: World,
  asker: Asker,
  placeholder: Placeholder,
  location: Location,
  sealingKey: SealingKey,
): Promise<Answered> {
  switch (location.kind) {
    case 'nowhere':
      return plain(missing(location.says));
    case 'key': {
      const found = await world.get(location.bucket, location.key, z.unknown());
      if (found.kind === 'fault') return plain(missing(found.says));
      const value = found.kind === 'found' ? partOf(found.value, location.at, placeholder.field) : undefined;
      if (value !== undefined) return plain({ kind: 'value', value });
      return plain(missing(`${location.bucket} has no ${[location.key, ...location.at].join(' ')} for it`));
    }
    case 'gather': {
      const found = await world.gather(location.bucket, location.keys);
      if (found.kind === 'fault') return plain(missing(found.says));
      const values = found.kind === 'found' ? found.value : new Map<string, unknown>();
      return plain({ kind: 'value', value: gathered(location.bucket, values) });
    }
    case 'verb':
      return byVerb(world, asker, placeholder, location, sealingKey);
    default:
      return location satisfies never;
  }
}

/** The items of a collection, in its order; of any other bucket the values in the order of their keys. */
function gathered(bucket: string, values: ReadonlyMap<string, unknown>): unknown {
  if (bucket !== buckets.collect) return [...values].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
  return collectedValue([...readCollections(values).collections.values()].flat());
}

type VerbLocation = Extract<Location, { kind: 'verb' }>;

async function byVerb(
  world: World,
  asker: Asker,
  placeholder: Placeholder,
  { seat, verb }: VerbLocation,
  sealingKey: SealingKey,
): Promise<Answered> {
  const [name = '', local] = placeholder.name;
  if (placeholder.of === 'secret') {
    const asked = { ...secretVerb, seat: partName.parse(seat), verb };
    const request = {
      module: asker.module,
      name: partName.parse(name),
      ...(local === undefined ? {} : { local: localName.parse(local) }),
    };
    return {
      kind: 'sealed',
      as: '',
      open: ({ answers, atLeast, opened }) =>
        orMissing(async () => {
          const key = nameOf(placeholder);
          const asking = answers.get(key) ?? world.ask(asked, request);
          answers.set(key, asking);
          const answer = await asking;
          if (isRefused(answer)) return missing(answer.refused.what);
          const least = atLeast.get(key) ?? 0;
          if (answer.generation < least)
            return missing(`${seat} has generation ${answer.generation} of it, and ${least} is declared`);
          opened.set(key, answer.generation);
          if (placeholder.field === 'login')
            return answer.login === undefined
              ? missing(`${nameOf(placeholder)} is a secret of its own, and has no login`)
              : { kind: 'value', value: answer.login };
          return { kind: 'value', value: textIn(answer.sealed, sealingKey) };
        }),
    };
  }
  if (placeholder.of === 'consumers') {
    const asked = { ...consumersVerb, seat: partName.parse(seat), verb };
    const answer = await settled(() => world.ask(asked, { module: asker.module, provision: name }));
    if ('reason' in answer) return plain(answer);
    if (isRefused(answer.value)) return plain(missing(answer.value.refused.what));
    const { consumers } = answer.value;
    return {
      kind: 'sealed',
      as: JSON.stringify(consumers),
      open: () =>
        orMissing(async () => ({
          kind: 'value',
          value: consumers.map(({ node, module, local: of, generation, stage, login, owner, database, sealed }) => ({
            node,
            module,
            ...given('local', of),
            generation,
            stage,
            login,
            owner,
            database,
            password: textIn(sealed, sealingKey),
          })),
        })),
    };
  }
  const request = { node: asker.node, module: asker.module, kind: placeholder.of, name: nameOf(placeholder) };
  const said = await settled(() => world.askByName(partName.parse(seat), verb, request));
  if ('reason' in said) return plain(said);
  if (isRefused(said.value)) return plain(missing(said.value.refused.what));
  const value = partOf(said.value.answer, [], placeholder.field);
  return plain(value === undefined ? missing(`${seat}.${verb} answers nothing for it`) : { kind: 'value', value });
}

function textIn(sealed: string, key: SealingKey): string {
  // No cause of a fault tells a byte: what is not text in UTF-8 is only said to be none.
  return open(sealed, key).reveal((bytes) => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
}

async function orMissing(work: () => Promise<Value>): Promise<Value> {
  const done = await settled(work);
  return 'reason' in done ? done : done.value;
}

type Settled<T> = { readonly value: T } | Extract<Value, { kind: 'missing' }>;

async function settled<T>(work: () => Promise<T>): Promise<Settled<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { kind: 'missing', reason: errorChain(error) };
  }
}
