/**
 * A secret whose value a person brings (S12). The value itself never comes here: it is sealed where the person is, to the keys
 * that `secretToSeal` names, and what is written are the blobs, if those are still the keys.
 */
import {
  acceptingOf,
  endsOf,
  secretNamed,
  type Acceptable,
  type NamedSecret,
} from '../../domain/credential/accepting.ts';
import type { SealedCopy } from '../../domain/credential/credential.ts';
import { isRefusal, type Refusal } from '../../domain/refusal/refusal.ts';
import { indexOf } from '../../domain/resolution/inventory-index.ts';
import type { Inventory } from '../../domain/resolution/inventory.ts';
import { given } from '../../domain/words/given.ts';
import type { NodeName } from '../../domain/words/names.ts';
import { unknownNode } from '../node/invite-node.ts';
import type { LockRows } from '../ports/act-rows.ts';
import type { InventoryReads } from '../ports/declaration-rows.ts';
import type { SealingKeyReads } from '../ports/node-rows.ts';
import type { SecretRows } from '../ports/secret-rows.ts';
import type { EventRows, Reads, Writes } from '../ports/work.ts';

/** Which secret it is, and the public keys of its ends. */
export type SecretToSeal = { readonly secret: Acceptable; readonly keys: ReadonlyMap<NodeName, Uint8Array> };

/**
 * Whom a value would be sealed to. Refusals: `unknown-node`, `unknown-assignment`, `unknown-credential`, `node-unresolvable`,
 * `node-not-joined`.
 */
export function secretToSeal(
  store: Reads<InventoryReads & SealingKeyReads>,
  named: NamedSecret,
): Promise<SecretToSeal | Refusal> {
  return store.read(async (view) => {
    const secret = secretIn(await view.inventory(), named);
    return isRefusal(secret) ? secret : { secret, keys: await view.sealingKeys(endsOf(secret)) };
  });
}

/** One value, sealed apart to each of those who may open it; to the operator's key where there is one (S15). */
export type SealedValue = { readonly operator?: SealedCopy } & (
  | { readonly kind: 'pair'; readonly consumer: SealedCopy; readonly provider: SealedCopy }
  | { readonly kind: 'own'; readonly node: SealedCopy }
);

/** What was written. A pair has generations: the one that is in use now, and those that it takes the place of. */
export type AcceptedSecret = { readonly path: string; readonly nodes: readonly NodeName[] } & (
  | { readonly kind: 'pair'; readonly generation: number; readonly withdrawn: readonly number[] }
  | { readonly kind: 'own'; readonly isNew: boolean }
);

type Tx = InventoryReads & SecretRows & LockRows & EventRows;

/**
 * Makes a value that a person sealed the secret in use, origin `accepted`, all of it in one transaction. Nothing is sent: both
 * ends of a credential get it by one push. Refusals: those of `secretToSeal`, `sealed-to-another-key` where an end has another key
 * by now, and `credential-locked` while an act is changing it.
 */
export function acceptSecret(
  store: Writes<Tx>,
  person: string,
  named: NamedSecret,
  sealed: SealedValue,
): Promise<AcceptedSecret | Refusal> {
  return store.write(
    person,
    async (tx): Promise<AcceptedSecret | Refusal> => {
      const inventory = await tx.inventory();
      const secret = secretIn(inventory, named);
      if (isRefusal(secret)) return secret;
      if (secret.kind === 'own' && sealed.kind === 'own') return acceptOwn(tx, inventory, secret, sealed);
      if (secret.kind === 'pair' && sealed.kind === 'pair') return acceptPair(tx, inventory, secret, sealed);
      // The manifest has come to ask for it in another way since: then its ends are others as well.
      return sealedToAnotherKey(secret);
    },
    'serializable',
  );
}

function secretIn(inventory: Inventory, named: NamedSecret): Acceptable | Refusal {
  return indexOf(inventory).nodes.has(named.node) ? secretNamed(inventory, named) : unknownNode(named.node);
}

type Of<Union, Kind> = Extract<Union, { readonly kind: Kind }>;

async function acceptOwn(
  tx: Tx,
  inventory: Inventory,
  secret: Of<Acceptable, 'own'>,
  { node, operator }: Of<SealedValue, 'own'>,
): Promise<AcceptedSecret | Refusal> {
  const { key, path } = secret;
  if (!isSealedTo(inventory, key.node, node)) return sealedToAnotherKey(secret);
  await tx.replaceOwnSecret({ key, origin: 'accepted', node, ...given('operator', operator) });
  await tx.event({ kind: 'own-secret-accepted', about: path });
  return { kind: 'own', path, nodes: endsOf(secret), isNew: indexOf(inventory).own(key) === undefined };
}

async function acceptPair(
  tx: Tx,
  inventory: Inventory,
  secret: Of<Acceptable, 'pair'>,
  { consumer, provider, operator }: Of<SealedValue, 'pair'>,
): Promise<AcceptedSecret | Refusal> {
  const { key, path } = secret;
  if (!isSealedTo(inventory, key.consumerNode, consumer) || !isSealedTo(inventory, key.providerNode, provider))
    return sealedToAnotherKey(secret);
  // For the length of this transaction: an act that wants it waits, and one that has it keeps it.
  const lockedBy = `accept/${path}`;
  await tx.insertLocks(lockedBy, [path]);
  const holder = (await tx.lockHolders([path])).find(({ act }) => act !== lockedBy);
  if (holder !== undefined) return locked(path, holder.workflowId ?? holder.act);

  const generation = (await tx.lastGeneration(key)) + 1;
  const sealed = { consumer, provider, ...given('operator', operator) };
  const made = await tx.insertPairGenerations(undefined, [
    { key, generation, stage: 'current', origin: 'accepted', earlier: 'withdrawn', ...sealed },
  ]);
  if (made.length !== 1) throw new Error(`generation ${generation} of ${path} is there although its lock was free`);
  await tx.deleteLocks(lockedBy, [path]);
  await tx.event({ kind: 'credential-accepted', about: path, detail: { generation } });
  const withdrawn = indexOf(inventory)
    .pairs(key)
    .map((earlier) => earlier.generation);
  return { kind: 'pair', path, nodes: endsOf(secret), generation, withdrawn };
}

function isSealedTo(inventory: Inventory, node: NodeName, { fingerprint }: SealedCopy): boolean {
  return indexOf(inventory).nodes.get(node)?.sealingFingerprint === fingerprint;
}

function sealedToAnotherKey(secret: Acceptable): Refusal {
  const nodes = endsOf(secret);
  return {
    kind: 'sealed-to-another-key',
    what: `the value for ${secret.path} is not sealed to the present keys of ${nodes.join(' and ')}`,
    why: 'they changed since it was sealed, and the node could not open it',
    next: [acceptingOf(secret)],
    facts: { secret: secret.path, nodes },
  };
}

function locked(path: string, by: string): Refusal {
  return {
    kind: 'credential-locked',
    what: `${path} is being changed by the act ${by}`,
    why: 'what it makes would take the place of the value that you hand over',
    next: [`mesh act show ${by}`],
    facts: { credential: path, act: by },
  };
}
