/** What acts answer, checked at the border: they were written by whichever version of the controller ran them. */
import { z } from 'zod';

import { nodeName } from '../../src/domain/words/names.ts';

export const rotationResult = z.object({
  act: z.string(),
  committed: z.boolean(),
  credentials: z.int(),
  overlapping: z.int(),
  windowMs: z.number(),
  sessionsEnded: z.int(),
  cutOff: z.array(z.string()),
  overlapFrom: z.iso.datetime().optional(),
  overlapUntil: z.iso.datetime().optional(),
});

export const pushResult = z.object({
  act: z.string(),
  sent: z.int(),
  alreadySent: z.int(),
  applied: z.int(),
  failed: z.array(nodeName),
  failedCount: z.int(),
  unresolvable: z.array(nodeName),
  unresolvableCount: z.int(),
  secretsMade: z.int(),
});

export const removalResult = z.object({
  act: z.string(),
  node: nodeName,
  pins: z.array(z.string()),
  pinsCount: z.int(),
  credentials: z.array(z.string()),
  credentialsCount: z.int(),
});
