/** A7's steps: who is to be sent, sending, and waiting until every node said what became of it. */
import { z } from 'zod';
import type { PushRequest, PushResult } from '../domain/act/act.ts';
import { arrivalOf, type Arrival } from '../domain/act/waiting.ts';
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

const few = (names: readonly NodeName[]): readonly NodeName[] => names.toSorted().slice(0, 10);

/** The steps of `pushNodes`, over the worker's ports. */
export function createPushActivities(ports: PushPorts) {
  const { acts, declarations, wakes } = ports;
  const notesOf = async (act: string) => pushNotes.parse((await acts.read(act))?.detail ?? {});

  return {
    /** (1) Writes down whom this push is for. An unknown node, or one that has not joined, is refused before anything is sent. */
    async preparePush(act: string, workflowId: string, summary: string, request: PushRequest): Promise<number> {
      const row = await acts.begin({ act, workflowId, kind: 'push', summary, person: request.person });
      const known = pushNotes.safeParse(row.detail);
      if (known.success) return known.data.nodes.length;
      const joined = await declarations.sealingKeys(request.nodes);
      const missing = (request.nodes ?? []).filter((node) => !joined.has(node));
      if (missing.length > 0) {
        await acts.end(act, 'failed', { refusal: 'node-not-joined' });
        throw refuse('PushRefused', {
          kind: 'node-not-joined',
          what: `${missing.slice(0, 10).join(', ')} cannot be sent anything`,
          why: 'only a node that has joined has a key that its declaration can be sealed for',
          next: ['mesh node list'],
        });
      }
      const nodes = [...(request.nodes ?? joined.keys())].toSorted();
      await acts.note(act, { nodes });
      return nodes.length;
    },

    /** (2) Sends every node what it should be, making the secrets that are missing; nodes already told are not told twice. */
    async sendDeclarations(act: string): Promise<void> {
      const notes = await notesOf(act);
      const sending = await sendTo(ports, act, notes.nodes);
      // A step that runs twice finds as already sent what its first run sent: what was written down counts.
      const sent = new Set([...notes.sent, ...sending.sent]);
      await acts.note(act, {
        sent: [...sent],
        already: sending.already.filter((node) => !sent.has(node)),
        unresolvable: [...sending.unresolvable.keys()],
        secretsMade: notes.secretsMade + sending.secretsMade,
      });
    },

    /** (3) Waits until each node reported about what it was sent: applied, failed or refused. */
    async awaitNodes(act: string): Promise<PushResult> {
      const notes = await notesOf(act);
      const nodes = [...new Set([...notes.sent, ...notes.already])];
      let waiting: readonly NodeName[] = nodes;
      const failed: NodeName[] = [];
      const result = await untilReported<PushResult>(
        wakes,
        async () => {
          const [sent, reports] = await Promise.all([declarations.sentTo(waiting), declarations.reportsOf(waiting)]);
          const arrivals = waiting.map((node) => ({ node, arrival: arrivalOf(sent.get(node), reports.get(node)) }));
          const of = (wanted: (arrival: Arrival) => boolean): readonly NodeName[] =>
            arrivals.filter(({ arrival }) => wanted(arrival)).map(({ node }) => node);
          // Each node is asked about until it answered: what it is sent after that is another act's.
          waiting = of((arrival) => arrival === 'waiting');
          failed.push(...of((arrival) => arrival === 'failed' || arrival === 'refused'));
          if (waiting.length > 0) return { waitsFor: waiting.map((node) => `${node} to report what it was sent`) };
          return {
            done: {
              act,
              sent: notes.sent.length,
              alreadySent: notes.already.length,
              applied: nodes.length - failed.length,
              failed: few(failed),
              failedCount: failed.length,
              unresolvable: few(notes.unresolvable),
              unresolvableCount: notes.unresolvable.length,
              secretsMade: notes.secretsMade,
            },
          };
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
