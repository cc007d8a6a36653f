/** Tries keys on everything that may be a sealed blob: nothing is believed about which rows or fields hold one. */
import { CannotOpen, open, type SealingKey } from '../../src/sealing/box.ts';
import type { Place } from './places.ts';

export type Opened = { readonly by: string; readonly blob: string; readonly value: string };

/** What the keys open of all that stands in these places as base64 or hex and is long enough to be sealed. */
export async function openAll(
  keys: ReadonlyMap<string, SealingKey>,
  places: AsyncIterable<Place>,
): Promise<{ readonly opened: readonly Opened[]; readonly tried: number }> {
  const blobs = new Set<string>();
  for await (const { bytes } of places) {
    const text = bytes.toString('latin1');
    // A sealed box is 48 bytes longer than what is in it.
    for (const [run] of text.matchAll(/[A-Za-z0-9+/_-]{66,}={0,2}/g)) {
      blobs.add(Buffer.from(run, 'base64').toString('base64'));
      const hex = /[0-9a-f]{98,}/.exec(run)?.[0];
      if (hex !== undefined) blobs.add(Buffer.from(hex, 'hex').toString('base64'));
    }
  }
  const opened: Opened[] = [];
  for (const blob of blobs) {
    for (const [by, key] of keys) {
      const value = openedBy(blob, key);
      if (value !== undefined) opened.push({ by, blob, value });
    }
  }
  return { opened, tried: blobs.size };
}

function openedBy(blob: string, key: SealingKey): string | undefined {
  try {
    return open(blob, key).reveal((bytes) => Buffer.from(bytes).toString());
  } catch (error) {
    if (error instanceof CannotOpen) return undefined;
    throw error;
  }
}
