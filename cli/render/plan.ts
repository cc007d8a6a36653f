import type { ChangeBody, NodePlanBody, PlanBody } from '../bodies/plan.ts';
import type { Look } from './look.ts';
import { nextLines } from './problem.ts';
import { indent } from './table.ts';

/** `mesh plan` (D6): one node after the other, what is to be added, changed and removed. */
export function drawPlan({ nodes, hasChanges }: PlanBody, look: Look): string {
  if (nodes.length === 0) return ['There are no nodes yet.', ...nextLines(['mesh node invite NAME'], look)].join('\n');
  const end = hasChanges
    ? nextLines(['mesh push'], look).join('\n')
    : nodes.some(({ resolvable }) => !resolvable)
      ? look.paint.yellow('A push would change nothing, and cannot reach every node.')
      : look.paint.green('A push would change nothing.');
  return [...nodes.map((node) => drawNodePlan(node, look)), end].join('\n\n');
}

function drawNodePlan(node: NodePlanBody, look: Look): string {
  const { paint } = look;
  const lines = node.resolvable ? changeLines(node, look) : refusalLines(node, look);
  const title = `${paint.bold(node.node)}  ${toldText(node, look)}`;
  return lines.length === 0 ? title : `${title}\n${indent(lines.join('\n'))}`;
}

function toldText({ told, state }: NodePlanBody, { paint }: Look): string {
  if (state !== 'joined') return paint.yellow(`has not joined yet (${state})`);
  switch (told) {
    case 'same':
      return paint.green('as it was last sent');
    case 'behind':
      return paint.yellow('behind');
    case 'never told':
      return paint.yellow('never told anything');
    default:
      return paint.red('cannot be resolved, and is sent nothing');
  }
}

function changeLines(node: Extract<NodePlanBody, { resolvable: true }>, look: Look): readonly string[] {
  const { paint } = look;
  const changes = new Map((node.changes ?? []).map((change) => [change.id, change]));
  return [
    ...node.add.map((id) => `${paint.green('+')} ${id}`),
    ...node.change.flatMap((id) => [`${paint.yellow('~')} ${id}`, ...insideLines(changes.get(id), look)]),
    ...(node.changesUnknown === undefined
      ? []
      : [paint.yellow(`what changes inside cannot be told: ${node.changesUnknown}`)]),
    ...node.remove.map((id) => `${paint.red('-')} ${id}`),
    ...node.wouldMake.map(({ path, why }) => `makes the secret ${path} first (${why})`),
    ...node.takes.map(({ module, provision, from }) => `${module} takes ${provision} from ${from}`),
    ...node.routes.map(({ module, listens, name }) => `${module} is reached as ${name} (${listens})`),
    ...node.unrouted.map(({ says }) => paint.yellow(says)),
  ];
}

/** What changes inside a resource, under its line. */
function insideLines(change: ChangeBody | undefined, { paint }: Look): readonly string[] {
  if (change === undefined) return [];
  const { fields, hunks = [], bytes, sealed } = change;
  return [
    ...fields.map(({ field, before, after }) => `${field}: ${valueText(before)} → ${valueText(after)}`),
    ...(bytes === undefined ? [] : [`content: ${bytes.before} bytes → ${bytes.after} bytes`]),
    ...(sealed === undefined ? [] : [sealed]),
    ...hunks.flatMap((hunk) => [
      paint.cyan(`@@ line ${hunk.before} → line ${hunk.after}`),
      ...hunk.lines.map(({ is, text }) => {
        const shown = printable(text);
        return is === 'gone' ? paint.red(`- ${shown}`) : is === 'new' ? paint.green(`+ ${shown}`) : `  ${shown}`;
      }),
    ]),
  ].map((line) => `    ${line}`);
}

const valueText = (value: string | undefined): string => value ?? 'nothing';

/** A file may hold anything: what would move the cursor or colour the terminal is shown as what it is. */
function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are just what must not reach the terminal
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (found) => JSON.stringify(found).slice(1, -1));
}

function refusalLines(node: Extract<NodePlanBody, { resolvable: false }>, { paint }: Look): readonly string[] {
  return node.refusals.flatMap(({ what, why, next }) => [
    what,
    `  ${why}`,
    ...next.map((line) => `  ${paint.cyan(line)}`),
  ]);
}
