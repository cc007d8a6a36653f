/** A7's steps: who is to be sent, sending, and waiting until every node said what became of it. */
import { Context } from '@temporalio/activity';
import { z } from 'zod';
import { pushResult, type PushRequest, type PushResult } from '../domain/act/act.ts';
import { waitsForNode, type Arrival } from '../domain/act/waiting.ts';
import { nodeName, type NodeName } from '../domain/words/names.ts';
import type { Snapshot } from '../operations/act/declaration-records.ts';
import type { NewAct } from '../operations/ports/act-rows.ts';
import { asDeclared } from './as-declared.ts';
import { refuse } from './faults.ts';
import { untilReported } from './patience.ts';
import type { ActRecords, Wakes } from './ports.ts';
import { sendTo, type SendingPorts } from './sending.ts';

export type PushPorts = SendingPorts & {
  readonly acts: Pick<ActRecords, 'begin' | 'pass' | 'read' | 'note' | 'end'>;
  readonly wakes: Wakes;
};

const pushNotes = z.object({
  nodes: z.array(nodeName),
  sent: z.array(nodeName).default([]),
  already: z.array(nodeName).default([]),
  unresolvable: z.array(nodeName).default([]),
  secretsMade: z.int().default(0),
});
type Told = Readonly<Record<'sent' | 'already' | 'unresolvable', readonly NodeName[]>> & {
  readonly secretsMade: number;
};

/** Of an act that has ended: what it came to. */
const pushEnd = z.object({ result: pushResult });

/** How many nodes a push is for; or what came of it, when there was nothing to do. */
export type Prepared = { readonly nodes: number } | { readonly result: PushResult };

type Seen = {
  readonly snapshot: Snapshot;
  readonly joined: ReadonlySet<NodeName>;
  readonly nodes: readonly NodeName[];
};

/** What the first step answered, by its act's record; undefined where it was refused. */
function preparedOf(detail: unknown): Prepared | undefined {
  const ended = pushEnd.safeParse(detail);
  if (ended.success) return { result: ended.data.result };
  const known = pushNotes.safeParse(detail);
  return known.success ? { nodes: known.data.nodes.length } : undefined;
}

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
  const { acts, bus, declarations, wakes } = ports;

  /** Those that this push is for, and how they are now. */
  const look = async (asked: PushRequest['nodes']): Promise<Seen> => {
    const snapshot = await declarations.snapshot();
    const { nodes } = snapshot.inventory;
    const joined = new Set(nodes.flatMap((node) => (node.sealingFingerprint === undefined ? [] : [node.name])));
    return { snapshot, joined, nodes: [...(asked ?? joined)].toSorted() };
  };

  /** What came of it, where every node is as declared and has said so; undefined where something is left to do. */
  const nothingToDo = async (pushing: NewAct, seen: Seen): Promise<Prepared | undefined> => {
    const found = asDeclared(seen.snapshot, seen.nodes, ports.hash);
    if (found === undefined) return undefined;
    const held = await bus.held([...found.already.keys()]);
    if (held.size < found.already.size) return undefined;
    const told = { sent: [], already: [...found.already.keys()], unresolvable: found.unresolvable, secretsMade: 0 };
    const result = answered(pushing.act, told, found.already);
    if (result === undefined) return undefined;
    const row = await acts.pass({ ...pushing, detail: { nodes: seen.nodes, ...told, result } });
    return preparedOf(row.detail);
  };

  return {
    /**
     * (1) Looks whether there is anything to do: where there is not, the act begins and ends with this step. Else writes down whom
     * this push is for. An unknown node, or one that has not joined, is refused before anything is sent. A number is what the step
     * answered before it looked: histories of then hold it.
     */
    async preparePush(
      act: string,
      workflowId: string,
      summary: string,
      request: PushRequest,
    ): Promise<Prepared | number> {
      const pushing: NewAct = { act, workflowId, kind: 'push', summary, person: request.person };
      // One that was tried before is recorded first, so that it can be said that it keeps failing (A13); what is to do is seen when it sends.
      const isAgain = Context.current().info.attempt > 1;
      const seen = isAgain ? undefined : await look(request.nodes);
      const joined = seen?.joined ?? new Set((await declarations.sealingKeys(request.nodes)).keys());
      const missing = (request.nodes ?? []).filter((node) => !joined.has(node));
      const done = seen === undefined || missing.length > 0 ? undefined : await nothingToDo(pushing, seen);
      if (done !== undefined) return done;
      const nodes = [...(request.nodes ?? joined)].toSorted();
      const row = await acts.begin({ ...pushing, detail: missing.length > 0 ? {} : { nodes } });
      // A step that runs twice pushes to those it began with.
      const known = preparedOf(row.detail);
      if (known !== undefined) return known;
      await acts.end(act, 'failed', { refusal: 'node-not-joined' });
      throw refuse('PushRefused', {
        kind: 'node-not-joined',
        what: `${few(missing).join(', ') || 'one of its nodes'} cannot be sent anything`,
        why: 'only a node that has joined has a key that its declaration can be sealed for',
        next: ['mesh node list'],
      });
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
          const late = waitedFor(told, arrived);
          // A person reads a few of them, and the row is no place for a thousand.
          const asked = late.slice(0, 20);
          const { sent, reports } = await ports.credentials.ends(asked, []);
          const waitsFor = asked.flatMap((node) => waitsForNode(node, sent.get(node), reports.get(node)) ?? []);
          return { waitsFor, reports: late.length };
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
