import type { Json } from '../answer.ts';
import type { Waiting } from '../acts/unbegun.ts';
import type { ActBody, EventBody } from '../bodies/act.ts';
import { tryingInWords, type Trying } from '../bodies/trying.ts';
import type { Look } from './look.ts';
import { nextLines } from './problem.ts';
import { unbegunBlocks } from './unbegun.ts';
import { facts, indent, table, type Cell } from './table.ts';
import { time } from './time.ts';

/** `mesh acts`. */
export function drawActs(
  { acts, temporalUi, ...waiting }: Waiting & { readonly acts: readonly ActBody[]; readonly temporalUi: string },
  look: Look,
): string {
  const unbegun = unbegunBlocks(waiting, look);
  if (acts.length === 0 && unbegun.length === 0) return `No act yet.\n${look.paint.dim(`Temporal UI: ${temporalUi}`)}`;
  const rows = acts.map((act): readonly Cell[] => [
    stageCell(act.stage, look),
    time(act.startedAt, look),
    act.person,
    act.workflowId,
    act.summary,
  ]);
  const waitsFor = acts.flatMap((act) => act.waitsFor.map((one) => `${act.workflowId} waits for ${one}`));
  return [
    ...unbegun,
    table(['stage', 'started', 'person', 'act', 'what'], rows, look),
    ...(waitsFor.length === 0 ? [] : [waitsFor.join('\n')]),
    look.paint.dim(`Temporal UI: ${temporalUi}`),
  ].join('\n\n');
}

/** `mesh act show`. */
export function drawAct(act: ActBody & { readonly detail: Json; readonly trying?: Trying }, look: Look): string {
  return [
    facts(
      [
        ['act', { text: act.workflowId, paint: look.paint.bold }],
        ['id', act.act],
        ['what', act.summary],
        ['stage', stageCell(act.stage, look)],
        ['person', act.person],
        ['started', time(act.startedAt, look)],
        ['committed', act.committedAt === undefined ? undefined : time(act.committedAt, look)],
        ['ended', act.endedAt === undefined ? undefined : time(act.endedAt, look)],
        ...act.waitsFor.map((one): readonly [string, string] => ['waits for', one]),
        ['trying', tryingCell(act.trying, look)],
        ['seen in', act.ui],
      ],
      look,
    ),
    ...detailLines(act.detail, look),
  ].join('\n');
}

/** `mesh act show` of one that no controller has taken up. */
export function drawUnbegun(
  act: {
    readonly act: string;
    readonly workflowId: string;
    readonly askedAt: string;
    readonly ui: string;
    readonly trying?: Trying;
  },
  look: Look,
): string {
  const stage =
    act.trying === undefined
      ? 'not begun: no controller has taken it up'
      : 'not begun: its first step does not go through';
  return [
    facts(
      [
        ['act', { text: act.workflowId, paint: look.paint.bold }],
        ['id', act.act],
        ['stage', { text: stage, paint: look.paint.yellow }],
        ['asked for', time(act.askedAt, look)],
        ['trying', tryingCell(act.trying, look)],
        ['seen in', act.ui],
      ],
      look,
    ),
    ...(act.trying === undefined ? nextLines(['mesh work controller'], look) : []),
  ].join('\n');
}

/** `mesh act cancel`. */
export function drawCancelled({ workflowId }: { readonly workflowId: string }, look: Look): string {
  return [`${workflowId} was asked to stop.`, ...nextLines([`mesh act show ${workflowId}`], look)].join('\n');
}

/** An act that was started and is not waited for (`--detach`). */
export function drawDetached(
  { act, workflowId, attached }: { readonly act: string; readonly workflowId: string; readonly attached: boolean },
  look: Look,
): string {
  const said = attached ? `${workflowId} ran already; it goes on.` : `${workflowId} goes on by itself.`;
  return [`${said} Its id: ${act}`, ...nextLines([`mesh act show ${workflowId} --wait`], look)].join('\n');
}

/** One event on a line. What it says in detail comes last: it is of any length. */
export function drawEvent({ at, person, kind, about, detail }: EventBody, look: Look): string {
  const line = [
    look.paint.dim(time(at, look).padEnd(look.isTerminal ? 9 : 24)),
    kind.padEnd(22),
    look.paint.bold(about),
    look.paint.dim(`by ${person}`),
    shown(detail),
  ];
  return line.filter((part) => part !== '').join('  ');
}

/** `mesh events`: the newest last, as it is read. */
export function drawEvents({ events }: { readonly events: readonly EventBody[] }, look: Look): string {
  return events.length === 0 ? 'Nothing has happened yet.' : events.map((event) => drawEvent(event, look)).join('\n');
}

const tryingCell = (trying: Trying | undefined, { paint }: Look): Cell | undefined =>
  trying && { text: tryingInWords(trying), paint: paint.yellow };

function detailLines(detail: Json, look: Look): readonly string[] {
  const text = JSON.stringify(detail, undefined, 2);
  return text === '{}' ? [] : ['', look.paint.dim(indent(text))];
}

function shown(detail: Json): string {
  if (typeof detail !== 'object') return String(detail);
  return Object.entries(detail)
    .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(' ');
}

function stageCell(stage: string, { paint }: Look): Cell {
  if (stage === 'closed') return { text: stage, paint: paint.green };
  if (stage === 'failed' || stage === 'abandoned') return { text: stage, paint: paint.red };
  return { text: stage, paint: paint.cyan };
}
