import type { SecretNeed } from '../credential/secrets-to-make.ts';
import { pathClashes } from '../manifest/check.ts';
import type { Refusal } from '../refusal/refusal.ts';
import { indexOf, type InventoryIndex } from '../resolution/inventory-index.ts';
import type { Inventory } from '../resolution/inventory.ts';
import type { NodeRecord } from '../resolution/node-record.ts';
import type { Binding, ResolvedNode } from '../resolution/resolve.ts';
import { present } from '../words/invariant.ts';
import type { NodeName } from '../words/names.ts';
import { statusFile } from './beside-grants.ts';
import { canonicalJson } from './canonical.ts';
import { declarationLimitBytes, type Declaration } from './declaration.ts';
import { emitConsumed, together, type Emission, type Emitting } from './emit-credentials.ts';
import { emitFilled } from './emit-filled.ts';
import { emitGrants } from './emit-grants.ts';
import { emitFiles, emitProcesses, type Emitted } from './emit-module.ts';
import { areStill, watching, type Reads, type ResolutionLookup } from './reads.ts';

export type Composition =
  | {
      readonly kind: 'composed';
      readonly declaration: Declaration;
      /** Canonical JSON of the declaration: the envelope's body. */
      readonly text: string;
      /** `sha256:<hex>` of the text. */
      readonly digest: string;
      /** What the node takes from other nodes, provision by provision (M6). */
      readonly takes: readonly Binding[];
      /** Not empty: their files are not in the declaration yet, and it may not be sent (S3). */
      readonly wouldMake: readonly SecretNeed[];
      /** Resource id → its canonical JSON. */
      readonly resources: ReadonlyMap<string, string>;
    }
  | { readonly kind: 'unresolvable'; readonly refusals: readonly Refusal[] };

type Made = { readonly hash: Hash; readonly reads: Reads; readonly composition: Composition };
type Hash = (text: string) => string;

// By the node's own record, without which there is nothing to compose: it goes when the record does.
const compositions = new WeakMap<NodeRecord, Made>();

/**
 * Composes one node's declaration: the one function behind plan, push and every act (D1). Same inventory, same text (D2).
 * `resolution` is of the same inventory; `hash` gives the lower-case hex SHA-256 of a text. A node is unresolvable for what its
 * resolution says, and for `port-unassigned`, `path-clash`, `secret-accepted`, `secret-cannot-be-made`, `declaration-too-large`.
 * A node is composed anew only when something that its last composition read is another value.
 */
export function compose(of: {
  readonly inventory: Inventory;
  readonly resolution: ResolutionLookup;
  readonly node: NodeName;
  readonly hash: Hash;
}): Composition {
  const { inventory, resolution, node, hash } = of;
  const now = { index: indexOf(inventory), resolution };
  const record = now.index.record(node);
  const made = record && compositions.get(record);
  if (made?.hash === hash && areStill(made.reads, now)) return made.composition;
  const { world, reads } = watching(now);
  const composition = composeAnew({ ...world, hash }, node);
  if (record !== undefined) compositions.set(record, { hash, reads, composition: inShort(composition) });
  return composition;
}

/** The same to whoever looks; its text, which is long and mostly not asked for, is put together again each time. */
function inShort(composition: Composition): Composition {
  if (composition.kind === 'unresolvable') return composition;
  const { text: _text, ...rest } = composition;
  return {
    ...rest,
    get text() {
      return textOf(rest.declaration, [...rest.resources.values()]);
    },
  };
}

function composeAnew(emitting: Emitting, node: NodeName): Composition {
  const { index, resolution, hash } = emitting;
  const resolved = resolution.nodes.get(node);
  if (resolved === undefined) return { kind: 'unresolvable', refusals: [unknownNode(node)] };
  if (resolved.kind === 'unresolvable') return { kind: 'unresolvable', refusals: resolved.refusals };
  const emission = emit(emitting, resolved);
  const emittedOnes = emission.emitted.toSorted((a, b) => (a.resource.id < b.resource.id ? -1 : 1));
  const refusals = [...emission.refusals, ...clashing(node, emittedOnes)];
  if (refusals.length > 0) return { kind: 'unresolvable', refusals };
  const declaration = declarationOf(index, resolved, emittedOnes);
  const text = textOf(
    declaration,
    emittedOnes.map((one) => one.text),
  );
  const bytes = utf8Length(text);
  if (bytes > declarationLimitBytes) return { kind: 'unresolvable', refusals: [tooLarge(node, bytes, emittedOnes)] };
  return {
    kind: 'composed',
    declaration,
    text,
    digest: `sha256:${hash(text)}`,
    takes: resolved.bindings.filter((binding) => binding.provider.node !== node),
    wouldMake: onceEach(emission.wouldMake),
    resources: new Map(emittedOnes.map(({ resource, text: words }) => [resource.id, words])),
  };
}

function emit(emitting: Emitting, resolved: ResolvedNode): Emission {
  const { index } = emitting;
  const modules = resolved.modules.flatMap(({ module }): readonly Emission[] => {
    const known = present(index.modules.get(module), `module ${module} of a resolved node`);
    const placed = { node: resolved.node, module };
    return [
      { emitted: [...emitFiles(known), ...emitFilled(emitting, resolved, known)], refusals: [], wouldMake: [] },
      { ...emitProcesses(known, placed, index.ports(placed)), wouldMake: [] },
      emitGrants(emitting, resolved.node, module, known.manifest.provides),
    ];
  });
  return together([...modules, emitConsumed(emitting, resolved)]);
}

function declarationOf(index: InventoryIndex, resolved: ResolvedNode, emittedOnes: readonly Emitted[]): Declaration {
  const manifests = resolved.modules.flatMap(({ module }) => index.modules.get(module)?.manifest ?? []);
  return {
    schema: 'mesh.declaration',
    version: 1,
    node: resolved.node,
    address: present(index.nodes.get(resolved.node), `node ${resolved.node}`).address,
    capabilities: [...new Set(manifests.flatMap((manifest) => manifest.capabilities))].toSorted(),
    resources: emittedOnes.map(({ resource }) => resource),
    granters: manifests
      .flatMap(({ module, provides }) =>
        provides.flatMap(({ name, grants }) =>
          grants === undefined ? [] : [{ module, provision: name, status: statusFile(grants) }],
        ),
      )
      .toSorted((a, b) => (a.status < b.status ? -1 : 1)),
  };
}

/** The canonical text, put together from the resources' own, which most nodes share. */
function textOf(declaration: Declaration, resources: readonly string[]): string {
  const members = Object.entries(declaration).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const words = members.map(([key, value]) =>
    key === 'resources' ? `"resources":[${resources.join(',')}]` : `"${key}":${canonicalJson(value)}`,
  );
  return `{${words.join(',')}}`;
}

/** A provider on the consumer's own node sees the same need from both ends. */
function onceEach(needs: readonly SecretNeed[]): readonly SecretNeed[] {
  return [...new Map(needs.map((need) => [`${need.kind} ${need.path}`, need])).values()];
}

function clashing(node: NodeName, emittedOnes: readonly Emitted[]): readonly Refusal[] {
  const clashes = pathClashes(
    emittedOnes.flatMap(({ resource }) =>
      'path' in resource ? [{ at: resource.path, folder: resource.kind === 'directory', by: resource.id }] : [],
    ),
  );
  if (clashes.length === 0) return [];
  return [
    {
      kind: 'path-clash',
      what: `on ${node}, ${clashes.join('; ')}`,
      why: 'one path of a node holds one thing, or the last one written would win',
      next: ['give one of them another path in its manifest, or unassign one of the modules'],
      facts: { node, clashes },
    },
  ];
}

/** Bytes of a text in UTF-8; counted only when it could be over the limit at all. */
function utf8Length(text: string): number {
  return text.length * 3 <= declarationLimitBytes ? text.length : new TextEncoder().encode(text).length;
}

function tooLarge(node: NodeName, bytes: number, emittedOnes: readonly Emitted[]): Refusal {
  const largest = emittedOnes
    .map(({ resource, text }) => ({ id: resource.id, size: text.length }))
    .toSorted((a, b) => b.size - a.size)
    .slice(0, 5);
  const named = largest.map(({ id, size }) => `${id} (${Math.ceil(size / 1024)} KiB)`);
  return {
    kind: 'declaration-too-large',
    what: `what ${node} should be weighs ${(bytes / 1024 / 1024).toFixed(1)} MiB; its largest resources are ${named.join(', ')}`,
    why: 'a declaration travels as one message, and that holds 6 MiB at most',
    next: ['make these files smaller, or move their modules to other nodes'],
    facts: { node, bytes, largest: largest.map(({ id }) => id) },
  };
}

function unknownNode(node: NodeName): Refusal {
  return {
    kind: 'unknown-node',
    what: `there is no node ${node}`,
    why: 'only what has a row can be composed for',
    next: ['mesh node list', `mesh node invite ${node}`],
    facts: { node },
  };
}
