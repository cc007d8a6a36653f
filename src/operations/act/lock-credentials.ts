import type { Refusal } from '../../domain/refusal/refusal.ts';
import type { ActRows, Acting, CredentialHolder, LockRows } from '../ports/act-rows.ts';
import type { Writes } from '../ports/work.ts';
import { heldAct } from './start-act.ts';

/**
 * Takes a lock on each credential, all of them or none (A1.0). Idempotent for one act. Refused, naming the act that
 * holds one, and for an act that has ended: a late attempt leaves no lock behind.
 */
export function lockCredentials(
  store: Writes<ActRows & LockRows>,
  { act, person }: Acting,
  credentials: readonly string[],
): Promise<{ readonly locked: readonly string[] } | Refusal> {
  return store.write(person, async (tx) => {
    const row = await heldAct(tx, act);
    if (row.endedAt !== undefined) return actEnded(row.workflowId);
    await tx.insertLocks(act, credentials);
    const others = (await tx.lockHolders(credentials)).filter((holder) => holder.act !== act);
    if (others.length > 0) return credentialsLocked(others);
    return { locked: credentials };
  });
}

/** Gives back every lock of the act; answers how many there were. */
export function unlockCredentials(store: Writes<LockRows>, { act, person }: Acting): Promise<number> {
  return store.write(person, (tx) => tx.deleteLocks(act));
}

/** Credentials that other acts hold, and which. */
export function credentialsLocked(holders: readonly CredentialHolder[]): Refusal {
  const acts = [...new Set(holders.map((holder) => holder.workflowId ?? holder.act))];
  return {
    kind: 'credential-locked',
    what: `${holders.map((holder) => holder.credential).join(', ')}: being changed by ${acts.join(', ')}`,
    why: 'one act at a time may change a credential, or its two ends could be left with different values',
    next: acts.map((act) => `mesh act show ${act}`),
    facts: { credentials: holders.map((holder) => holder.credential), acts },
  };
}

/** The act has ended or was settled as abandoned. */
export function actEnded(workflowId: string): Refusal {
  return {
    kind: 'unknown-act',
    what: `${workflowId} has ended`,
    why: 'an act that has ended changes nothing more',
    next: ['mesh acts'],
    facts: { act: workflowId },
  };
}
