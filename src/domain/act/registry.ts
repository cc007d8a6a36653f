/** A5: compiling the registry of placeholder kinds. It runs in a process and on a queue of its own. */
import { z } from 'zod';

/** The task queue of the provisioner's process. */
export const provisionerQueue = 'provisioner';
/** The workflow's id, and its schedule's. */
export const registryId = 'registry';
export const registrySummary = 'Compile the registry of placeholder kinds';

/** What one compilation came to. */
export const registryResult = z.object({
  /** Kinds that are answered now. */
  kinds: z.int(),
  written: z.int(),
  deleted: z.int(),
  /** What was refused: the present entry stays. Names only; at most twenty, `refusedCount` says how many there are. */
  refused: z.array(z.object({ kind: z.string(), what: z.string() })),
  refusedCount: z.int(),
  /** Compositions that cannot be read, by key: what they answer is not known. */
  unreadable: z.array(z.string()),
});
export type RegistryResult = z.infer<typeof registryResult>;

/** A12: what came of it, in a sentence. */
export function registrySentence({ kinds, written, deleted, refusedCount }: RegistryResult): string {
  const changed = written + deleted === 0 ? 'nothing changed' : `${written} written, ${deleted} deleted`;
  return `${kinds} kinds are answered; ${changed}${refusedCount === 0 ? '' : `; ${refusedCount} refused`}.`;
}
