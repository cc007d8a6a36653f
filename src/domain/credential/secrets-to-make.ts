import { isRefusal, type Refusal } from '../refusal/refusal.ts';
import { indexOf, type InventoryIndex } from '../resolution/inventory-index.ts';
import type { Inventory } from '../resolution/inventory.ts';
import type { Hold, Need, Resolution } from '../resolution/resolve.ts';
import type { NodeName } from '../words/names.ts';
import { acceptingOf } from './accepting.ts';
import { ownPath, pairPath, type OwnKey, type OwnSecret, type PairKey, type PairSecret } from './credential.ts';
import type { CredentialForm } from './overlaps.ts';

/** A secret that a push must make first, and why. `replaces`: the generation that nobody can open any more (S4). */
export type SecretNeed =
  | {
      readonly kind: 'pair';
      readonly key: PairKey;
      /** As acts and messages name it. */
      readonly path: string;
      readonly form: CredentialForm;
      readonly why: 'missing' | 'consumer-key-changed' | 'provider-key-changed';
      readonly replaces?: number;
    }
  | {
      readonly kind: 'own';
      readonly key: OwnKey;
      readonly path: string;
      readonly why: 'missing' | 'node-key-changed';
    };
export type SecretsToMake = { readonly needs: readonly SecretNeed[]; readonly refusals: readonly Refusal[] };

/**
 * The secrets that are missing, or sealed to a key that is not the node's present one (S3, S4, S10), of `nodes` at either end (all
 * nodes when left out). Accepted ones are refused by name instead (S13), and so is what has an end without a key, or an end that
 * cannot be sent its half. Nodes that cannot be resolved are asked for nothing (D5).
 */
export function secretsToMake(
  inventory: Inventory,
  resolution: Resolution,
  nodes?: ReadonlySet<NodeName>,
): SecretsToMake {
  const index = indexOf(inventory);
  const needs: SecretNeed[] = [];
  const refusals: Refusal[] = [];
  const take = (judged: SecretNeed | Refusal | undefined): void => {
    if (judged === undefined) return;
    if (isRefusal(judged)) refusals.push(judged);
    else needs.push(judged);
  };
  const concerns = (node: NodeName): boolean => nodes === undefined || nodes.has(node);
  for (const node of resolution.nodes.values()) {
    if (node.kind === 'unresolvable') continue;
    for (const need of node.needs)
      if (concerns(need.key.consumerNode) || concerns(need.key.providerNode)) take(pairToMake(index, resolution, need));
    if (concerns(node.node)) for (const hold of node.holds) take(ownToMake(index, hold));
  }
  return { needs, refusals };
}

/** The generation that the consumer's file holds. */
export function currentPair(index: InventoryIndex, key: PairKey): PairSecret | undefined {
  return index.pairs(key).find((secret) => secret.stage === 'current');
}

/** Undefined: it is there and both ends can open it. */
export function pairToMake(
  index: InventoryIndex,
  resolution: { readonly nodes: Pick<Resolution['nodes'], 'get'> },
  { key, form }: Need,
): SecretNeed | Refusal | undefined {
  const current = currentPair(index, key);
  const why = pairReason(index, key, current);
  if (why === undefined) return undefined;
  const path = pairPath(key);
  if (current?.origin === 'accepted')
    return acceptedOne(
      { kind: 'pair', key },
      path,
      why === 'consumer-key-changed' ? key.consumerNode : key.providerNode,
    );
  const keyless = [key.consumerNode, key.providerNode].filter(
    (node) => index.nodes.get(node)?.sealingFingerprint === undefined,
  );
  if (keyless.length > 0) return withoutKey(path, [...new Set(keyless)]);
  if (resolution.nodes.get(key.providerNode)?.kind !== 'resolved') return withoutProvider(path, key.providerNode);
  return { kind: 'pair', key, path, form, why, ...(current === undefined ? {} : { replaces: current.generation }) };
}

function pairReason(index: InventoryIndex, key: PairKey, current: PairSecret | undefined) {
  if (current === undefined) return 'missing';
  if (current.consumer.fingerprint !== index.nodes.get(key.consumerNode)?.sealingFingerprint)
    return 'consumer-key-changed';
  if (current.provider.fingerprint !== index.nodes.get(key.providerNode)?.sealingFingerprint)
    return 'provider-key-changed';
  return undefined;
}

/** Undefined: it is there and its node can open it. */
export function ownToMake(index: InventoryIndex, { key }: Pick<Hold, 'key'>): SecretNeed | Refusal | undefined {
  const own: OwnSecret | undefined = index.own(key);
  const fingerprint = index.nodes.get(key.node)?.sealingFingerprint;
  if (own !== undefined && own.node.fingerprint === fingerprint) return undefined;
  const path = ownPath(key);
  if (own?.origin === 'accepted') return acceptedOne({ kind: 'own', key }, path, key.node);
  if (fingerprint === undefined) return withoutKey(path, [key.node]);
  return { kind: 'own', key, path, why: own === undefined ? 'missing' : 'node-key-changed' };
}

/** S13. `node`: which of its ends cannot open it any more. */
function acceptedOne(secret: Parameters<typeof acceptingOf>[0], path: string, node: NodeName): Refusal {
  return {
    kind: 'secret-accepted',
    what: `${path} was handed over by a person and is sealed to a key that ${node} no longer has`,
    why: 'the mesh never held its value, so it can neither seal it again nor make another in its place',
    next: [acceptingOf(secret)],
    facts: { credential: path, node },
  };
}

function withoutKey(path: string, nodes: readonly NodeName[]): Refusal {
  return {
    kind: 'secret-cannot-be-made',
    what: `${path} cannot be made: ${nodes.join(' and ')} ${nodes.length === 1 ? 'has' : 'have'} not joined yet`,
    why: 'a secret is sealed to the keys of its nodes, and a node shows its key when it joins',
    next: nodes.map((node) => `mesh node invite ${node}`),
    facts: { credential: path, nodes },
  };
}

function withoutProvider(path: string, node: NodeName): Refusal {
  return {
    kind: 'secret-cannot-be-made',
    what: `${path} cannot be made: its provider's node ${node} cannot be resolved`,
    why: 'both ends get a new secret in one push, and that node cannot be sent anything',
    next: [`mesh plan ${node}`],
    facts: { credential: path, node },
  };
}
