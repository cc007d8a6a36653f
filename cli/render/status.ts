import type { ActStatus, NodeStatus, Status } from '../../src/operations/plan/status.ts';
import type { Waiting } from '../acts/unbegun.ts';
import type { Look } from './look.ts';
import { nextLines } from './problem.ts';
import { wordOf } from './status-changes.ts';
import { count, indent, table, type Cell } from './table.ts';
import { time } from './time.ts';
import { unbegunBlocks } from './unbegun.ts';
import { ungrantedLines } from './ungranted.ts';

/** `mesh status` (D21): what is broken first, and every node with its three facts (D23). */
export function drawStatus(status: Status & Waiting & { readonly temporalUi: string }, look: Look): string {
  const { nodes, acts, ungranted, unreadable } = status;
  if (nodes.length === 0) return ['There are no nodes yet.', ...nextLines(['mesh node invite NAME'], look)].join('\n');
  const { paint } = look;
  const troubles = nodes.flatMap((node) => troubleOf(node, look));
  return [
    ...unbegunBlocks(status, look),
    table(
      ['node', 'is', 'told', 'report', 'outcome', 'applied', 'last report'],
      nodes.map((node) => row(node, look)),
      look,
    ),
    ...(troubles.length === 0 ? [] : [troubles.join('\n')]),
    ...(ungranted.length === 0
      ? []
      : [`${paint.bold('not granted')}\n${indent(ungranted.flatMap((one) => ungrantedLines(one, look)).join('\n'))}`]),
    ...(acts.length === 0
      ? []
      : [`${paint.bold('running acts')}\n${indent(acts.map((act) => actLine(act, look)).join('\n'))}`]),
    ...(unreadable.count === 0
      ? []
      : [
          paint.yellow(`${count(unreadable.count, 'message')} could not be read, on ${unreadable.subjects.join(', ')}`),
        ]),
    ...(status.needsAttention
      ? [[paint.yellow('Something here needs a look.'), ...nextLines(whatToDo(nodes), look)].join('\n')]
      : [paint.green('All is well.')]),
  ].join('\n\n');
}

/** The command that most likely makes it good: a push for what is only out of date, or else the chain behind the worst node. */
function whatToDo(nodes: readonly NodeStatus[]): readonly string[] {
  const troubled = nodes.filter(({ concern }) => concern !== 'well');
  const unsent = troubled.some(({ told }) => told === 'behind' || told === 'never told');
  const worst = troubled.find(({ concern }) => concern !== 'out of date');
  return [...(unsent ? ['mesh push'] : []), ...(worst === undefined ? [] : [`mesh why ${worst.node}`])];
}

function row(node: NodeStatus, look: Look): readonly Cell[] {
  const { lastReport } = node;
  return [
    node.node,
    concernCell(node, look),
    node.told,
    node.report ?? '-',
    outcomeCell(node, look),
    lastReport === undefined ? '-' : `${lastReport.applied} of ${lastReport.declared}`,
    lastReport === undefined ? 'never' : time(lastReport.at, look),
  ];
}

function concernCell(node: NodeStatus, { paint }: Look): Cell {
  const text = wordOf(node);
  switch (node.concern) {
    case 'broken':
      return { text, paint: paint.red };
    case 'not answering':
    case 'out of date':
      return { text, paint: paint.yellow };
    case 'well':
      return { text, paint: paint.green };
  }
}

function outcomeCell({ outcome }: NodeStatus, { paint }: Look): Cell {
  if (outcome === 'failed' || outcome === 'refused') return { text: outcome, paint: paint.red };
  return outcome ?? '-';
}

/** What is wrong with it, in words, and what to do. */
function troubleOf(node: NodeStatus, look: Look): readonly string[] {
  const { paint } = look;
  const { lastReport, unresolvable } = node;
  const lines = [
    ...(lastReport?.refusal === undefined
      ? []
      : [`refused (${lastReport.refusal.kind}): ${lastReport.refusal.detail}`]),
    ...(lastReport?.failures ?? []).map(({ resource, error }) => `${resource}: ${error}`),
    ...failingLine(lastReport, look),
    ...unreachableLine(node, look),
    ...(lastReport?.declarationGone === true
      ? [
          'the bus holds no declaration for it although one was sent; it goes on with that',
          `  ${paint.cyan('mesh push')}`,
        ]
      : []),
    ...postponedLines(lastReport, look),
    ...(unresolvable ?? []).flatMap(({ what, why, next }) => [
      `${what}: ${why}`,
      ...next.map((line) => `  ${paint.cyan(line)}`),
    ]),
    ...(lastReport?.drift ?? []).map((said) => `put right: ${said}`),
    ...(lastReport?.kept ?? []).map((said) => `kept: ${said}`),
  ];
  return lines.length === 0 ? [] : [`${paint.bold(node.node)}\n${indent(lines.join('\n'))}`];
}

function failingLine(lastReport: NodeStatus['lastReport'], look: Look): readonly string[] {
  const failing = lastReport?.failing;
  if (failing === undefined) return [];
  const since = failing.since === undefined ? '' : `, since ${time(failing.since, look)}`;
  const said = `${count(failing.reports, 'report')} in a row said so${since}`;
  return [failing.stuck ? look.paint.red(`stuck: ${said}`) : said];
}

/** P10. Why a module's files are not what they are meant to be. */
function postponedLines(lastReport: NodeStatus['lastReport'], look: Look): readonly string[] {
  return (lastReport?.postponed ?? []).map(({ module, since, reason, waitsFor = [] }) => {
    const waits = waitsFor.length === 0 ? '' : `, and waits for its build of ${waitsFor.join(' and ')}`;
    return `${module} is postponed: ${reason}${waits}, since ${time(since, look)}; its files stay as they are`;
  });
}

/** Of a node that does not answer any more: what is known of it is as old as its last report (C50). */
function unreachableLine(
  { told, report, outcome, lastReport, unreachable }: NodeStatus,
  look: Look,
): readonly string[] {
  if (unreachable === undefined || lastReport === undefined) return [];
  const wasInStep = told === 'same' && report === 'current' && outcome === 'applied';
  const said = `last ${wasInStep ? 'confirmed' : 'heard'} ${time(lastReport.at, look)}`;
  return [look.paint.yellow(`${said}; not reachable since ${time(unreachable.since, look)}`)];
}

function actLine({ act, summary, person, startedAt, waitsFor, failing }: ActStatus, look: Look): string {
  const said = [
    ...(failing === undefined ? [] : [look.paint.yellow(`keeps failing: ${failing}`)]),
    ...waitsFor.map((one) => `waits for ${one}`),
  ];
  const lines = said.length === 0 ? '' : `\n${indent(said.join('\n'))}`;
  return `${summary} (${act}), by ${person}, ${time(startedAt, look)}${lines}`;
}
