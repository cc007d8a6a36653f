/**
 * What becomes of a rotation's credentials when a server has a rule that their new values do not keep (C34). Each function is
 * one transaction, done once however often it is called.
 */
import { pairPath } from '../../domain/credential/credential.ts';
import type { ActRows } from '../ports/act-rows.ts';
import type { Generation, RefusedValueRows, Reinstated } from '../ports/refused-value-rows.ts';
import type { SecretRows } from '../ports/secret-rows.ts';
import { controller, type Detail, type EventRows, type Writes } from '../ports/work.ts';
import { heldAct } from './act-records.ts';
import type { MadePair } from './credential-records.ts';

type Tx = ActRows & SecretRows & RefusedValueRows & EventRows;

/** The records of refused values, over a store. */
export function refusedValueRecords(store: Writes<Tx>) {
  return {
    /** Others take the place of generations that this act made and nobody used. `noted` is written down with it. */
    replaceRefused: (
      act: string,
      refused: readonly (Generation & { readonly reason: string })[],
      others: readonly MadePair[],
      noted: Detail,
    ): Promise<void> =>
      store.write(controller, async (tx) => {
        const row = await heldAct(tx, act);
        const known = new Set((await tx.pairSecretsMadeBy(act)).map(named));
        // An earlier attempt, whose answer was lost: what it made stands.
        if (others.some((one) => known.has(named(one)))) return;
        await tx.withdrawGenerations(refused);
        await tx.insertPairGenerations(
          act,
          others.map((one) => ({ ...one, origin: 'made' })),
        );
        await tx.setActStage(act, row.stage, noted);
        await tx.events(
          refused.map(({ key, generation, reason }) => ({
            kind: 'credential-refused',
            about: pairPath(key),
            person: row.person,
            detail: { act, generation, reason },
          })),
        );
      }),

    /** Nothing of the rotation stays: what the act made is withdrawn, and the values of before go on as the newest ones. */
    takeBack: (act: string, moves: readonly Reinstated[], noted: Detail): Promise<void> =>
      store.write(controller, async (tx) => {
        const row = await heldAct(tx, act);
        if (row.detail['takenBack'] !== undefined) return;
        await tx.withdrawGenerations(await tx.pairSecretsMadeBy(act));
        await tx.reinstateGenerations(moves);
        await tx.setActStage(act, row.stage, noted);
        const detail = { act, credentials: moves.length };
        await tx.event({ kind: 'credentials-taken-back', about: row.workflowId, person: row.person, detail });
      }),
  };
}
export type RefusedValueRecords = ReturnType<typeof refusedValueRecords>;

const named = ({ key, generation }: Generation): string => `${pairPath(key)} ${generation}`;
