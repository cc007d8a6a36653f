/**
 * The client's pass as decisions over what was read (P8–P12): which modules are filled in, which wait, which retire. What to
 * retire is known from the index and the client's own record, never from a listing of a bucket (P11).
 *
 * | the index names it | all that was named is read | its composition | decision |
 * | --- | --- | --- | --- |
 * | yes | of this module | published, of the assigned version | fill |
 * | yes | of this module | not | postpone: its keys and files stay (P9) |
 * | yes | not of this module | | hold: as it is |
 * | no | of every module | | retire, also beside a postponed one (P10) |
 * | no, or unread | not | | hold: nothing retires on an incomplete read (P8) |
 */
import { z } from 'zod';
import { moduleName, type ModuleName } from '../words/names.ts';
import { given } from '../words/given.ts';
import type { AssignmentIndex, AssignmentPlan, Composition, PendingBuild } from './values.ts';

/** What the client did last, in a file of its own. `null`: a key that was to be written or deleted, and may or may not have been. */
export const passRecord = z.strictObject({
  modules: z.record(
    moduleName,
    z.strictObject({
      /** Since when (RFC 3339, the node's clock) and in how many passes in a row it was postponed. */
      postponed: z.strictObject({ since: z.string(), passes: z.int().positive() }).optional(),
      /** `<bucket>/<key>` → the text that is there. */
      written: z.record(z.string(), z.string().nullable()),
    }),
  ),
});
export type PassRecord = z.infer<typeof passRecord>;
/** The record of a client that has done nothing yet. */
export const emptyRecord: PassRecord = { modules: {} };

/** What is known of a module. One may be called `constructor`, so it is looked for among the record's own. */
export function recordOf(record: PassRecord, module: ModuleName): PassRecord['modules'][ModuleName] | undefined {
  return Object.hasOwn(record.modules, module) ? record.modules[module] : undefined;
}

export type Decision =
  | { readonly kind: 'fill'; readonly module: ModuleName }
  | {
      readonly kind: 'postpone';
      readonly module: ModuleName;
      readonly since: string;
      readonly passes: number;
      readonly build?: PendingBuild;
      readonly reason: string;
    }
  | { readonly kind: 'retire'; readonly module: ModuleName }
  | { readonly kind: 'hold'; readonly module: ModuleName; readonly reason: string };

export type PassReads = {
  /** Undefined: it could not be read. A node without one has an empty index. */
  readonly index: AssignmentIndex | undefined;
  /** Modules of the index of which some key (plan, setting, facts, composition) could not be read, and why. */
  readonly unread: ReadonlyMap<ModuleName, string>;
  readonly plans: ReadonlyMap<ModuleName, Pick<AssignmentPlan, 'build'>>;
  /** Published ones; what was looked for and is not there is not published. */
  readonly compositions: ReadonlyMap<ModuleName, Pick<Composition, 'version'>>;
};

/** Decides for every module that the index names or the record knows, sorted by name. `now`: RFC 3339. */
export function decidePass(of: PassReads & { readonly record: PassRecord; readonly now: string }): readonly Decision[] {
  const assigned = new Map<string, AssignmentIndex['modules'][ModuleName]>(Object.entries(of.index?.modules ?? {}));
  const isComplete = of.index !== undefined && of.unread.size === 0;
  const names = [...new Set([...assigned.keys(), ...Object.keys(of.record.modules)])].toSorted();
  return names.map((name): Decision => {
    const module = moduleName.parse(name);
    const entry = assigned.get(name);
    if (entry !== undefined) return decideAssigned(of, module, entry.version);
    if (isComplete) return { kind: 'retire', module };
    return {
      kind: 'hold',
      module,
      reason:
        of.index === undefined
          ? 'the index of this node could not be read'
          : 'not all that the index names could be read',
    };
  });
}

function decideAssigned(
  of: PassReads & { readonly record: PassRecord; readonly now: string },
  module: ModuleName,
  version: string,
): Decision {
  const unread = of.unread.get(module);
  if (unread !== undefined) return { kind: 'hold', module, reason: unread };
  const published = of.compositions.get(module);
  if (published?.version === version) return { kind: 'fill', module };
  const before = recordOf(of.record, module)?.postponed;
  const build = of.plans.get(module)?.build;
  return {
    kind: 'postpone',
    module,
    since: before?.since ?? of.now,
    passes: (before?.passes ?? 0) + 1,
    ...given('build', build),
    reason:
      published === undefined
        ? `version ${build?.version ?? version} of ${module} is not published`
        : `version ${version} of ${module} is assigned, and version ${published.version} is published`,
  };
}
