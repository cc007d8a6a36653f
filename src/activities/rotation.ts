/**
 * A1's steps. Each may run twice and may be killed between any two lines: what was done is in the store's rows
 * under the act's id, and values live in `commitRotation` alone.
 */
import { Context } from '@temporalio/activity';
import { z } from 'zod';
import type { RotationRequest, RotationResult } from '../domain/act/act.ts';
import {
  arrivalOf,
  entryOf,
  refusedValues,
  waitsForEnd,
  waitsForGrant,
  waitsForUse,
  type Granted,
} from '../domain/act/waiting.ts';
import { pairPath, pairKey, type PairKey } from '../domain/credential/credential.ts';
import type { Refusal } from '../domain/refusal/refusal.ts';
import { selectForRotation } from '../domain/credential/select-for-rotation.ts';
import { resolve } from '../domain/resolution/resolve.ts';
import type { NodeName } from '../domain/words/names.ts';
import type { Ends } from '../operations/act/credential-records.ts';
import { refuse } from './faults.ts';
import { untilReported } from './patience.ts';
import type { ActRecords, CredentialRecords, Wakes } from './ports.ts';
import { answerRefusal, takenBack, targetOf, valueRefused, type RefusedValuePorts } from './refused-values.ts';
import { newGeneration } from './secrets.ts';
import { sendTo, type SendingPorts } from './sending.ts';

export type RotationPorts = SendingPorts & {
  readonly acts: Pick<ActRecords, 'begin' | 'read' | 'note' | 'end' | 'settle'>;
  readonly credentials: Omit<CredentialRecords, 'madeBy'>;
  readonly refusedValues: RefusedValuePorts['refusedValues'];
  readonly wakes: Wakes;
  /** The controller's clock, ms. */
  readonly now: () => number;
};

/** What the first step writes down and the later ones read: keys, generations and counts (A11). */
const rotationNotes = z.object({
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
type RotationNotes = z.output<typeof rotationNotes>;

/** Values that their servers will not have, and who had which end by then. */
type Refused = Pick<RotationNotes, 'grantedAt' | 'heldAt'> & { readonly values: ReturnType<typeof refusedValues> };

/** What the workflow is told of it. */
const preparedOf = ({ pairs }: RotationNotes): { overlapping: number; credentials: number } => ({
  credentials: pairs.length,
  overlapping: pairs.filter((pair) => pair.overlaps).length,
});

const nodesOf = (keys: readonly PairKey[], end: 'providerNode' | 'consumerNode'): readonly NodeName[] => [
  ...new Set(keys.map((key) => key[end])),
];

/** How often it is asked whether consumers that are waited for are still there, by their keys and by all that is declared. */
const askAgainMs = 2000;
const resolveAgainMs = 20_000;

/** Nodes whose last report is not yet about what was last sent to them, in words. */
function waitsForNodes({ sent, reports }: Ends, nodes: readonly NodeName[]): ReadonlyMap<NodeName, string> {
  return new Map(
    nodes.flatMap((node) => {
      const arrival = arrivalOf(sent.get(node), reports.get(node));
      if (arrival === 'applied') return [];
      const words =
        arrival === 'waiting'
          ? `${node} to report what it was sent`
          : `${node} to apply it: its last report says ${arrival}`;
      return [[node, words] as const];
    }),
  );
}

/** The steps of `rotateCredential`, over the worker's ports. */
export function createRotationActivities(ports: RotationPorts) {
  const { acts, credentials, declarations, wakes } = ports;

  const notesOf = async (act: string): Promise<RotationNotes> =>
    rotationNotes.parse((await acts.read(act))?.detail ?? {});
  const now = (): string => new Date(ports.now()).toISOString();
  const say = (act: string) => (waitsFor: readonly string[]) => acts.note(act, { waitsFor });
  const providersOf = (keys: readonly PairKey[]) =>
    keys.map((key) => ({ node: key.providerNode, module: key.providerModule, provision: key.provision }));
  const newOf = (notes: RotationNotes): readonly Granted[] =>
    notes.pairs.map((pair) => ({ key: pair.key, generation: pair.back ?? targetOf(pair) }));
  const oldOf = (notes: RotationNotes): readonly Granted[] =>
    notes.pairs.map(({ key, from }) => ({ key, generation: from }));

  /**
   * Of these, the ones that still have a consumer: one that was unassigned meanwhile is not waited for. Asked anew every two
   * seconds at most, by their keys; everything is resolved now and then, since a manifest may come to want no credential.
   */
  const stillNeeded = (wanted: readonly Granted[]): (() => Promise<readonly Granted[]>) => {
    let askedAt = ports.now();
    let resolvedAt = askedAt;
    let needed = wanted;
    return async () => {
      if (ports.now() - askedAt < askAgainMs) return needed;
      askedAt = ports.now();
      const isDue = askedAt - resolvedAt >= resolveAgainMs;
      if (isDue) resolvedAt = askedAt;
      const paths = await (isDue ? resolvedNeeds() : credentials.bound(needed.map((one) => one.key)));
      needed = (isDue ? wanted : needed).filter((one) => paths.has(pairPath(one.key)));
      return needed;
    };
  };
  const resolvedNeeds = async (): Promise<ReadonlySet<string>> => {
    const { asked } = resolve((await declarations.snapshot()).inventory);
    return new Set([...asked.values()].flat().map((need) => pairPath(need.key)));
  };

  /** Sends both ends what they should be, and waits until the new generations are granted; or answers those that their servers refuse. */
  const tellAndAwait = async (act: string, notes: RotationNotes): Promise<Refused | undefined> => {
    const abrupt = notes.pairs.filter((pair) => !pair.overlaps).map((pair) => pair.key);
    const keys = notes.pairs.map((pair) => pair.key);
    const nodes = [...new Set([...nodesOf(keys, 'providerNode'), ...nodesOf(abrupt, 'consumerNode')])];
    await sendTo(ports, act, nodes);
    const grantedAt = { ...notes.grantedAt };
    const heldAt = { ...notes.heldAt };
    const needed = stillNeeded(newOf(notes));
    const values = await untilReported<ReturnType<typeof refusedValues>>(
      wakes,
      async () => {
        const [ends, wanted] = await Promise.all([credentials.ends(nodes, providersOf(keys)), needed()]);
        const { entries, faults } = ends;
        for (const one of wanted)
          if (entryOf(entries, one)?.state === 'granted') grantedAt[pairPath(one.key)] ??= ports.now();
        const late = waitsForNodes(ends, nodes);
        for (const key of abrupt) if (!late.has(key.consumerNode)) heldAt[pairPath(key)] ??= ports.now();
        // Where the values of before come back, nothing else can be made.
        const refused = notes.takenBack === undefined ? refusedValues(entries, wanted) : [];
        if (refused.length > 0) return { done: refused };
        const waitsFor = [...late.values(), ...waitsForGrant(entries, wanted, faults)];
        return waitsFor.length === 0 ? { done: [] } : { waitsFor };
      },
      say(act),
    );
    if (values.length > 0) return { values, grantedAt, heldAt };
    // Where there is an overlap there is no window, and handing over notes the rest.
    if (abrupt.length > 0) await acts.note(act, { waitsFor: [], grantedAt, heldAt });
    return undefined;
  };

  return {
    /** (1) Names the holders, resolves every affected node, locks. Refuses with nothing written (S11). */
    async prepareRotation(
      act: string,
      workflowId: string,
      summary: string,
      request: RotationRequest,
    ): Promise<{ overlapping: number; credentials: number }> {
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
        const refused = await tellAndAwait(act, notes);
        if (notes.takenBack !== undefined) {
          const { reason } = notes.takenBack;
          await acts.end(act, 'failed', { refusal: 'value-refused', reason, waitsFor: [] });
          throw refuse('RotationRefused', valueRefused(notes.takenBack));
        }
        if (refused === undefined) return;
        const { values, ...noted } = refused;
        await answerRefusal(ports, act, notes.pairs, values, noted);
      }
    },

    /** (4) The login exists: hands the new generation to the consumers, and waits until they hold it. */
    async tellConsumers(act: string): Promise<void> {
      const notes = rotationNotes.parse((await credentials.handOver(act, { overlapFrom: now() })).detail);
      const nodes = nodesOf(
        notes.pairs.filter((pair) => pair.overlaps).map((pair) => pair.key),
        'consumerNode',
      );
      await sendTo(ports, act, nodes);
      await untilReported(
        wakes,
        async () => {
          const waitsFor = [...waitsForNodes(await credentials.ends(nodes, []), nodes).values()];
          return waitsFor.length === 0 ? { done: true } : { waitsFor };
        },
        say(act),
      );
    },

    /** (5) Waits for the granter's word that each consumer connected with the new one; a limit that passes is written down. */
    async awaitUse(act: string, limitAtMs: number | undefined): Promise<void> {
      const notes = await notesOf(act);
      const wanted = newOf(notes).filter((_, index) => notes.pairs[index]?.overlaps === true);
      const needed = stillNeeded(wanted);
      const providers = providersOf(wanted.map((one) => one.key));
      const cutOff = await untilReported<readonly string[]>(
        wakes,
        async () => {
          const [{ entries }, consumers] = await Promise.all([credentials.ends([], providers), needed()]);
          const waitsFor = waitsForUse(entries, consumers);
          if (waitsFor.length === 0) return { done: [] };
          if (limitAtMs !== undefined && ports.now() >= limitAtMs) {
            return {
              done: consumers.filter((one) => (entryOf(entries, one)?.seen ?? 0) === 0).map((one) => pairPath(one.key)),
            };
          }
          return { waitsFor };
        },
        say(act),
      );
      await acts.note(act, { waitsFor: [], cutOff });
    },

    /** (6) Withdraws the old generation and waits until its login is ended and its sessions are gone. */
    async withdrawOld(act: string): Promise<void> {
      const notes = rotationNotes.parse((await credentials.withdrawLeaving(act, { overlapUntil: now() })).detail);
      const keys = notes.pairs.map((pair) => pair.key);
      const nodes = nodesOf(keys, 'providerNode');
      await sendTo(ports, act, nodes);
      const sessionsEnded = await untilReported(
        wakes,
        async () => {
          const ends = await credentials.ends(nodes, providersOf(keys));
          const { entries } = ends;
          const old = oldOf(notes);
          const waitsFor = [...waitsForNodes(ends, nodes).values(), ...waitsForEnd(entries, old)];
          if (waitsFor.length > 0) return { waitsFor };
          return { done: old.reduce((sum, one) => sum + (entryOf(entries, one)?.sessionsEnded ?? 0), 0) };
        },
        say(act),
      );
      await acts.note(act, { waitsFor: [], sessionsEnded });
    },

    /** (7) Unlocks and says how it went. */
    async closeRotation(act: string): Promise<RotationResult> {
      const row = await acts.read(act);
      const notes = rotationNotes.parse(row?.detail ?? {});
      const windows = notes.pairs
        .filter((pair) => !pair.overlaps)
        .flatMap(({ key }) => {
          const [heldAt, grantedAt] = [notes.heldAt[pairPath(key)], notes.grantedAt[pairPath(key)]];
          // An end that never got it was not waited for: its consumer was unassigned meanwhile.
          if (heldAt === undefined || grantedAt === undefined) return [];
          // One look may see both ends with it, and then their difference is nothing: from the commit on either may have had it alone.
          const last = Math.max(heldAt, grantedAt);
          return [last - Math.min(heldAt, grantedAt, row?.committedAt?.getTime() ?? last)];
        });
      const result: RotationResult = {
        act,
        committed: true,
        credentials: notes.pairs.length,
        overlapping: notes.pairs.filter((pair) => pair.overlaps).length,
        windowMs: Math.max(0, ...windows),
        sessionsEnded: notes.sessionsEnded,
        cutOff: notes.cutOff.slice(0, 20),
        ...(notes.overlapFrom !== undefined && { overlapFrom: notes.overlapFrom }),
        ...(notes.overlapUntil !== undefined && { overlapUntil: notes.overlapUntil }),
      };
      await acts.end(act, 'closed', { result, waitsFor: [] });
      return result;
    },
  };
}

export type RotationActivities = ReturnType<typeof createRotationActivities>;
