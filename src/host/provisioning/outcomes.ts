/** What came of each module that was to be filled in, as the mesh is told it. */
import type { Declaration } from '../../domain/declaration/declaration.ts';
import type { Decision, PassRecord } from '../../domain/provisioning/pass.ts';
import { appliedBefore, type FillOutcome } from '../../domain/provisioning/settle.ts';
import type { Applied } from '../../domain/provisioning/values.ts';
import type { ModuleName } from '../../domain/words/names.ts';
import { digestOfValue } from '../digest.ts';
import type { FilledFile } from './filling.ts';
import type { NodeReads } from './reads.ts';

type OutcomesOf = {
  readonly decisions: readonly Decision[];
  readonly declaration: Declaration;
  readonly files: ReadonlyMap<string, FilledFile>;
  readonly reads: NodeReads;
  /** Resource id → why it is not as declared. */
  readonly failed: ReadonlyMap<string, string>;
  readonly record: PassRecord;
};

/** Of each module its files' placeholders, what is in the files when all of it is as declared, and what it contributes. */
export function outcomesOf(of: OutcomesOf): ReadonlyMap<ModuleName, FillOutcome> {
  return new Map(
    of.decisions.flatMap(({ kind, module }) => (kind === 'fill' ? [[module, outcomeOf(of, module)] as const] : [])),
  );
}

function outcomeOf(of: OutcomesOf, module: ModuleName): FillOutcome {
  const own = [...of.files.values()].filter(({ resource }) => resource.module === module);
  const applied = appliedOf(of, module, own);
  return {
    files: own.map(({ resource, placeholders, missing }) => ({
      file: resource.path,
      placeholders,
      reasonOf: ({ written }) => missing.get(written) ?? (missing.size === 0 ? of.failed.get(resource.id) : undefined),
    })),
    ...(applied === undefined ? {} : { applied }),
    contributions: of.reads.plans.get(module)?.contributes ?? [],
  };
}

/** Undefined where not all is as declared, or nothing of the module is declared yet. */
function appliedOf(
  { declaration, failed, reads, record }: OutcomesOf,
  module: ModuleName,
  own: readonly FilledFile[],
): Omit<Applied, 'at'> | undefined {
  const version = reads.index?.modules[module]?.version;
  const resources = declaration.resources.filter((one) => one.module === module);
  if (version === undefined || resources.length === 0 || resources.some(({ id }) => failed.has(id))) return undefined;
  const digest = digestOfValue(
    own.map(({ resource, filling }) => [
      resource.id,
      resource.content,
      resource.fill,
      filling.kind === 'fillable' ? filling.source : '',
    ]),
  );
  const before = appliedBefore(record, declaration.node, module);
  return { version, digest, generations: generationsIn(own, before?.digest === digest ? before.generations : {}) };
}

/**
 * The generation of each credential that is in all of these files. One that was written in an earlier pass holds what was said
 * then; the seat may have been ahead of the declaration, never behind it.
 */
function generationsIn(files: readonly FilledFile[], before: Applied['generations']): Applied['generations'] {
  const known = new Map(Object.entries(before));
  const found = new Map<string, number>();
  for (const { resource, opened } of files)
    for (const [name, declared] of Object.entries(resource.fill?.generations ?? {})) {
      const generation = opened.get(name) ?? known.get(name) ?? declared;
      found.set(name, Math.min(found.get(name) ?? generation, generation));
    }
  return Object.fromEntries(found);
}
