/**
 * A1's steps. Each may run twice and may be killed between any two lines: what was done is in the store's rows
 * under the act's id, and values live in `commitRotation` alone.
 */
import { z } from 'zod';
import type { RotationRequest, RotationResult } from '../domain/act/act.ts';
import { arrivalOf, entryOf, waitsForEnd, waitsForGrant, waitsForUse, type Granted } from '../domain/act/waiting.ts';
import { pairPath, pairKey, type PairKey } from '../domain/credential/credential.ts';
import { selectForRotation } from '../domain/credential/select-for-rotation.ts';
import { resolve } from '../domain/resolution/resolve.ts';
import type { NodeName } from '../domain/words/names.ts';
import { refuse } from './faults.ts';
import { untilReported } from './patience.ts';
import type { ActRecords, CredentialRecords, Wakes } from './ports.ts';
import { newGeneration } from './secrets.ts';
import { sendTo, type SendingPorts } from './sending.ts';

export type RotationPorts = SendingPorts & {
  readonly acts: Pick<ActRecords, 'begin' | 'read' | 'note' | 'end' | 'settle'>;
  readonly credentials: Omit<CredentialRecords, 'madeBy'>;
  readonly wakes: Wakes;
  /** The controller's clock, ms. */
  readonly now: () => number;
};

/** What the first step writes down and the later ones read: keys, generations and counts (A11). */
const rotationNotes = z.object({
  pairs: z.array(z.object({ key: pairKey, from: z.int(), overlaps: z.boolean() })),
  grantedAt: z.record(z.string(), z.number()).default({}),
  heldAt: z.record(z.string(), z.number()).default({}),
  overlapFrom: z.string().optional(),
  overlapUntil: z.string().optional(),
  cutOff: z.array(z.string()).default([]),
  sessionsEnded: z.number().default(0),
});
type RotationNotes = z.output<typeof rotationNotes>;

const nodesOf = (keys: readonly PairKey[], end: 'providerNode' | 'consumerNode'): readonly NodeName[] => [
  ...new Set(keys.map((key) => key[end])),
];

/** The steps of `rotateCredential`, over the worker's ports. */
export function createRotationActivities(ports: RotationPorts) {
  const { acts, credentials, declarations, wakes } = ports;

  const notesOf = async (act: string): Promise<RotationNotes> =>
    rotationNotes.parse((await acts.read(act))?.detail ?? {});
  const say = (act: string) => (waitsFor: readonly string[]) => acts.note(act, { waitsFor });
  const providersOf = (keys: readonly PairKey[]) =>
    keys.map((key) => ({ node: key.providerNode, module: key.providerModule, provision: key.provision }));
  const newOf = (notes: RotationNotes): readonly Granted[] =>
    notes.pairs.map(({ key, from }) => ({ key, generation: from + 1 }));
  const oldOf = (notes: RotationNotes): readonly Granted[] =>
    notes.pairs.map(({ key, from }) => ({ key, generation: from }));

  /** Nodes whose last report is not yet about what was last sent to them, in words. */
  const waitsForNodes = async (nodes: readonly NodeName[]): Promise<ReadonlyMap<NodeName, string>> => {
    const [sent, reports] = await Promise.all([declarations.sentTo(nodes), declarations.reportsOf(nodes)]);
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
  };

  /** Of these, the ones that still have a consumer: one that was unassigned meanwhile is not waited for. Asked anew every two seconds at most. */
  const stillNeeded = (wanted: readonly Granted[]): (() => Promise<readonly Granted[]>) => {
    let asked = ports.now();
    let needed = wanted;
    return async () => {
      if (ports.now() - asked < 2000) return needed;
      asked = ports.now();
      const { asked: needs } = resolve((await declarations.snapshot()).inventory);
      const paths = new Set([...needs.values()].flat().map((need) => pairPath(need.key)));
      needed = wanted.filter((one) => paths.has(pairPath(one.key)));
      return needed;
    };
  };

  return {
    /** (1) Names the holders, resolves every affected node, locks. Refuses with nothing written (S11). */
    async prepareRotation(
      act: string,
      workflowId: string,
      summary: string,
      request: RotationRequest,
    ): Promise<{ overlapping: number; credentials: number }> {
      const row = await acts.begin({ act, workflowId, kind: 'rotate', summary, person: request.person });
      const known = rotationNotes.safeParse(row.detail);
      if (known.success)
        return {
          credentials: known.data.pairs.length,
          overlapping: known.data.pairs.filter((pair) => pair.overlaps).length,
        };
      const { inventory } = await declarations.snapshot();
      const chosen = selectForRotation({ inventory, resolution: resolve(inventory), selection: request.selection });
      if ('what' in chosen) {
        await acts.end(act, 'failed', { refusal: chosen.kind });
        throw refuse('RotationRefused', chosen);
      }
      const taken = await credentials.lock(
        act,
        chosen.map(({ key }) => pairPath(key)),
      );
      if (taken !== undefined) {
        await acts.end(act, 'failed', { refusal: 'credential-locked' });
        throw refuse('RotationRefused', {
          kind: 'credential-locked',
          what: `${taken.taken} is being changed by the act ${taken.by}`,
          why: 'two acts over one credential would leave its two ends with different values',
          next: [`mesh act show ${taken.by}`],
        });
      }
      await acts.note(act, { pairs: chosen });
      return { credentials: chosen.length, overlapping: chosen.filter((pair) => pair.overlaps).length };
    },

    /** (2) Makes and seals the new generations, and makes them the mesh's in one transaction (S2, S11). */
    async commitRotation(act: string): Promise<'committed' | 'abandoned'> {
      const notes = await notesOf(act);
      const keys = await declarations.sealingKeys([
        ...new Set(notes.pairs.flatMap(({ key }) => [key.consumerNode, key.providerNode])),
      ]);
      const pairs = notes.pairs.map(({ key, from, overlaps }) =>
        newGeneration(
          { keys, sealNew: ports.sealNew },
          {
            key,
            generation: from + 1,
            stage: overlaps ? 'arriving' : 'current',
            earlier: overlaps ? 'kept' : 'withdrawn',
          },
        ),
      );
      return credentials.commit(act, pairs);
    },

    /** What became of the commit, whatever a lost answer says; an act that did not commit can never do so afterwards, nor one that had not begun. */
    async settleRotation(
      act: string,
      workflowId: string,
      summary: string,
      request: RotationRequest,
    ): Promise<'committed' | 'abandoned'> {
      await acts.begin({ act, workflowId, kind: 'rotate', summary, person: request.person });
      const settled = await acts.settle(act);
      if (settled === 'abandoned') await credentials.unlock(act);
      return settled;
    },

    /** (3) Tells the providers, and at the same time the consumers that have no overlap, so that their window is short. */
    async tellProviders(act: string): Promise<void> {
      const notes = await notesOf(act);
      const abrupt = notes.pairs.filter((pair) => !pair.overlaps).map((pair) => pair.key);
      const keys = notes.pairs.map((pair) => pair.key);
      const nodes = [...new Set([...nodesOf(keys, 'providerNode'), ...nodesOf(abrupt, 'consumerNode')])];
      await sendTo(ports, act, nodes);
      const grantedAt = { ...notes.grantedAt };
      const heldAt = { ...notes.heldAt };
      const needed = stillNeeded(newOf(notes));
      await untilReported(
        wakes,
        async () => {
          const entries = await declarations.granterEntries(providersOf(keys));
          const wanted = await needed();
          for (const one of wanted)
            if (entryOf(entries, one)?.state === 'granted') grantedAt[pairPath(one.key)] ??= ports.now();
          const late = await waitsForNodes(nodes);
          for (const key of abrupt) if (!late.has(key.consumerNode)) heldAt[pairPath(key)] ??= ports.now();
          const waitsFor = [...late.values(), ...waitsForGrant(entries, wanted)];
          return waitsFor.length === 0 ? { done: true } : { waitsFor };
        },
        say(act),
      );
      const overlapFrom = notes.overlapFrom ?? new Date(ports.now()).toISOString();
      await acts.note(act, { waitsFor: [], grantedAt, heldAt, ...(abrupt.length < keys.length && { overlapFrom }) });
    },

    /** (4) The login exists: hands the new generation to the consumers, and waits until they hold it. */
    async tellConsumers(act: string): Promise<void> {
      await credentials.handOver(act);
      const notes = await notesOf(act);
      const nodes = nodesOf(
        notes.pairs.filter((pair) => pair.overlaps).map((pair) => pair.key),
        'consumerNode',
      );
      await sendTo(ports, act, nodes);
      await untilReported(
        wakes,
        async () => {
          const waitsFor = [...(await waitsForNodes(nodes)).values()];
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
          const entries = await declarations.granterEntries(providers);
          const consumers = await needed();
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
      const notes = await notesOf(act);
      await acts.note(act, { overlapUntil: notes.overlapUntil ?? new Date(ports.now()).toISOString() });
      await credentials.withdrawLeaving(act);
      const keys = notes.pairs.map((pair) => pair.key);
      const nodes = nodesOf(keys, 'providerNode');
      await sendTo(ports, act, nodes);
      const sessionsEnded = await untilReported(
        wakes,
        async () => {
          const entries = await declarations.granterEntries(providersOf(keys));
          const old = oldOf(notes);
          const waitsFor = [...(await waitsForNodes(nodes)).values(), ...waitsForEnd(entries, old)];
          if (waitsFor.length > 0) return { waitsFor };
          return { done: old.reduce((sum, one) => sum + (entryOf(entries, one)?.sessionsEnded ?? 0), 0) };
        },
        say(act),
      );
      await acts.note(act, { waitsFor: [], sessionsEnded });
    },

    /** (7) Unlocks and says how it went. */
    async closeRotation(act: string): Promise<RotationResult> {
      const notes = await notesOf(act);
      const windows = notes.pairs
        .filter((pair) => !pair.overlaps)
        .flatMap(({ key }) => {
          const [heldAt, grantedAt] = [notes.heldAt[pairPath(key)], notes.grantedAt[pairPath(key)]];
          // An end that never got it was not waited for: its consumer was unassigned meanwhile.
          return heldAt === undefined || grantedAt === undefined ? [] : [Math.abs(heldAt - grantedAt)];
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
      await credentials.unlock(act);
      await acts.end(act, 'closed', { result, waitsFor: [] });
      return result;
    },
  };
}

export type RotationActivities = ReturnType<typeof createRotationActivities>;
