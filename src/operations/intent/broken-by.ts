import type { Refusal } from '../../domain/refusal/refusal.ts';
import type { Resolution, ResolvedNode, UnresolvableNode } from '../../domain/resolution/resolve.ts';

/**
 * The first thing that could be resolved before a change and cannot after it; `first` names the node that is looked at first.
 * What was broken already does not stop a change: it may be a step on the way to mending it.
 */
export function brokenBy(before: Resolution, after: Resolution, first: string): Refusal | undefined {
  const nodes = [...after.nodes.values()].toSorted((a, b) => Number(b.node === first) - Number(a.node === first));
  for (const node of nodes) {
    const known = new Set(refusalsOf(before.nodes.get(node.node)).map(sameness));
    const fresh = refusalsOf(node).find((refusal) => !known.has(sameness(refusal)));
    if (fresh !== undefined) return fresh;
  }
  return undefined;
}

function refusalsOf(node: ResolvedNode | UnresolvableNode | undefined): readonly Refusal[] {
  return node?.kind === 'unresolvable' ? node.refusals : [];
}

/** Kind and what it is about. Its candidates may have changed: that is the same trouble in other words. */
function sameness({ kind, facts }: Refusal): string {
  return JSON.stringify([kind, facts?.['node'], facts?.['module'], facts?.['provision']]);
}
