import type { Manifest } from '../manifest/manifest.ts';
import type { Refusal } from '../refusal/refusal.ts';
import type { NodeName, Placed } from '../words/names.ts';

/** Something singular: a node's (its name is the place), or the whole mesh's (then the place is `*`). */
export type Claim = { readonly name: string; readonly place: string };

/** What a module claims by being on this node (M13): its claims, and its seats, which are the mesh's. Fixed ports are claimed by `allocatePorts`. */
export function claimsOf(manifest: Manifest, node: NodeName): readonly Claim[] {
  const wanted = [
    ...manifest.claims.map(({ name, scope }) => ({ name, place: scope === 'mesh' ? '*' : node })),
    ...manifest.seats.map((name) => ({ name, place: '*' })),
  ];
  return [...new Map(wanted.map((claim) => [`${claim.place}/${claim.name}`, claim])).values()];
}

/** The second claimant is refused, and told who holds it. */
export function claimHeld(claim: Claim, claimant: Placed, holder: Placed): Refusal {
  const where = claim.place === '*' ? 'in the mesh' : `on ${claim.place}`;
  return {
    kind: 'claim-held',
    what: `${claimant.module} on ${claimant.node} claims ${claim.name}, which ${holder.module} on ${holder.node} holds`,
    why: `there is one ${claim.name} ${where}`,
    next: [`mesh unassign ${holder.node} ${holder.module}`],
    facts: { claim: claim.name, place: claim.place, holder: `${holder.node}/${holder.module}` },
  };
}
