/** What a rotation waits for, one after the other: granted, held, used, ended. Each looks at rows alone, and so survives any restart. */
import {
  entryOf,
  grantable,
  refusedValues,
  waitsForEnd,
  waitsForGrant,
  waitsForNode,
  waitsForUse,
  type Granted,
} from '../domain/act/waiting.ts';
import { pairPath } from '../domain/credential/credential.ts';
import { resolve } from '../domain/resolution/resolve.ts';
import type { NodeName } from '../domain/words/names.ts';
import type { Ends } from '../operations/act/credential-records.ts';
import { untilReported } from './patience.ts';
import type { ActRecords, CredentialRecords, DeclarationRecords, Wakes } from './ports.ts';
import { keysOf, newOf, oldOf, providersOf, type RotationNotes } from './rotation-notes.ts';

export type WaitingPorts = {
  readonly acts: Pick<ActRecords, 'note'>;
  readonly credentials: Pick<CredentialRecords, 'ends' | 'bound'>;
  readonly declarations: Pick<DeclarationRecords, 'snapshot'>;
  readonly wakes: Wakes;
  /** The controller's clock, ms. */
  readonly now: () => number;
};

type RefusedValues = ReturnType<typeof refusedValues>;
/** When which end had the new generation; and values that their servers will not have. */
type Told = Pick<RotationNotes, 'grantedAt' | 'heldAt'> & { readonly refused: RefusedValues };

/** How often it is asked whether consumers that are waited for are still there, by their keys and by all that is declared. */
const askAgainMs = 2000;
const resolveAgainMs = 20_000;

/** Nodes whose last report is not yet about what was last sent to them, in words. */
function waitsForNodes({ sent, reports }: Ends, nodes: readonly NodeName[]): ReadonlyMap<NodeName, string> {
  return new Map(
    nodes.flatMap((node) => {
      const words = waitsForNode(node, sent.get(node), reports.get(node));
      return words === undefined ? [] : [[node, words] as const];
    }),
  );
}

/** The waits of `rotateCredential`. Each says on the act's row what it still waits for. */
export function rotationWaits(ports: WaitingPorts) {
  const { acts, credentials, wakes } = ports;
  const say = (act: string) => (waitsFor: readonly string[]) => acts.note(act, { waitsFor });

  return {
    /** Until these nodes applied what they were sent and the new generations are granted; or until a server refuses one of their values. */
    async granted(act: string, notes: RotationNotes, nodes: readonly NodeName[]): Promise<Told> {
      const abrupt = keysOf(notes, { overlaps: false });
      const providers = providersOf(notes.pairs.map((pair) => pair.key));
      const grantedAt = { ...notes.grantedAt };
      const heldAt = { ...notes.heldAt };
      const needed = stillNeeded(ports, newOf(notes));
      const refused = await untilReported<RefusedValues>(
        wakes,
        async () => {
          const [ends, wanted] = await Promise.all([credentials.ends(nodes, providers), needed()]);
          const { entries, faults } = ends;
          for (const one of wanted)
            if (entryOf(entries, one)?.state === 'granted') grantedAt[pairPath(one.key)] ??= ports.now();
          const late = waitsForNodes(ends, nodes);
          for (const key of abrupt) if (!late.has(key.consumerNode)) heldAt[pairPath(key)] ??= ports.now();
          // Where the values of before come back, nothing else can be made.
          const values = notes.takenBack === undefined ? refusedValues(entries, wanted) : [];
          if (values.length > 0) return { done: values };
          const awaited = notes.takenBack === undefined ? wanted : grantable(entries, wanted);
          const waitsFor = [...late.values(), ...waitsForGrant(entries, awaited, faults)];
          return waitsFor.length === 0 ? { done: [] } : { waitsFor };
        },
        say(act),
      );
      return { refused, grantedAt, heldAt };
    },

    /** Until these nodes applied what they were sent. */
    held: (act: string, nodes: readonly NodeName[]): Promise<true> =>
      untilReported<true>(
        wakes,
        async () => {
          const late = waitsForNodes(await credentials.ends(nodes, []), nodes);
          return late.size === 0 ? { done: true } : { waitsFor: [...late.values()], reports: late.size };
        },
        say(act),
      ),

    /** Until each consumer was seen with the new one, or the limit passes; answers those that were not seen by then. */
    async used(act: string, notes: RotationNotes, limitAtMs: number | undefined): Promise<readonly string[]> {
      const wanted = newOf(notes).filter((_, index) => notes.pairs[index]?.overlaps === true);
      const providers = providersOf(wanted.map((one) => one.key));
      const needed = stillNeeded(ports, wanted);
      return untilReported<readonly string[]>(
        wakes,
        async () => {
          const [{ entries }, consumers] = await Promise.all([credentials.ends([], providers), needed()]);
          const waitsFor = waitsForUse(entries, consumers);
          if (waitsFor.length === 0) return { done: [] };
          if (limitAtMs === undefined || ports.now() < limitAtMs) return { waitsFor };
          const unseen = consumers.filter((one) => (entryOf(entries, one)?.seen ?? 0) === 0);
          return { done: unseen.map((one) => pairPath(one.key)) };
        },
        say(act),
      );
    },

    /** Until the old logins are ended and their sessions gone; answers how many sessions were ended. */
    ended(act: string, notes: RotationNotes, nodes: readonly NodeName[]): Promise<number> {
      const old = oldOf(notes);
      const providers = providersOf(old.map((one) => one.key));
      return untilReported(
        wakes,
        async () => {
          const ends = await credentials.ends(nodes, providers);
          const { entries } = ends;
          const waitsFor = [...waitsForNodes(ends, nodes).values(), ...waitsForEnd(entries, old)];
          if (waitsFor.length > 0) return { waitsFor };
          return { done: old.reduce((sum, one) => sum + (entryOf(entries, one)?.sessionsEnded ?? 0), 0) };
        },
        say(act),
      );
    },
  };
}

/**
 * Of these, the ones that still have a consumer: one that was unassigned meanwhile is not waited for. Asked anew every two
 * seconds at most, by their keys; everything is resolved now and then, since a manifest may come to want no credential.
 */
function stillNeeded(
  { credentials, declarations, now }: WaitingPorts,
  wanted: readonly Granted[],
): () => Promise<readonly Granted[]> {
  const resolvedNeeds = async (): Promise<ReadonlySet<string>> => {
    const { asked } = resolve((await declarations.snapshot()).inventory);
    return new Set([...asked.values()].flat().map((need) => pairPath(need.key)));
  };
  let askedAt = now();
  let resolvedAt = askedAt;
  let needed = wanted;
  return async () => {
    if (now() - askedAt < askAgainMs) return needed;
    askedAt = now();
    const isDue = askedAt - resolvedAt >= resolveAgainMs;
    if (isDue) resolvedAt = askedAt;
    const paths = await (isDue ? resolvedNeeds() : credentials.bound(needed.map((one) => one.key)));
    needed = (isDue ? wanted : needed).filter((one) => paths.has(pairPath(one.key)));
    return needed;
  };
}
