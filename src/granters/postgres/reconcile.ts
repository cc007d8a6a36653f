/**
 * One pass: what stands in no list is withdrawn, what is listed is granted, who came is noted. Everything one after
 * the other over one connection (C39). What did not change since the last pass costs no statement; what this
 * connection has not made sure of yet is looked at on the server, whatever was true before.
 */
import type { Grant, GrantList } from '../../domain/declaration/declaration.ts';
import { createGranting } from './granting.ts';
import { createRetries } from './retries.ts';
import type { Held, Surroundings } from './surroundings.ts';
import { createWatching } from './watching.ts';
import { createWithdrawing } from './withdrawing.ts';

export type Reconciler = {
  /** @throws when the connection is lost; a grant that cannot be made is a fault of its entry and no error. */
  pass(list: GrantList, digest: string, drainMs: number): Promise<void>;
};

/** A reconciler for one connection; with the next connection begins the next. */
export function createReconciler(given: Omit<Surroundings, 'held' | 'retries'>): Reconciler {
  const around: Surroundings = { ...given, held: new Map<string, Held>(), retries: createRetries(given.nowMs) };
  const withdrawing = createWithdrawing(around);
  const granting = createGranting(around);
  const watching = createWatching(around);
  return {
    async pass(list, digest, drainMs) {
      const grants = newestOfEachLogin(list.grants);
      // Withdrawals first: what must not work any more is more urgent than what does not work yet.
      const dropped = await withdrawing.pass(grants, digest, drainMs);
      for (const grant of grants) await granting.keep(grant);
      await watching.pass(dropped, drainMs);
    },
  };
}

/** A login has one password: of two grants of the same login the newer generation counts. */
function newestOfEachLogin(grants: readonly Grant[]): Grant[] {
  const newest = new Map<string, Grant>();
  for (const grant of grants) {
    const other = newest.get(grant.login);
    if (other === undefined || other.generation < grant.generation) newest.set(grant.login, grant);
  }
  return [...newest.values()];
}
