/** Who works: on each task queue of the mesh, and for each node that lives on this machine. */
import type { MeshWorker } from '../act/workers.ts';
import { whyUnseen, type Finding, type Looked } from './finding.ts';

const part = 'processes';

export type QueueSeen = {
  /** Who Temporal lists as polling it. One that was killed stays listed for minutes: no sign of life. */
  readonly pollers: Looked<readonly string[]>;
  /** Whether the seat that the same process serves answers on the bus: its sign of life. */
  readonly answers: Looked<boolean>;
  /** Queues of the namespace that somebody said he works on and that are none of the mesh's; where Temporal keeps such words. */
  readonly strays: readonly string[];
  /** The one whose word this one needs does not answer. */
  readonly lacks: boolean;
};
type At = { readonly namespace: string; readonly address: string; readonly log?: string };

/** A15, C88. Whether somebody works on a queue, and else which worker to start. */
export function judgeQueue(worker: MeshWorker, at: At, { pollers, answers, strays, lacks }: QueueSeen): Finding {
  const { queue, role, start } = worker;
  const of = `queue ${queue}`;
  const where = `namespace ${at.namespace} at ${at.address}`;
  const facts = { taskQueue: queue, namespace: at.namespace, address: at.address, worker: start };
  const wrong = (says: string, ...next: string[]): Finding => ({
    part,
    of,
    is: 'wrong',
    says,
    where,
    next,
    facts: { ...facts, nobodyWorks: true, ...(strays.length === 0 ? {} : { strays }) },
  });
  const unsure = (says: string): Finding => ({ part, of, is: 'unknown', says, where, next: [], facts });
  const look = at.log === undefined ? [] : [`tail '${at.log}'`];
  const elsewhere =
    strays.length === 0
      ? `; a ${role}'s log says at its start which queue it works on`
      : `; somebody works on ${strays.join(', ')}, which is no queue of the mesh`;
  if (answers.kind === 'seen' && !answers.value) {
    if (lacks) return unsure(`whether one would work cannot be told: a ${role} waits while no ${worker.needs} answers`);
    const listed = pollers.kind === 'seen' && pollers.value.length > 0;
    const killed = listed
      ? `; Temporal still lists ${list(pollers.value)}, as it does for minutes after one was killed`
      : '';
    return wrong(
      `nothing is working on queue ${queue}: no ${role} answers${killed}${elsewhere}`,
      start,
      'mesh up',
      ...look,
    );
  }
  if (pollers.kind !== 'seen') return unsure(`who works on it cannot be told: ${whyUnseen(pollers)}`);
  if (pollers.value.length === 0) {
    const lives =
      answers.kind === 'seen' ? `, although a ${role} answers on the bus: it works elsewhere, or has just begun` : '';
    return wrong(`nothing is working on queue ${queue}${lives}${elsewhere}`, start, 'mesh up', ...look);
  }
  switch (answers.kind) {
    case 'seen':
      return { part, of, is: 'ok', says: `${list(pollers.value)} works on it, and answers`, where, next: [], facts };
    case 'silent':
    case 'failed':
      return wrong(
        `the ${role} does not answer (${whyUnseen(answers)}), although Temporal lists ${list(pollers.value)}`,
        ...look,
        'mesh down && mesh up',
      );
    case 'not asked':
      return unsure(`Temporal lists ${list(pollers.value)}; whether it lives cannot be told: ${answers.why}`);
  }
}

const list = (names: readonly string[]): string => [...new Set(names)].toSorted().join(', ');

/** A node that lives on this machine: the process that applies what it is declared. */
export function judgeHost(
  node: string,
  at: { readonly where: string; readonly next: readonly string[] },
  pid: number | undefined,
): Finding {
  const of = `host of ${node}`;
  const { where } = at;
  if (pid !== undefined) return { part, of, is: 'ok', says: `runs, process ${pid}`, where, next: [], facts: { pid } };
  const says = `nothing applies what ${node} is declared; what it started goes on by itself`;
  return { part, of, is: 'wrong', says, where, next: at.next };
}
