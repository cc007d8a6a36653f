/** A7's steps: who is to be sent, sending, and waiting until every node said what became of it. */
import { z } from 'zod';
import type { PushRequest, PushResult } from '../domain/act/act.ts';
import type { Arrival } from '../domain/act/waiting.ts';
import { nodeName, type NodeName } from '../domain/words/names.ts';
import { refuse } from './faults.ts';
import { untilReported } from './patience.ts';
import type { ActRecords, Wakes } from './ports.ts';
import { sendTo, type SendingPorts } from './sending.ts';

export type PushPorts = SendingPorts & {
  readonly acts: Pick<ActRecords, 'begin' | 'read' | 'note' | 'end'>;
  readonly wakes: Wakes;
};

const pushNotes = z.object({
  nodes: z.array(nodeName),
  sent: z.array(nodeName).default([]),
  already: z.array(nodeName).default([]),
  unresolvable: z.array(nodeName).default([]),
  secretsMade: z.int().default(0),
});
type Told = Pick<z.output<typeof pushNotes>, 'sent' | 'already' | 'unresolvable' | 'secretsMade'>;

/** Of an act that has ended: what it came to. */
const pushEnd = z.object({
  result: z.object({
    act: z.string(),
    sent: z.int(),
    alreadySent: z.int(),
    applied: z.int(),
    failed: z.array(nodeName),
    failedCount: z.int(),
    unresolvable: z.array(nodeName),
    unresolvableCount: z.int(),
    secretsMade: z.int(),
  }),
});

const few = (names: readonly NodeName[]): readonly NodeName[] => names.toSorted().slice(0, 10);

/** Those that were told, now or before, and of which it is not known that they answered. */
function waitedFor({ sent, already }: Told, arrived: ReadonlyMap<NodeName, Arrival>): readonly NodeName[] {
  return [...new Set([...sent, ...already])].filter((node) => (arrived.get(node) ?? 'waiting') === 'waiting');
}

/** What came of the push, once every node that was told answered. */
function answered(act: string, told: Told, arrived: ReadonlyMap<NodeName, Arrival>): PushResult | undefined {
  if (waitedFor(told, arrived).length > 0) return undefined;
  const nodes = [...new Set([...told.sent, ...told.already])];
  const failed = nodes.filter((node) => arrived.get(node) !== 'applied');
  return {
    act,
    sent: told.sent.length,
    alreadySent: told.already.length,
    applied: nodes.length - failed.length,
    failed: few(failed),
    failedCount: failed.length,
    unresolvable: few(told.unresolvable),
    unresolvableCount: told.unresolvable.length,
    secretsMade: told.secretsMade,
  };
}

/** The steps of `pushNodes`, over the worker's ports. */
export function createPushActivities(ports: PushPorts) {
  const { acts, declarations, wakes } = ports;

  return {
    /** (1) Writes down whom this push is for. An unknown node, or one that has not joined, is refused before anything is sent. */
    async preparePush(act: string, workflowId: string, summary: string, request: PushRequest): Promise<number> {
      const joined = await declarations.sealingKeys(request.nodes);
      const missing = (request.nodes ?? []).filter((node) => !joined.has(node));
      const nodes = [...(request.nodes ?? joined.keys())].toSorted();
      const detail = missing.length > 0 ? {} : { nodes };
      const row = await acts.begin({ act, workflowId, kind: 'push', summary, person: request.person, detail });
      // A step that runs twice pushes to those it began with.
      const known = pushNotes.safeParse(row.detail);
      if (known.success) return known.data.nodes.length;
      if (missing.length > 0) {
        await acts.end(act, 'failed', { refusal: 'node-not-joined' });
        throw refuse('PushRefused', {
          kind: 'node-not-joined',
          what: `${missing.slice(0, 10).join(', ')} cannot be sent anything`,
          why: 'only a node that has joined has a key that its declaration can be sealed for',
          next: ['mesh node list'],
        });
      }
      return nodes.length;
    },

    /**
     * (2) Sends every node what it should be, making the secrets that are missing; nodes already told are not told twice. When
     * nothing had to be sent and every node had answered before, the act has ended with this step.
     */
    async sendDeclarations(act: string): Promise<void> {
      const row = await acts.read(act);
      if (row?.endedAt !== undefined) return;
      const notes = pushNotes.parse(row?.detail ?? {});
      const sending = await sendTo(ports, act, notes.nodes);
      // A step that runs twice finds as already sent what its first run sent: what was written down counts.
      const sent = new Set([...notes.sent, ...sending.sent]);
      const told = {
        sent: [...sent],
        already: [...sending.already.keys()].filter((node) => !sent.has(node)),
        unresolvable: [...sending.unresolvable.keys()],
        secretsMade: notes.secretsMade + sending.secretsMade,
      };
      const result = sent.size > 0 ? undefined : answered(act, told, sending.already);
      if (result === undefined) await acts.note(act, told);
      else await acts.end(act, 'closed', { ...told, result });
    },

    /** (3) Waits until each node reported about what it was sent: applied, failed or refused. */
    async awaitNodes(act: string): Promise<PushResult> {
      const row = await acts.read(act);
      const ended = pushEnd.safeParse(row?.detail);
      if (ended.success) return ended.data.result;
      const told = pushNotes.parse(row?.detail ?? {});
      const arrived = new Map<NodeName, Arrival>();
      const result = await untilReported<PushResult>(
        wakes,
        async () => {
          // Each node is asked about until it answered: what it is sent after that is another act's.
          const waiting = waitedFor(told, arrived);
          for (const [node, arrival] of await declarations.arrivals(waiting)) arrived.set(node, arrival);
          const done = answered(act, told, arrived);
          if (done !== undefined) return { done };
          return { waitsFor: waitedFor(told, arrived).map((node) => `${node} to report what it was sent`) };
        },
        (waitsFor) => acts.note(act, { waitsFor }),
      );
      await acts.end(act, 'closed', { result, waitsFor: [] });
      return result;
    },

    /** A push that was cancelled is not open any more, also when it had not begun. */
    async endCancelledPush(act: string): Promise<void> {
      if ((await acts.read(act)) !== undefined) await acts.end(act, 'failed', { cancelled: true, waitsFor: [] });
    },
  };
}
export type PushActivities = ReturnType<typeof createPushActivities>;
