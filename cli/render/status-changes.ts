/** What `status --watch` says where there is no terminal to paint on: a line for each thing that is another one than before. */
import type { ActStatus, NodeStatus, Status } from '../../src/operations/plan/status.ts';
import type { Unbegun, Waiting } from '../acts/unbegun.ts';
import type { Look } from './look.ts';
import { rfc3339 } from './time.ts';
import { ungrantedText } from './ungranted.ts';

/** `at`: when it was seen. Lines about nodes, then about acts; a drift that was put right is a line of its own. */
export function drawStatusChanges(before: Status & Waiting, now: Status & Waiting, look: Look): string {
  const at = look.paint.dim(rfc3339(look.nowMs));
  return [
    ...nodeLines(before, now, look),
    ...actLines(before, now),
    ...waitingLines(before, now),
    ...grantLines(before, now),
    ...unreadableLines(before, now),
  ]
    .map((line) => `${at}  ${line}`)
    .join('\n');
}

function nodeLines(before: Status, now: Status, { paint }: Look): readonly string[] {
  const was = new Map(before.nodes.map((node) => [node.node, node]));
  const is = new Set(now.nodes.map(({ node }) => node));
  return [
    ...now.nodes.flatMap((node) => {
      const earlier = was.get(node.node);
      const name = paint.bold(node.node);
      const said = standingText(node);
      return [
        ...(earlier !== undefined && standingText(earlier) === said
          ? []
          : [`${name}  ${painted(node, paint)(wordOf(node))}: ${said}`]),
        ...news(earlier?.lastReport?.drift, node.lastReport?.drift).map((one) => `${name}  put right: ${one}`),
        ...news(earlier?.lastReport?.kept, node.lastReport?.kept).map((one) => `${name}  kept: ${one}`),
      ];
    }),
    ...before.nodes.flatMap(({ node }) => (is.has(node) ? [] : [`${paint.bold(node)}  is not a node any more`])),
  ];
}

/** All of a list that is another one than before; nothing of one that is the same. */
function news(before: readonly string[] | undefined, now: readonly string[] = []): readonly string[] {
  return JSON.stringify(before) === JSON.stringify(now) ? [] : now;
}

function standingText({ told, report, outcome, hearing, unreachable, lastReport }: NodeStatus): string {
  const failing = lastReport?.failing;
  return [
    `told ${told}`,
    ...(report === undefined ? [] : [`report ${report}`]),
    ...(lastReport === undefined ? [] : [`${outcome ?? 'reported'} ${lastReport.applied} of ${lastReport.declared}`]),
    ...(hearing === 'heard' ? [] : [hearing]),
    ...(unreachable === undefined ? [] : [`not reachable since ${unreachable.since}`]),
    ...(lastReport?.declarationGone === true ? ['the bus holds no declaration for it'] : []),
    ...(lastReport?.postponed ?? []).map(({ module }) => `${module} is postponed`),
    ...(failing?.stuck === true ? [`stuck${failing.since === undefined ? '' : ` since ${failing.since}`}`] : []),
    ...(lastReport?.refusal === undefined ? [] : [lastReport.refusal.kind]),
    ...(lastReport?.failures ?? []).map(({ resource }) => resource),
  ].join(', ');
}

/** What it is called in one word: stuck is what is broken for the third time in the same way (D18). */
export function wordOf({ concern, hearing, state, lastReport }: NodeStatus): string {
  if (concern === 'broken') return lastReport?.failing?.stuck === true ? 'stuck' : 'broken';
  if (concern === 'not answering') return state === 'joined' ? hearing : state;
  return concern;
}

function painted({ concern }: NodeStatus, paint: Look['paint']): (text: string) => string {
  if (concern === 'broken') return paint.red;
  return concern === 'well' ? paint.green : paint.yellow;
}

function actLines(before: Status, now: Status): readonly string[] {
  const was = new Map(before.acts.map((act) => [act.act, act]));
  const is = new Set(now.acts.map(({ act }) => act));
  return [
    ...now.acts.flatMap((act) => {
      const earlier = was.get(act.act);
      return earlier !== undefined && actText(earlier) === actText(act) ? [] : [actText(act)];
    }),
    ...before.acts.flatMap(({ act, summary }) => (is.has(act) ? [] : [`${summary} (${act}) has ended`])),
  ];
}

function actText({ act, summary, stage, waitsFor }: ActStatus): string {
  const waits = waitsFor.length === 0 ? '' : `, waits for ${waitsFor.join(' and ')}`;
  return `${summary} (${act}) is ${stage}${waits}`;
}

/** What is another one about acts that wait to be begun. That one was tried once more is no news. */
export function waitingLines(before: Waiting, now: Waiting): readonly string[] {
  const [was, is] = [waitingText(before), waitingText(now)];
  return [
    ...[...is].flatMap(([of, text]) => (was.get(of) === text ? [] : [text])),
    ...[...was.keys()].flatMap((of) => (is.has(of) ? [] : [`no more: ${of}`])),
  ];
}

function waitingText({ unbegun = [], unbegunUnknown, store }: Waiting): ReadonlyMap<string, string> {
  const untold = 'which acts have not begun cannot be told';
  return new Map([
    ...(unbegunUnknown === undefined ? [] : [[untold, `${untold}: ${unbegunUnknown}`] as const]),
    ...(store === undefined ? [] : [[store.what, [store.what, ...store.next].join(' → ')] as const]),
    ...unbegun.map((one) => {
      const of = `${one.workflowId} (${one.act}) has not begun`;
      return [of, `${of}: ${whyUnbegun(one)}`] as const;
    }),
  ]);
}

const whyUnbegun = ({ trying }: Unbegun): string =>
  trying === undefined ? 'no controller has taken it up' : `${trying.step} fails: ${trying.lastError}`;

/** What cannot be granted since, or for another reason than before; and what was made good. */
function grantLines({ ungranted: before }: Status, { ungranted: now }: Status): readonly string[] {
  const said = (of: Status['ungranted']) => new Map(of.map((one) => [ungrantedText(one), one]));
  const [was, is] = [said(before), said(now)];
  return [
    ...[...is].flatMap(([text, one]) =>
      was.get(text)?.reason === one.reason ? [] : [[`${text}: ${one.reason}`, ...one.next].join(' → ')],
    ),
    ...[...was.keys()].flatMap((text) => (is.has(text) ? [] : [`no more: ${text}`])),
  ];
}

function unreadableLines({ unreadable: before }: Status, { unreadable: now }: Status): readonly string[] {
  return before.count === now.count ? [] : [`${now.count} messages could not be read, on ${now.subjects.join(', ')}`];
}
