import type { RotationSelection } from '../act/act.ts';
import type { Refusal } from '../refusal/refusal.ts';
import type { Inventory } from '../resolution/inventory.ts';
import type { Need, Resolution } from '../resolution/resolve.ts';
import type { NodeName } from '../words/names.ts';
import { acceptingOf } from './accepting.ts';
import { pairPath, type PairKey, type PairSecret } from './credential.ts';
import { overlaps } from './overlaps.ts';

export type SelectedPair = {
  readonly key: PairKey;
  /** The generation in use now. */
  readonly from: number;
  readonly overlaps: boolean;
};

/**
 * The credentials a rotation is about, with all that must hold before anything is written (S11): each is known and in
 * use, was made by the mesh, and both of its nodes resolve. Refusals: `unknown-credential`, `secret-accepted` (S13),
 * `node-unresolvable`, `nothing-to-do`.
 */
export function selectForRotation(of: {
  readonly inventory: Inventory;
  readonly resolution: Resolution;
  readonly selection: RotationSelection;
}): readonly SelectedPair[] | Refusal {
  const needs = new Map([...of.resolution.asked.values()].flat().map((need) => [pairPath(need.key), need]));
  const chosen = chosenNeeds(of.selection, needs);
  if ('what' in chosen) return chosen;
  const secrets = new Map(
    of.inventory.pairSecrets
      .filter((secret) => secret.stage === 'current')
      .map((secret) => [pairPath(secret.key), secret]),
  );
  const missing = chosen.filter((need) => !secrets.has(pairPath(need.key)));
  const [first] = missing;
  if (first !== undefined)
    return notMadeYet(
      missing.map((need) => pairPath(need.key)),
      first.key.consumerNode,
    );
  const accepted = chosen.filter((need) => secrets.get(pairPath(need.key))?.origin === 'accepted');
  if (accepted.length > 0) return acceptedOnes(of.selection, chosen, accepted);
  const unresolved = unresolvableOf(chosen, of.resolution);
  if (unresolved !== undefined) return unresolved;
  return chosen.map((need) => selected(need, secrets)).toSorted((a, b) => (pairPath(a.key) < pairPath(b.key) ? -1 : 1));
}

function selected(need: Need, secrets: ReadonlyMap<string, PairSecret>): SelectedPair {
  return { key: need.key, from: secrets.get(pairPath(need.key))?.generation ?? 0, overlaps: overlaps(need.form) };
}

function chosenNeeds(selection: RotationSelection, needs: ReadonlyMap<string, Need>): readonly Need[] | Refusal {
  if (selection.of === 'provider') {
    const granted = [...needs.values()].filter(
      ({ key }) => key.providerNode === selection.node && key.provision === selection.provision,
    );
    if (granted.length > 0) return allBut(granted, selection.except ?? []);
    return {
      kind: 'nothing-to-do',
      what: `${selection.node} grants no ${selection.provision} to anybody`,
      why: 'a rotation is of credentials that somebody holds',
      next: ['mesh secret list'],
    };
  }
  const unknown = selection.pairs.filter((key) => !needs.has(pairPath(key))).map(pairPath);
  if (unknown.length > 0) {
    return {
      kind: 'unknown-credential',
      what: `no consumer holds ${unknown.join(', ')}`,
      why: 'a credential is between a consumer that is assigned and its provider',
      next: ['mesh secret list'],
      facts: { credentials: unknown },
    };
  }
  return selection.pairs.flatMap((key) => needs.get(pairPath(key)) ?? []);
}

function notMadeYet(paths: readonly string[], node: NodeName): Refusal {
  return {
    kind: 'unknown-credential',
    what: `${paths.join(', ')} was not made yet`,
    why: 'a push makes a credential when it first sends both of its ends',
    next: [`mesh push ${node}`],
    facts: { credentials: paths },
  };
}

/**
 * Those that are left when some are left out by their paths. Refusals: `unknown-credential` for a path that is none of them (what
 * was misspelt was to be left alone, and would be rotated), `nothing-to-do`.
 */
export function allBut<One extends { readonly key: PairKey }>(
  these: readonly One[],
  except: readonly string[],
): readonly One[] | Refusal {
  const paths = new Set(these.map(({ key }) => pairPath(key)));
  const strange = except.filter((path) => !paths.has(path));
  if (strange.length > 0) {
    return {
      kind: 'unknown-credential',
      what: `${strange.join(', ')} is none of those that would be rotated`,
      why: `left out is what is named as mesh secret list does: ${[...paths].join(', ')}`,
      next: ['mesh secret list'],
      facts: { credentials: strange },
    };
  }
  const left = these.filter(({ key }) => !except.includes(pairPath(key)));
  if (left.length > 0) return left;
  return {
    kind: 'nothing-to-do',
    what: `nothing is left to rotate without ${except.join(', ')}`,
    why: 'a rotation is of credentials that somebody holds',
    next: ['mesh secret list'],
  };
}

/** S13. One of many keeps all of them from being rotated: what is left out is for the person to say. */
function acceptedOnes(selection: RotationSelection, chosen: readonly Need[], accepted: readonly Need[]): Refusal {
  const paths = accepted.map(({ key }) => pairPath(key));
  const isMany = chosen.length > accepted.length;
  const them = paths.length === 1 ? 'it' : 'them';
  return {
    kind: 'secret-accepted',
    what: `${paths.join(', ')} ${paths.length === 1 ? 'was' : 'were'} handed over by a person`,
    why: `the mesh never held the value, so it makes no other in its place: handing another over is what rotates ${them}${isMany ? `, and the rest is rotated without ${them}` : ''}`,
    next: [
      ...(isMany ? [`${rotating(selection, chosen)} ${paths.map((path) => `--except ${path}`).join(' ')}`] : []),
      ...accepted.map(({ key }) => acceptingOf({ kind: 'pair', key })),
    ],
    facts: { credentials: paths },
  };
}

/** The command that asked for this selection, as far as it is known. */
function rotating(selection: RotationSelection, [first]: readonly Need[]): string {
  if (selection.of === 'pairs') return `mesh secret rotate ${first?.key.consumerNode}/${first?.key.consumerModule}`;
  const { node, provision, except = [] } = selection;
  const options = except.map((path) => ` --except ${path}`).join('');
  return `mesh secret rotate --all --provider ${node} --provision ${provision}${options}`;
}

function unresolvableOf(chosen: readonly Need[], resolution: Resolution): Refusal | undefined {
  const nodes = [...new Set(chosen.flatMap(({ key }) => [key.consumerNode, key.providerNode]))];
  const broken = nodes.filter((node) => resolution.nodes.get(node)?.kind !== 'resolved');
  const [first] = broken;
  if (first === undefined) return undefined;
  const found = resolution.nodes.get(first);
  const why =
    found?.kind === 'unresolvable' ? found.refusals.map((refusal) => refusal.what).join('; ') : 'it is not known';
  return {
    kind: 'node-unresolvable',
    what: `${broken.join(', ')} cannot be resolved`,
    why: `both ends must be sent the new credential, and what ${first} should be is not clear: ${why}`,
    next: broken.map((node) => `mesh plan ${node}`),
    facts: { nodes: broken },
  };
}
