/**
 * Secrets, as a node asks for them (P5): the stored blob that is sealed to that node's key, and whom it is for. Nothing is
 * opened, and a node is told of its own credentials alone.
 */
import type { PairSecret, SealedCopy, Stage } from '../../domain/credential/credential.ts';
import { loginsOf } from '../../domain/credential/logins.ts';
import { currentPair, ownToMake, pairToMake } from '../../domain/credential/secrets-to-make.ts';
import { isRefusal, type Refusal } from '../../domain/refusal/refusal.ts';
import { indexOf } from '../../domain/resolution/inventory-index.ts';
import { resolve, type Need } from '../../domain/resolution/resolve.ts';
import { given } from '../../domain/words/given.ts';
import type { LocalName, ModuleName, NodeName, PartName, ProvisionName } from '../../domain/words/names.ts';
import type { InventoryReads } from '../ports/declaration-rows.ts';
import type { Reads } from '../ports/work.ts';

export type AskedSecret = {
  readonly node: NodeName;
  readonly module: ModuleName;
  /** A provision that the module requires, or an own secret that it holds. */
  readonly name: PartName;
  readonly local?: LocalName;
};
export type SecretAnswer = SealedCopy & {
  /** An own secret has one generation. */
  readonly generation: number;
  /** Of a credential: who one logs in as with it. */
  readonly login?: string;
};

/**
 * The credential in use of a module on this node, or its own secret. Refusals: `unknown-credential`, also while it is not made yet;
 * for one that this node could not open, what keeps it from being made again: `secret-accepted` (S13).
 */
export function askSecret(
  store: Reads<InventoryReads>,
  asked: AskedSecret,
  hash: (text: string) => string,
): Promise<SecretAnswer | Refusal> {
  return store.read(async (view) => {
    const inventory = await view.inventory();
    const index = indexOf(inventory);
    const resolution = resolve(inventory);
    const need = resolution.nodes.get(asked.node)?.needs.find(({ key }) => isAsked(key, asked));
    const opens = ({ fingerprint }: SealedCopy): boolean =>
      index.nodes.get(asked.node)?.sealingFingerprint === fingerprint;
    if (need !== undefined) {
      const current = currentPair(index, need.key);
      if (current === undefined) return notThere(asked, 'it is not made yet; the next push makes it');
      const judged = opens(current.consumer) ? undefined : pairToMake(index, resolution, need);
      if (isRefusal(judged)) return judged;
      const { login } = loginsOf(need.key, current.generation, need.form, hash);
      return { generation: current.generation, login, ...current.consumer };
    }
    const own = asked.local === undefined ? index.own(asked) : undefined;
    if (own !== undefined) {
      const judged = opens(own.node) ? undefined : ownToMake(index, own);
      return isRefusal(judged) ? judged : { generation: 1, ...own.node };
    }
    return notThere(asked, 'nothing of that name is made for it, nor is it its own');
  });
}

function isAsked(key: Need['key'], { module, name, local }: AskedSecret): boolean {
  const provision: string = key.provision;
  return key.consumerModule === module && provision === name && key.local === local;
}

function notThere({ node, module, name, local }: AskedSecret, why: string): Refusal {
  const named = local === undefined ? name : `${name}.${local}`;
  return {
    kind: 'unknown-credential',
    what: `${module} on ${node} has no secret ${named}`,
    why,
    next: ['mesh secret list', `mesh push ${node}`],
    facts: { node, module, secret: named },
  };
}

export type Consumer = SealedCopy & {
  readonly node: NodeName;
  readonly module: ModuleName;
  readonly local?: LocalName;
  readonly generation: number;
  readonly stage: Exclude<Stage, 'withdrawn'>;
  readonly login: string;
  readonly owner: string;
  readonly database: string;
};

/** Everybody that a provider on this node grants a provision to, each generation that works, sealed to this node. */
export function listConsumers(
  store: Reads<InventoryReads>,
  {
    node,
    module,
    provision,
  }: { readonly node: NodeName; readonly module: ModuleName; readonly provision: ProvisionName },
  hash: (text: string) => string,
): Promise<readonly Consumer[]> {
  return store.read(async (view) => {
    const inventory = await view.inventory();
    const index = indexOf(inventory);
    const asked = resolve(inventory).asked.get(node) ?? [];
    return asked
      .filter(({ key }) => key.providerModule === module && key.provision === provision)
      .flatMap((need) => index.pairs(need.key).flatMap((secret) => consumerOf(need, secret, hash)));
  });
}

function consumerOf(
  need: Need,
  { generation, stage, provider }: PairSecret,
  hash: (text: string) => string,
): Consumer[] {
  if (stage === 'withdrawn') return [];
  const { consumerNode, consumerModule, local } = need.key;
  const { login, owner, database } = loginsOf(need.key, generation, need.form, hash);
  const whose = { node: consumerNode, module: consumerModule, ...given('local', local) };
  return [{ ...whose, generation, stage, login, owner, database, ...provider }];
}
