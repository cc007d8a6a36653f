/**
 * What changes in a resource, beyond that it changes (D6): the lines of a file, the fields of a process. The body that was last sent
 * is not kept by the mesh; whoever fetched it from the node's subject hands it in, and it counts only where it is what was recorded.
 */
import { canonicalJson } from './canonical.ts';
import { declaration, type Resource } from './declaration.ts';
import type { Difference } from './difference.ts';
import { diffLines, type Hunk } from './line-diff.ts';

export type FieldChange = { readonly field: string; readonly before?: string; readonly after?: string };
export type ResourceChange = {
  readonly id: string;
  /** Values as JSON, each field's name as a path: `env.TITLE`, `ports.http`. */
  readonly fields: readonly FieldChange[];
  /** Of a file whose content is text on both sides. */
  readonly hunks?: readonly Hunk[];
  /** Of content that is no text: how many bytes it had and will have. */
  readonly bytes?: { readonly before: number; readonly after: number };
  /** Of a secret: sealed to the same key again (another value, or the same one), or to another key. Never what it holds. */
  readonly sealed?: 'sealed anew' | 'other key';
};
export type Described =
  | { readonly kind: 'described'; readonly changes: readonly ResourceChange[] }
  /** What stands on the node's subject is not what was recorded as sent, or nothing does. */
  | { readonly kind: 'unknown'; readonly why: string };

/** What was recorded of the last send. */
type Recorded = { readonly digest: string; readonly resources: ReadonlyMap<string, string> };

/**
 * Describes each changed resource. `body` is the declaration that stands on the node's subject, undefined when there is none;
 * `would` is resource id → canonical JSON of what would be sent now. `unknown` unless the body and every changed resource in
 * it have the digests that were recorded when it was sent.
 */
export function describeChanges(of: {
  readonly body: string | undefined;
  readonly sent: Recorded;
  readonly would: ReadonlyMap<string, string>;
  readonly difference: Difference;
  readonly hash: (text: string) => string;
}): Described {
  const { body, sent, would, difference, hash } = of;
  if (body === undefined) return { kind: 'unknown', why: 'nothing stands on its subject any more' };
  const digest = (text: string): string => `sha256:${hash(text)}`;
  if (digest(body) !== sent.digest)
    return { kind: 'unknown', why: 'what stands on its subject is not what was recorded as sent' };
  const read = declaration.safeParse(parsed(body));
  if (!read.success) return { kind: 'unknown', why: 'what was sent was written by another version of mesh' };
  const before = new Map(read.data.resources.map((resource) => [resource.id, resource]));
  const changes: ResourceChange[] = [];
  for (const id of difference.changed) {
    const [was, will] = [before.get(id), resourceIn(would.get(id))];
    if (was === undefined || will === undefined || digest(canonicalJson(was)) !== sent.resources.get(id))
      return { kind: 'unknown', why: `${id} is not what was recorded as sent` };
    changes.push(describe(was, will));
  }
  return { kind: 'described', changes };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function resourceIn(text: string | undefined): Resource | undefined {
  if (text === undefined) return undefined;
  const read = declaration.shape.resources.element.safeParse(parsed(text));
  return read.success ? read.data : undefined;
}

function describe(was: Resource, will: Resource): ResourceChange {
  const common = { id: will.id, fields: fieldChanges(was, will) };
  if (was.kind === 'file' && will.kind === 'file' && isOtherContent(was, will))
    return { ...common, ...contentOf(was, will) };
  if (was.kind !== 'secret' || will.kind !== 'secret') return common;
  if (was.fingerprint !== will.fingerprint) return { ...common, sealed: 'other key' };
  return was.sealed === will.sealed ? common : { ...common, sealed: 'sealed anew' };
}

type File = Extract<Resource, { kind: 'file' }>;
const isOtherContent = (was: File, will: File): boolean =>
  was.content !== will.content || was.encoding !== will.encoding;

function contentOf(was: File, will: File): Pick<ResourceChange, 'hunks' | 'bytes'> {
  if (was.encoding === 'utf8' && will.encoding === 'utf8') return { hunks: diffLines(was.content, will.content) };
  return { bytes: { before: bytesOf(was), after: bytesOf(will) } };
}

function bytesOf({ content, encoding }: File): number {
  if (encoding === 'utf8') return new TextEncoder().encode(content).length;
  return (content.length / 4) * 3 - (content.match(/=*$/)?.[0].length ?? 0);
}

/** Blobs and contents are told in their own ways, and the rest of a resource's id never changes. */
const toldApart = new Set(['content', 'encoding', 'sealed', 'fingerprint', 'id', 'kind', 'module']);

function fieldChanges(was: Resource, will: Resource): readonly FieldChange[] {
  const [before, after] = [flat(was), flat(will)];
  return [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((field) => {
    const [from, to] = [before.get(field), after.get(field)];
    if (from === to) return [];
    return [{ field, ...(from === undefined ? {} : { before: from }), ...(to === undefined ? {} : { after: to }) }];
  });
}

/** A resource's fields by path; records are opened, lists are one value. */
function flat(resource: Resource): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  const open = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      if (value !== undefined) fields.set(path, canonicalJson(value));
      return;
    }
    for (const [name, each] of Object.entries(value)) open(each, path === '' ? name : `${path}.${name}`);
  };
  for (const [name, value] of Object.entries(resource)) if (!toldApart.has(name)) open(value, name);
  return fields;
}
