/** The steps that take a node out of the mesh: its rows, and its account on the bus. */
import type { RemovalRequest } from '../domain/act/act.ts';
import { isRefusal } from '../domain/refusal/refusal.ts';
import type { NodeName } from '../domain/words/names.ts';
import type { Removal } from '../operations/node/remove-node.ts';
import type { Refusal } from '../domain/refusal/refusal.ts';
import type { AccountBus } from './enrolment.ts';
import { refuse } from './faults.ts';
import type { ActRecords } from './ports.ts';

export type RemovalPorts = {
  readonly acts: Pick<ActRecords, 'begin' | 'end'>;
  readonly removeRows: (act: string, node: NodeName) => Promise<Removal | Refusal>;
  readonly bus: Pick<AccountBus, 'revoke'>;
};

/** The steps of `removeNode`, over the worker's ports. */
export function createRemovalActivities({ acts, removeRows, bus }: RemovalPorts) {
  return {
    /** (1) Takes its rows away, with the pins and secrets that the person was shown (M4). */
    async removeNodeRows(act: string, workflowId: string, summary: string, request: RemovalRequest): Promise<Removal> {
      await acts.begin({ act, workflowId, kind: 'remove', summary, person: request.person });
      const removed = await removeRows(act, request.node);
      if (!isRefusal(removed)) return removed;
      await acts.end(act, 'failed', { refusal: removed.kind });
      throw refuse('RemovalRefused', removed);
    },

    /** (2) Closes its accounts, which cuts it off, and ends the act. An act of before knows of one account alone. */
    async closeNodeAccount(
      act: string,
      accountKey: string | undefined,
      otherAccounts: readonly string[] = [],
    ): Promise<void> {
      for (const key of [...(accountKey === undefined ? [] : [accountKey]), ...otherAccounts]) await bus.revoke(key);
      await acts.end(act, 'closed');
    },
  };
}
export type RemovalActivities = ReturnType<typeof createRemovalActivities>;
