import type { NodePlanBody, PlanBody } from '../bodies/plan.ts';
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

function changeLines(node: Extract<NodePlanBody, { resolvable: true }>, { paint }: Look): readonly string[] {
  return [
    ...node.add.map((id) => `${paint.green('+')} ${id}`),
    ...node.change.map((id) => `${paint.yellow('~')} ${id}`),
    ...node.remove.map((id) => `${paint.red('-')} ${id}`),
    ...node.wouldMake.map(({ path, why }) => `makes the secret ${path} first (${why})`),
    ...node.takes.map(({ module, provision, from }) => `${module} takes ${provision} from ${from}`),
  ];
}

function refusalLines(node: Extract<NodePlanBody, { resolvable: false }>, { paint }: Look): readonly string[] {
  return node.refusals.flatMap(({ what, why, next }) => [
    what,
    `  ${why}`,
    ...next.map((line) => `  ${paint.cyan(line)}`),
  ]);
}
