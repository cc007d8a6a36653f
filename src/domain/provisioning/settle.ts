/**
 * What a pass writes: exactly what differs from what the client wrote before (P11). The record is kept twice, before the writing
 * and after it, so that a client that was killed in between knows every key that it may have written.
 */
import { canonicalJson } from '../declaration/canonical.ts';
import { given } from '../words/given.ts';
import { grouped } from '../words/grouped.ts';
import { partName, type ModuleName, type NodeName } from '../words/names.ts';
import { appliedKeys, collectKeys, healthKeys, needKeys } from './keys.ts';
import { recordOf, type Decision, type PassRecord } from './pass.ts';
import { nameOf, type Placeholder } from './placeholders.ts';
import {
  applied,
  buckets,
  health,
  type Applied,
  type BucketName,
  type Contribution,
  type Health,
  type NeedValue,
} from './values.ts';

/** What was done for a module that was to be filled in. */
export type FillOutcome = {
  /** Each file with placeholders, and for each of them why it has no value, or nothing. */
  readonly files: readonly {
    readonly file: string;
    readonly placeholders: readonly Placeholder[];
    readonly reasonOf: (placeholder: Placeholder) => string | undefined;
  }[];
  /** What is in the module's files now; undefined where they are not all written, and then what was said stays. */
  readonly applied?: Omit<Applied, 'at'>;
  readonly contributions: readonly Contribution[];
};
export type PassWrites = {
  readonly puts: readonly { readonly bucket: BucketName; readonly key: string; readonly value: string }[];
  readonly deletes: readonly { readonly bucket: BucketName; readonly key: string }[];
  /** To be kept before anything is written, and after everything was. */
  readonly before: PassRecord;
  readonly after: PassRecord;
};

/** P10. In how many passes in a row a module may be postponed before it is said. */
export const quietPasses = 2;

/**
 * The writes of one pass. A module that was to be filled and has no outcome is left as it is. `now`: RFC 3339, which changes
 * nothing by itself.
 */
export function settlePass(of: {
  readonly node: NodeName;
  readonly decisions: readonly Decision[];
  readonly outcomes: ReadonlyMap<ModuleName, FillOutcome>;
  readonly record: PassRecord;
  readonly now: string;
}): PassWrites {
  const puts: { bucket: BucketName; key: string; value: string }[] = [];
  const deletes: { bucket: BucketName; key: string }[] = [];
  const before: PassRecord = { modules: {} };
  const after: PassRecord = { modules: {} };
  for (const decision of of.decisions) {
    const { module } = decision;
    const known = recordOf(of.record, module) ?? { written: {} };
    const want = wanted(of, decision, known.written);
    const postponed =
      decision.kind === 'postpone'
        ? { since: decision.since, passes: decision.passes }
        : decision.kind === 'hold'
          ? known.postponed
          : undefined;
    const changes = changesOf(known.written, want);
    puts.push(...changes.puts.map(([path, value]) => ({ ...placeIn(path), value })));
    deletes.push(...changes.deletes.map(placeIn));
    const unsure = Object.fromEntries(
      [...changes.puts.map(([path]) => path), ...changes.deletes].map((path) => [path, null]),
    );
    before.modules[module] = { ...given('postponed', postponed), written: { ...known.written, ...unsure } };
    if (decision.kind !== 'retire')
      after.modules[module] = { ...given('postponed', postponed), written: Object.fromEntries(want) };
  }
  return { puts, deletes, before, after };
}

/** The record after a pass in which these, `<bucket>/<key>`, could not be written or deleted: they are still to be. */
export function recordWithout({ before, after }: PassWrites, undone: ReadonlySet<string>): PassRecord {
  const modules = new Map(Object.entries(after.modules));
  for (const [module, { written }] of Object.entries(before.modules)) {
    const unsure = Object.keys(written).filter((path) => undone.has(path));
    if (unsure.length === 0) continue;
    const known = modules.get(module) ?? { written: {} };
    modules.set(module, {
      ...known,
      written: { ...known.written, ...Object.fromEntries(unsure.map((path) => [path, null])) },
    });
  }
  return { modules: Object.fromEntries(modules) };
}

type Written = PassRecord['modules'][ModuleName]['written'];
type Wanted = ReadonlyMap<string, string | null>;

/** A key with null is one that may be there: it is neither left out nor known, so it is written, or deleted, again. */
function changesOf(written: Written, want: Wanted) {
  return {
    puts: [...want].flatMap(([path, value]) =>
      value !== null && written[path] !== value ? [[path, value] as const] : [],
    ),
    deletes: Object.keys(written).filter((path) => !want.has(path)),
  };
}

function wanted(
  of: { readonly node: NodeName; readonly outcomes: ReadonlyMap<ModuleName, FillOutcome>; readonly now: string },
  decision: Decision,
  written: Written,
): Wanted {
  const { module } = decision;
  const placed = { node: of.node, module };
  const healthPath = pathOf(buckets.health, healthKeys.of(placed));
  const outcome = of.outcomes.get(module);
  switch (decision.kind) {
    case 'retire':
      return new Map();
    case 'hold':
      return new Map(Object.entries(written));
    case 'postpone': {
      const kept = new Map(Object.entries(written));
      if (decision.passes > quietPasses) kept.set(healthPath, healthText(decision, written[healthPath]));
      return kept;
    }
    case 'fill':
      return outcome === undefined ? new Map(Object.entries(written)) : filledKeys(of, module, outcome, written);
  }
}

function filledKeys(
  { node, now }: { readonly node: NodeName; readonly now: string },
  module: ModuleName,
  outcome: FillOutcome,
  written: Written,
): Wanted {
  const placed = { node, module };
  const appliedPath = pathOf(buckets.applied, appliedKeys.of(placed));
  const told =
    outcome.applied === undefined ? written[appliedPath] : appliedText(outcome.applied, written[appliedPath], now);
  return new Map<string, string | null>([
    ...needsOf(outcome.files).map(
      ({ kind, name, value }) =>
        [
          pathOf(buckets.needs, needKeys.of({ ...placed, kind: partName.parse(kind), name })),
          canonicalJson(value),
        ] as const,
    ),
    ...outcome.contributions.map(
      ({ collection, contributor, item, order }) =>
        [
          pathOf(buckets.collect, collectKeys.of({ node, collection, contributor })),
          canonicalJson({ item, ...given('order', order) }),
        ] as const,
    ),
    ...(told === undefined ? [] : [[appliedPath, told] as const]),
  ]);
}

/** P12. One need for each thing that is asked for, in whichever files and fields: met when all of them are. Sorted. */
export function needsOf(
  files: FillOutcome['files'],
): readonly { readonly kind: string; readonly name: string; readonly value: NeedValue }[] {
  const asked = files.flatMap(({ file, placeholders, reasonOf }) =>
    placeholders.map((placeholder) => ({ file, placeholder, reason: reasonOf(placeholder) })),
  );
  return [...grouped(asked, ({ placeholder }) => `${placeholder.of}:${nameOf(placeholder)}`)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, those]) => {
      const [first] = those;
      if (first === undefined) return [];
      const reason = those.find((one) => one.reason !== undefined)?.reason;
      return [
        {
          kind: first.placeholder.of,
          name: nameOf(first.placeholder),
          value: {
            files: [...new Set(those.map((one) => one.file))].toSorted(),
            placeholders: [...new Set(those.map((one) => one.placeholder.written))].toSorted(),
            met: reason === undefined,
            ...given('reason', reason),
          },
        },
      ];
    });
}

/** `at` is when what is applied became so: it moves only when something else does. */
function appliedText(now: Omit<Applied, 'at'>, before: string | null | undefined, at: string): string {
  const said = readText(applied, before);
  const isSame = said !== undefined && canonicalJson({ ...said, at }) === canonicalJson({ ...now, at });
  return canonicalJson({ ...now, at: isSame ? said.at : at });
}

/** The count is the one at which it was said: another pass that is postponed for the same reason says nothing new (P11). */
function healthText(
  { since, passes, build, reason }: Extract<Decision, { kind: 'postpone' }>,
  before: string | null | undefined,
): string {
  const value: Health = { since, passes, ...given('build', build), reason };
  const said = readText(health, before);
  const isSame = said !== undefined && canonicalJson({ ...said, passes }) === canonicalJson(value);
  return canonicalJson(isSame ? said : value);
}

/** What was last said to be in a module's files. */
export function appliedBefore(record: PassRecord, node: NodeName, module: ModuleName): Applied | undefined {
  return readText(
    applied,
    recordOf(record, module)?.written[pathOf(buckets.applied, appliedKeys.of({ node, module }))],
  );
}

/** What this client wrote; what is no value any more, after an update of the client, is written anew. */
function readText<Value>(
  schema: { safeParse(value: unknown): { data?: Value | undefined } },
  text: string | null | undefined,
): Value | undefined {
  if (text === undefined || text === null) return undefined;
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

const pathOf = (bucket: BucketName, key: string): string => `${bucket}/${key}`;

/** The other way round; a bucket's name holds no slash, and a key may. */
export function placeIn(path: string): { readonly bucket: BucketName; readonly key: string } {
  const cut = path.indexOf('/');
  const name = path.slice(0, cut);
  const bucket = Object.values(buckets).find((one) => one === name);
  if (bucket === undefined) throw new Error(`the record names ${name}, which is no bucket of the provisioner`);
  return { bucket, key: path.slice(cut + 1) };
}
