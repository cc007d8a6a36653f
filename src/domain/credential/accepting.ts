/** Which secret a person hands a value over for, and whose keys that is sealed to (S12). */
import type { Refusal } from '../refusal/refusal.ts';
import { indexOf } from '../resolution/inventory-index.ts';
import type { Inventory } from '../resolution/inventory.ts';
import { resolve, type ResolvedNode } from '../resolution/resolve.ts';
import { present } from '../words/invariant.ts';
import type { LocalName, ModuleName, NodeName, PartName } from '../words/names.ts';
import { ownPath, pairPath, type OwnKey, type PairKey } from './credential.ts';
import type { CredentialForm } from './overlaps.ts';

/** What a person calls a secret: by a provision that the module requires, or an own secret that it holds. */
export type NamedSecret = {
  readonly node: NodeName;
  readonly module: ModuleName;
  readonly name: PartName;
  readonly local?: LocalName;
  /** The node that it is thought to be taken from. */
  readonly provider?: NodeName;
};

/** One secret that somebody asks for. `path`: as acts and messages name it. */
export type Acceptable =
  | { readonly kind: 'pair'; readonly key: PairKey; readonly path: string; readonly form: CredentialForm }
  | { readonly kind: 'own'; readonly key: OwnKey; readonly path: string };

/**
 * The secret that is meant, on a node that is known, as the mesh is now. Refusals: `node-unresolvable`, `unknown-assignment`,
 * `unknown-credential`, and `node-not-joined` for an end without a key.
 */
export function secretNamed(inventory: Inventory, named: NamedSecret): Acceptable | Refusal {
  const { node, module, name, local, provider } = named;
  const found = present(resolve(inventory).nodes.get(node), `node ${node}`);
  if (found.kind === 'unresolvable') return unresolvable(named, found.refusals);
  if (!found.modules.some((one) => one.module === module)) return notThere(named);
  const needs = found.needs.filter(({ key }) => key.consumerModule === module && isOf(key, name));
  const need = needs.find(({ key }) => key.local === local);
  if (need !== undefined) {
    const { key, form } = need;
    if (provider !== undefined && provider !== key.providerNode) return takenElsewhere(named, key);
    return withoutKey(inventory, endsOf({ kind: 'pair', key })) ?? { kind: 'pair', key, path: pairPath(key), form };
  }
  const hold = found.holds.find(({ key }) => key.module === module && key.name === name);
  // A requirement hides an own secret of the same name, as it does in placeholders.
  if (hold === undefined || needs.length > 0 || local !== undefined || provider !== undefined)
    return notAsked(named, found);
  const { key } = hold;
  return withoutKey(inventory, [node]) ?? { kind: 'own', key, path: ownPath(key) };
}

type Keyed = { readonly kind: 'pair'; readonly key: PairKey } | { readonly kind: 'own'; readonly key: OwnKey };

/** The nodes that a value is sealed to: the consumer's and the provider's, or the module's own. */
export function endsOf(secret: Keyed): readonly NodeName[] {
  if (secret.kind === 'own') return [secret.key.node];
  return [...new Set([secret.key.consumerNode, secret.key.providerNode])];
}

/** The command by which a person hands a value over for this secret. */
export function acceptingOf(secret: Keyed): string {
  if (secret.kind === 'own') return `mesh secret accept ${secret.key.node}/${secret.key.module} ${secret.key.name}`;
  const { consumerNode, consumerModule } = secret.key;
  return `mesh secret accept ${consumerNode}/${consumerModule} ${nameOf(secret.key)}`;
}

const nameOf = ({ provision, local }: PairKey): string =>
  local === undefined ? provision : `${provision} --local ${local}`;

function isOf({ provision }: PairKey, name: string): boolean {
  return provision === name;
}

const saidOf = ({ node, module, name, local }: NamedSecret): string =>
  `${local === undefined ? name : `${name} (${local})`} of ${module} on ${node}`;
const factsOf = ({ node, module, name, local }: NamedSecret) => ({
  node,
  module,
  name,
  ...(local === undefined ? {} : { local }),
});

function unresolvable(named: NamedSecret, refusals: readonly Refusal[]): Refusal {
  return {
    kind: 'node-unresolvable',
    what: `${named.node} cannot be resolved, so it is not clear what ${saidOf(named)} is`,
    why: refusals.map(({ what }) => what).join('; '),
    next: [`mesh plan ${named.node}`],
    facts: { nodes: [named.node] },
  };
}

function notThere({ node, module }: NamedSecret): Refusal {
  return {
    kind: 'unknown-assignment',
    what: `${module} does not run on ${node}`,
    why: 'a value is handed over for a module that is assigned, or comes along with one',
    next: [`mesh node show ${node}`, `mesh assign ${node} ${module}`],
    facts: { node, module },
  };
}

function notAsked(named: NamedSecret, { needs, holds }: ResolvedNode): Refusal {
  const { node, module, provider } = named;
  const names = [
    ...needs.flatMap(({ key }) => (key.consumerModule === module ? [nameOf(key)] : [])),
    ...holds.flatMap(({ key }) => (key.module === module ? [key.name] : [])),
  ];
  return {
    kind: 'unknown-credential',
    what: `nothing asks for ${saidOf(named)}${provider === undefined ? '' : `, taken from ${provider}`}`,
    why: names.length === 0 ? 'its manifest asks for no secret' : `its manifest asks for ${names.join(', ')}`,
    next:
      names.length === 0
        ? [`mesh module show ${module}`]
        : names.map((one) => `mesh secret accept ${node}/${module} ${one}`),
    facts: { ...factsOf(named), names },
  };
}

function takenElsewhere(named: NamedSecret, key: PairKey): Refusal {
  return {
    kind: 'unknown-credential',
    what: `${saidOf(named)} is not taken from ${named.provider}`,
    why: `it is taken from ${key.providerNode}/${key.providerModule}, and a value is sealed for that one`,
    next: [acceptingOf({ kind: 'pair', key })],
    facts: { ...factsOf(named), provider: key.providerNode },
  };
}

function withoutKey(inventory: Inventory, nodes: readonly NodeName[]): Refusal | undefined {
  const index = indexOf(inventory);
  const keyless = nodes.filter((node) => index.nodes.get(node)?.sealingFingerprint === undefined);
  if (keyless.length === 0) return undefined;
  return {
    kind: 'node-not-joined',
    what: `${keyless.join(' and ')} ${keyless.length === 1 ? 'has' : 'have'} not joined yet`,
    why: 'a value is sealed to the keys of its nodes, and a node shows its key when it joins',
    next: keyless.map((node) => `mesh act show enrol/${node}`),
    facts: { nodes: keyless },
  };
}
