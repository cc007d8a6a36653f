/** What a rotation writes down of itself in its act's row, and what follows from it: for whom it waits, and how it went. */
import { z } from 'zod';
import type { RotationResult } from '../domain/act/act.ts';
import type { Granted } from '../domain/act/waiting.ts';
import { pairKey, pairPath, type PairKey } from '../domain/credential/credential.ts';
import type { NodeName } from '../domain/words/names.ts';
import type { GrantsOf } from '../operations/act/credential-records.ts';
import { takenBack, targetOf } from './refused-values.ts';

/** What the first step writes down and the later ones read: keys, generations and counts (A11). */
export const rotationNotes = z.object({
  pairs: z.array(
    z.object({
      key: pairKey,
      from: z.int(),
      overlaps: z.boolean(),
      to: z.int().optional(),
      back: z.int().optional(),
    }),
  ),
  takenBack: takenBack.optional(),
  grantedAt: z.record(z.string(), z.number()).default({}),
  heldAt: z.record(z.string(), z.number()).default({}),
  overlapFrom: z.string().optional(),
  overlapUntil: z.string().optional(),
  cutOff: z.array(z.string()).default([]),
  sessionsEnded: z.number().default(0),
});
export type RotationNotes = z.output<typeof rotationNotes>;

export type Prepared = { readonly overlapping: number; readonly credentials: number };

/** What the workflow is told of it. */
export const preparedOf = ({ pairs }: RotationNotes): Prepared => ({
  credentials: pairs.length,
  overlapping: pairs.filter((pair) => pair.overlaps).length,
});

export const nodesOf = (keys: readonly PairKey[], end: 'providerNode' | 'consumerNode'): readonly NodeName[] => [
  ...new Set(keys.map((key) => key[end])),
];
export const providersOf = (keys: readonly PairKey[]): readonly GrantsOf[] =>
  keys.map((key) => ({ node: key.providerNode, module: key.providerModule, provision: key.provision }));
/** Those that have an overlap, or those that have none. */
export const keysOf = ({ pairs }: RotationNotes, of: { readonly overlaps: boolean }): readonly PairKey[] =>
  pairs.filter((pair) => pair.overlaps === of.overlaps).map((pair) => pair.key);

/** The generations that are to be there in the end, and those that were there before. */
export const newOf = ({ pairs }: RotationNotes): readonly Granted[] =>
  pairs.map((pair) => ({ key: pair.key, generation: pair.back ?? targetOf(pair) }));
export const oldOf = ({ pairs }: RotationNotes): readonly Granted[] =>
  pairs.map(({ key, from }) => ({ key, generation: from }));

/** How it went. `committedAt`: ms, as the store's row has it. */
export function resultOf(act: string, notes: RotationNotes, committedAt: number | undefined): RotationResult {
  const windows = keysOf(notes, { overlaps: false }).flatMap((key) => {
    const [heldAt, grantedAt] = [notes.heldAt[pairPath(key)], notes.grantedAt[pairPath(key)]];
    // An end that never got it was not waited for: its consumer was unassigned meanwhile.
    if (heldAt === undefined || grantedAt === undefined) return [];
    // One look may see both ends with it, and then their difference is nothing: from the commit on either may have had it alone.
    const last = Math.max(heldAt, grantedAt);
    return [last - Math.min(heldAt, grantedAt, committedAt ?? last)];
  });
  return {
    act,
    committed: true,
    ...preparedOf(notes),
    windowMs: Math.max(0, ...windows),
    sessionsEnded: notes.sessionsEnded,
    cutOff: notes.cutOff.slice(0, 20),
    ...(notes.overlapFrom !== undefined && { overlapFrom: notes.overlapFrom }),
    ...(notes.overlapUntil !== undefined && { overlapUntil: notes.overlapUntil }),
  };
}
