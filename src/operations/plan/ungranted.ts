import { acceptingOf } from '../../domain/credential/accepting.ts';
import { pairPath, type PairKey } from '../../domain/credential/credential.ts';
import { given } from '../../domain/words/given.ts';
import type { NodeName } from '../../domain/words/names.ts';
import type { GranterRow, ReportReads } from '../ports/declaration-rows.ts';
import type { BoundReads, Origin, PairSecretRow, SecretReads } from '../ports/secret-rows.ts';

/**
 * A credential that its provider's server does not take, or, without `to`, a granter that can grant nothing at all for now. What
 * was sent was applied at both ends all the same, and its consumer cannot log in.
 */
export type Ungranted = {
  readonly provider: NodeName;
  readonly provision: string;
  /** The consumer, and the credential as `mesh secret list` names it. */
  readonly to?: string;
  readonly path?: string;
  /** The granter's own words. */
  readonly reason: string;
  /** The provider's clock, for people to read. */
  readonly since?: string;
  readonly next: readonly string[];
};

export type UngrantedReads = Pick<ReportReads, 'granterRows'> & Pick<SecretReads, 'pairSecretRows'> & BoundReads;

/** What granters last said that they cannot do, of credentials whose consumers are bound to them now; by provider, then by credential. */
export async function ungranted(view: UngrantedReads): Promise<readonly Ungranted[]> {
  const faulty = (await view.granterRows()).filter(
    ({ status }) => status.fault !== undefined || status.entries.some(({ state }) => state === 'fault'),
  );
  if (faulty.length === 0) return [];
  const current = (await view.pairSecretRows()).filter(({ stage }) => stage === 'current');
  // What a granter that is gone said last stands in its row for ever, and so does a credential that may be wanted again (M14).
  const bound = new Set((await view.boundPairs(current.map(({ key }) => key))).map(pairPath));
  return faulty.flatMap((granter) => {
    const its = current.filter(({ key }) => isOf(key, granter) && bound.has(pairPath(key)));
    const { node: provider, provision, status } = granter;
    if (its.length === 0) return [];
    if (status.fault !== undefined)
      return [{ provider, provision, reason: status.fault, ...given('since', status.faultSince), next: [] }];
    return its.flatMap((row) => ungrantedOne(row, granter));
  });
}

function isOf(key: PairKey, { node, module, provision }: GranterRow): boolean {
  return key.providerNode === node && key.providerModule === module && key.provision === provision;
}

function ungrantedOne({ key, generation, origin }: PairSecretRow, { status }: GranterRow): readonly Ungranted[] {
  const entry = status.entries.find(
    (one) =>
      one.node === key.consumerNode &&
      one.module === key.consumerModule &&
      one.local === key.local &&
      one.generation === generation,
  );
  if (entry?.state !== 'fault') return [];
  const path = pairPath(key);
  return [
    {
      provider: key.providerNode,
      provision: key.provision,
      to: `${key.consumerModule}@${key.consumerNode}${key.local === undefined ? '' : ` (${key.local})`}`,
      path,
      reason: entry.fault ?? 'it gave no reason',
      ...given('since', entry.faultSince),
      // Another value helps where it is the value that is refused (C34); anything else is to be put right at the server.
      next: [entry.valueRefused === true ? valueFor(key, origin) : `mesh why ${path}`],
    },
  ];
}

/** The command that gives this credential another value, and no other one. */
export function valueFor(key: PairKey, origin: Origin): string {
  if (origin === 'accepted') return acceptingOf({ kind: 'pair', key });
  const { consumerNode, consumerModule, provision, local } = key;
  return `mesh secret rotate ${consumerNode}/${consumerModule} --provision ${provision}${local === undefined ? '' : ` --local ${local}`}`;
}
