/** How each file with placeholders is made: what it is filled with is known before, and its secrets only while it is written. */
import type { Declaration, FileResource } from '../../domain/declaration/declaration.ts';
import { fillText, type Value } from '../../domain/provisioning/fill.ts';
import type { Decision } from '../../domain/provisioning/pass.ts';
import { findPlaceholders, type Placeholder } from '../../domain/provisioning/placeholders.ts';
import type { ModuleName, NodeName } from '../../domain/words/names.ts';
import type { SealingKey } from '../../sealing/box.ts';
import { Waits, type Filling } from '../apply/site.ts';
import { digestOfValue } from '../digest.ts';
import type { NodeReads } from './reads.ts';
import { answerTo, type Answered, type AskedSecrets } from './values.ts';
import type { World } from './world.ts';

export type FilledFile = {
  readonly resource: FileResource;
  readonly placeholders: readonly Placeholder[];
  readonly filling: Filling;
  /** As written in the file → why it has no value. */
  readonly missing: ReadonlyMap<string, string>;
  /** `<provision>[.<local>]` → the generation that was put into the file, once it was filled in this pass. */
  readonly opened: ReadonlyMap<string, number>;
};

type FillingsOf = {
  readonly world: World;
  readonly node: NodeName;
  readonly declaration: Declaration;
  readonly reads: NodeReads;
  readonly decisions: ReadonlyMap<ModuleName, Decision>;
  readonly sealingKey: SealingKey;
};

/** Resource id → how it is made, for every file with placeholders. */
export async function fillingsOf(of: FillingsOf): Promise<ReadonlyMap<string, FilledFile>> {
  const templates = of.declaration.resources.flatMap((one) =>
    one.kind === 'file' && one.fill !== undefined ? [{ resource: one, format: one.fill.format }] : [],
  );
  const files = await Promise.all(templates.map((template) => fileOf(of, template)));
  return new Map(files.map((file) => [file.resource.id, file]));
}

type Template = { readonly resource: FileResource; readonly format: NonNullable<FileResource['fill']>['format'] };

async function fileOf(of: FillingsOf, template: Template): Promise<FilledFile> {
  const { resource } = template;
  const placeholders = [
    ...new Map(
      findPlaceholders(resource.content).flatMap(({ found }) =>
        found.kind === 'placeholder' ? [[found.written, found] as const] : [],
      ),
    ).values(),
  ];
  const decision = of.decisions.get(resource.module);
  const unmet = new Map<string, string>();
  const opened = new Map<string, number>();
  if (decision?.kind !== 'fill')
    return { resource, placeholders, filling: waiting(of.reads, resource, decision), missing: unmet, opened };
  const bound = of.reads.index?.modules[resource.module]?.bound ?? [];
  const asker = { node: of.node, module: resource.module, bound };
  const answers = new Map(
    await Promise.all(
      placeholders.map(async (one): Promise<[string, Answered]> => [
        one.written,
        await answerTo(of.world, asker, one, of.sealingKey),
      ]),
    ),
  );
  for (const [written, answer] of answers)
    if (answer.kind === 'plain' && answer.value.kind === 'missing') unmet.set(written, answer.value.reason);
  // What it holds may well be right: nobody could be asked.
  if (of.world.isGone) return { resource, placeholders, filling: away, missing: unmet, opened };
  const filling: Filling =
    unmet.size > 0
      ? { kind: 'unfillable', reason: [...unmet].map(([written, reason]) => `${written}: ${reason}`).join('; ') }
      : { kind: 'fillable', source: sourceOf(answers), content: () => contentOf(template, answers, opened) };
  return { resource, placeholders, filling, missing: unmet, opened };
}

const away: Filling = { kind: 'left', why: 'the bus went away while it was asked' };

function waiting({ index }: NodeReads, { module }: FileResource, decision: Decision | undefined): Filling {
  if (decision?.kind === 'postpone' || decision?.kind === 'hold') return { kind: 'left', why: decision.reason };
  // Its file goes when the declaration that is without it comes.
  if (decision?.kind === 'retire') return { kind: 'left', why: `${module} is assigned to this node no more` };
  if (index === undefined) return { kind: 'left', why: 'what this node is to hold could not be read' };
  return { kind: 'unfillable', reason: `the mesh has not said yet what ${module} is filled with on this node` };
}

/** All that is filled in but for what is sealed, of which the declaration says the generation. */
function sourceOf(answers: ReadonlyMap<string, Answered>): string {
  return digestOfValue(
    Object.fromEntries(
      [...answers].map(([written, answer]) => [written, answer.kind === 'plain' ? answer.value : answer.as]),
    ),
  );
}

async function contentOf(
  { resource, format }: Template,
  answers: ReadonlyMap<string, Answered>,
  opened: Map<string, number>,
): Promise<Uint8Array> {
  const atLeast = new Map(Object.entries(resource.fill?.generations ?? {}));
  const secrets: AskedSecrets = { answers: new Map(), atLeast, opened };
  const values = new Map<string, Value>();
  for (const [written, answer] of answers)
    values.set(written, answer.kind === 'plain' ? answer.value : await answer.open(secrets));
  const filled = fillText({
    file: resource.path,
    text: resource.content,
    format,
    valueOf: ({ written }) => values.get(written) ?? { kind: 'missing', reason: 'nothing was asked for it' },
  });
  if (filled.kind === 'filled') return Buffer.from(filled.text);
  const says = filled.faults.map((fault) => fault.says).join('; ');
  // A value that is still to come is waited for; one that this file cannot hold is wrong until somebody changes it.
  const isToCome = [...values.values()].some((value) => value.kind === 'missing');
  throw isToCome ? new Waits(says) : new Error(says);
}
