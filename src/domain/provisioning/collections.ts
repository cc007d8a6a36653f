/**
 * Collections: what modules anywhere in the mesh contribute to one name, gathered, ordered and without repetition. The same items
 * make the same text on every node, in whatever order they were read.
 */
import { canonicalJson } from '../declaration/canonical.ts';
import { given } from '../words/given.ts';
import { collectKeys, type KeyFault } from './keys.ts';
import { nameOf, type Placeholder } from './placeholders.ts';
import { collected, type Collected } from './values.ts';

/** One contributed item and where it comes from. */
export type CollectedEntry = Collected & {
  readonly node: string;
  readonly collection: string;
  readonly contributor: string;
};

/**
 * Reads the collect bucket, key → value, back by name: collection → its entries. What is out of shape is a fault that names its key.
 */
export function readCollections(values: ReadonlyMap<string, unknown>): {
  readonly collections: ReadonlyMap<string, readonly CollectedEntry[]>;
  readonly faults: readonly KeyFault[];
} {
  const collections = new Map<string, CollectedEntry[]>();
  const faults: KeyFault[] = [];
  for (const [key, value] of values) {
    const read = collectKeys.read(key);
    const item = collected.safeParse(value);
    if (read.kind === 'key-fault') faults.push(read);
    else if (!item.success)
      faults.push({ kind: 'key-fault', key, says: `key ${JSON.stringify(key)}: holds no contributed item` });
    else {
      const entries = collections.get(read.parts.collection) ?? [];
      collections.set(read.parts.collection, entries);
      const { item: contributed, order } = item.data;
      entries.push({ ...read.parts, item: contributed, ...given('order', order) });
    }
  }
  return { collections, faults };
}

/** By `order` (none: 0), then node, then contributor: a total order, so that every node gathers the same. */
export function inOrder(entries: readonly CollectedEntry[]): readonly CollectedEntry[] {
  return entries.toSorted(
    (a, b) =>
      (a.order ?? 0) - (b.order ?? 0) ||
      compareNames(a.node, b.node) ||
      compareNames(a.contributor, b.contributor) ||
      compareNames(canonicalJson(a.item), canonicalJson(b.item)),
  );
}

const compareNames = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * What `${collected:name}` stands for: the items in their order, the same item once, where it comes first. Filled into a text,
 * items that are texts are its lines. A collection that nobody contributes to is an empty list, which is no fault.
 */
export function collectedValue(entries: readonly CollectedEntry[]): readonly unknown[] {
  const seen = new Set<string>();
  return inOrder(entries).flatMap(({ item }) => {
    const words = canonicalJson(item);
    if (seen.has(words)) return [];
    seen.add(words);
    return [item];
  });
}

/** Kinds that are read as collections of their own name (P4). */
const kindsOfCollections: readonly string[] = ['shell', 'environment', 'contribution'];

/** The collection that a placeholder reads; undefined where it reads none. */
export function collectionOf(placeholder: Placeholder): string | undefined {
  if (placeholder.of === 'collected') return nameOf(placeholder);
  return kindsOfCollections.includes(placeholder.of) ? `${placeholder.of}:${nameOf(placeholder)}` : undefined;
}

/**
 * The names under which a module contributes, one an item: its own for the first of a collection, then `<module>:2` and so on.
 * Whoever asks for the contributions of a module asks for all of these (`isOf`).
 */
export function contributorsOf(module: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => (index === 0 ? module : `${module}:${index + 1}`));
}

/** Whether a contributor is this module. */
export function isOf(contributor: string, module: string): boolean {
  return contributor === module || contributor.startsWith(`${module}:`);
}
