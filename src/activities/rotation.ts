/**
 * A1's steps. Each may run twice and may be killed between any two lines: what was done is in the store's rows
 * under the act's id, and values live in `commitRotation` alone.
 */
import { Context } from '@temporalio/activity';
import type { RotationRequest, RotationResult } from '../domain/act/act.ts';
import { pairPath } from '../domain/credential/credential.ts';
import type { Refusal } from '../domain/refusal/refusal.ts';
import { selectForRotation } from '../domain/credential/select-for-rotation.ts';
import { resolve } from '../domain/resolution/resolve.ts';
import { refuse } from './faults.ts';
import type { ActRecords, CredentialRecords } from './ports.ts';
import { answerRefusal, valueRefused, type RefusedValuePorts } from './refused-values.ts';
import {
  keysOf,
  nodesOf,
  preparedOf,
  resultOf,
  rotationNotes,
  type Prepared,
  type RotationNotes,
} from './rotation-notes.ts';
import { rotationWaits, type WaitingPorts } from './rotation-waits.ts';
import { newGeneration } from './secrets.ts';
import { sendTo, type SendingPorts } from './sending.ts';

export type RotationPorts = SendingPorts &
  WaitingPorts & {
    readonly acts: Pick<ActRecords, 'begin' | 'read' | 'note' | 'end' | 'settle'>;
    readonly credentials: Omit<CredentialRecords, 'madeBy'>;
    readonly refusedValues: RefusedValuePorts['refusedValues'];
  };

/** The steps of `rotateCredential`, over the worker's ports. */
export function createRotationActivities(ports: RotationPorts) {
  const { acts, credentials, declarations } = ports;
  const until = rotationWaits(ports);
  const notesOf = async (act: string): Promise<RotationNotes> =>
    rotationNotes.parse((await acts.read(act))?.detail ?? {});
  const now = (): string => new Date(ports.now()).toISOString();

  return {
    /** (1) Names the holders, resolves every affected node, locks. Refuses with nothing written (S11). */
    async prepareRotation(
      act: string,
      workflowId: string,
      summary: string,
      request: RotationRequest,
    ): Promise<Prepared> {
      const rotating = { act, workflowId, kind: 'rotate', summary, person: request.person };
      // One that was tried before is recorded first, so that it can be said that it keeps failing (A13).
      const isAgain = Context.current().info.attempt > 1;
      const [row, { inventory }] = await Promise.all([
        isAgain ? acts.begin(rotating) : acts.read(act),
        declarations.snapshot(),
      ]);
      const known = rotationNotes.safeParse(row?.detail);
      if (known.success) return preparedOf(known.data);
      const refused = async (refusal: Refusal): Promise<Error> => {
        await acts.begin(rotating);
        await acts.end(act, 'failed', { refusal: refusal.kind });
        return refuse('RotationRefused', refusal);
      };
      const chosen = selectForRotation({ inventory, resolution: resolve(inventory), selection: request.selection });
      if ('what' in chosen) throw await refused(chosen);
      const paths = chosen.map(({ key }) => pairPath(key));
      const locked = await credentials.lock(rotating, paths, { pairs: chosen });
      if ('about' in locked) return preparedOf(rotationNotes.parse(locked.about));
      throw await refused({
        kind: 'credential-locked',
        what: `${locked.taken} is being changed by the act ${locked.by}`,
        why: 'two acts over one credential would leave its two ends with different values',
        next: [`mesh act show ${locked.by}`],
      });
    },

    /** (2) Makes and seals the new generations, and makes them the mesh's in one transaction (S2, S11). */
    commitRotation: (act: string): Promise<'committed' | 'abandoned'> =>
      credentials.commit(act, async ({ detail }, sealingKeys) => {
        const { pairs } = rotationNotes.parse(detail);
        const ends = pairs.flatMap(({ key }) => [key.consumerNode, key.providerNode]);
        const making = { keys: await sealingKeys([...new Set(ends)]), sealNew: ports.sealNew };
        return pairs.map(({ key, from, overlaps }) =>
          newGeneration(making, {
            key,
            generation: from + 1,
            stage: overlaps ? 'arriving' : 'current',
            earlier: overlaps ? 'kept' : 'withdrawn',
          }),
        );
      }),

    /** What became of the commit, whatever a lost answer says; an act that did not commit can never do so afterwards, nor one that had not begun. */
    async settleRotation(
      act: string,
      workflowId: string,
      summary: string,
      request: RotationRequest,
    ): Promise<'committed' | 'abandoned'> {
      await acts.begin({ act, workflowId, kind: 'rotate', summary, person: request.person });
      return acts.settle(act);
    },

    /**
     * (3) Tells the providers, and at the same time the consumers that have no overlap, so that their window is short. A value
     * that a server refuses is made anew; refused too often, all of it is taken back, and that ends the act (C34).
     */
    async tellProviders(act: string): Promise<void> {
      for (;;) {
        const notes = await notesOf(act);
        const abrupt = keysOf(notes, { overlaps: false });
        const keys = notes.pairs.map((pair) => pair.key);
        const nodes = [...new Set([...nodesOf(keys, 'providerNode'), ...nodesOf(abrupt, 'consumerNode')])];
        await sendTo(ports, act, nodes);
        const { refused, ...noted } = await until.granted(act, notes, nodes);
        // Where there is an overlap there is no window, and handing over notes the rest.
        if (refused.length === 0 && abrupt.length > 0) await acts.note(act, { waitsFor: [], ...noted });
        if (notes.takenBack !== undefined) {
          const { reason } = notes.takenBack;
          await acts.end(act, 'failed', { refusal: 'value-refused', reason, waitsFor: [] });
          throw refuse('RotationRefused', valueRefused(notes.takenBack));
        }
        if (refused.length === 0) return;
        await answerRefusal(ports, act, notes.pairs, refused, noted);
      }
    },

    /** (4) The login exists: hands the new generation to the consumers, and waits until they hold it. */
    async tellConsumers(act: string): Promise<void> {
      const notes = rotationNotes.parse((await credentials.handOver(act, { overlapFrom: now() })).detail);
      const nodes = nodesOf(keysOf(notes, { overlaps: true }), 'consumerNode');
      await sendTo(ports, act, nodes);
      await until.held(act, nodes);
    },

    /** (5) Waits for the granter's word that each consumer connected with the new one; a limit that passes is written down. */
    async awaitUse(act: string, limitAtMs: number | undefined): Promise<void> {
      const cutOff = await until.used(act, await notesOf(act), limitAtMs);
      await acts.note(act, { waitsFor: [], cutOff });
    },

    /** (6) Withdraws the old generation and waits until its login is ended and its sessions are gone. */
    async withdrawOld(act: string): Promise<void> {
      const notes = rotationNotes.parse((await credentials.withdrawLeaving(act, { overlapUntil: now() })).detail);
      const nodes = nodesOf(
        notes.pairs.map((pair) => pair.key),
        'providerNode',
      );
      await sendTo(ports, act, nodes);
      const sessionsEnded = await until.ended(act, notes, nodes);
      await acts.note(act, { waitsFor: [], sessionsEnded });
    },

    /** (7) Unlocks and says how it went. */
    async closeRotation(act: string): Promise<RotationResult> {
      const row = await acts.read(act);
      const result = resultOf(act, rotationNotes.parse(row?.detail ?? {}), row?.committedAt?.getTime());
      await acts.end(act, 'closed', { result, waitsFor: [] });
      return result;
    },
  };
}

export type RotationActivities = ReturnType<typeof createRotationActivities>;
