/** Digests that the host keeps for itself: of contents, and of what a thing was made from. They never leave the node. */
import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

export function digestOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The digest of plain JSON values, blind to the order of their keys. */
export function digestOfValue(value: unknown): string {
  return digestOf(
    JSON.stringify(value, (_key, part: unknown) =>
      typeof part === 'object' && part !== null && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
        : part,
    ),
  );
}

/** The digest of an open file's content, read in pieces: a file that is not ours may be of any size. */
export async function digestOfOpen(handle: FileHandle): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of handle.createReadStream({ autoClose: false })) hash.update(bytesOf(piece));
  return hash.digest('hex');
}

function bytesOf(piece: unknown): Uint8Array {
  if (piece instanceof Uint8Array) return piece;
  throw new Error('a file was read as something else than bytes');
}
