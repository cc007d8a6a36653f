import { ownPath, pairPath } from '../../domain/credential/credential.ts';
import { given } from '../../domain/words/given.ts';
import type { Stage } from '../../domain/credential/credential.ts';
import type { Origin, OwnSecretRow, PairSecretRow, SecretReads } from '../ports/secret-rows.ts';
import type { Reads } from '../ports/work.ts';

/** One credential or own secret: between whom, how old, and never its value. */
export type SecretListing = {
  /** As acts and messages name it. */
  readonly path: string;
  readonly origin: Origin;
  /** When the generation that is in use was made. */
  readonly madeAt: Date;
} & (
  | {
      readonly kind: 'pair';
      readonly provision: string;
      readonly provider: { readonly node: string; readonly module: string };
      readonly consumer: { readonly node: string; readonly module: string; readonly local?: string };
      /** Those that are granted or will be; the oldest first. */
      readonly generations: readonly { readonly generation: number; readonly stage: Stage }[];
      readonly rotations: number;
    }
  | { readonly kind: 'own'; readonly node: string; readonly module: string; readonly name: string }
);

/** Every credential that is not wholly withdrawn and every own secret, by path. */
export function listSecrets(store: Reads<SecretReads>): Promise<readonly SecretListing[]> {
  return store.read(async (view) => {
    const pairs = pairListings(await view.pairSecretRows());
    const own = (await view.ownSecretRows()).map(ownListing);
    return [...pairs, ...own].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  });
}

function pairListings(rows: readonly PairSecretRow[]): readonly SecretListing[] {
  const byCredential = new Map<string, PairSecretRow[]>();
  for (const row of rows) {
    const credential = `${row.key.providerModule}@${pairPath(row.key)}`;
    byCredential.set(credential, [...(byCredential.get(credential) ?? []), row]);
  }
  return [...byCredential.values()].flatMap((generations) => {
    const live = generations.filter(({ stage }) => stage !== 'withdrawn');
    const used = live.find(({ stage }) => stage === 'current') ?? live[0];
    return used === undefined ? [] : [pairListing(used, live, generations.length)];
  });
}

function pairListing(
  { key, origin, madeAt }: PairSecretRow,
  live: readonly PairSecretRow[],
  made: number,
): SecretListing {
  return {
    kind: 'pair',
    path: pairPath(key),
    origin,
    madeAt,
    provision: key.provision,
    provider: { node: key.providerNode, module: key.providerModule },
    consumer: { node: key.consumerNode, module: key.consumerModule, ...given('local', key.local) },
    generations: live.map(({ generation, stage }) => ({ generation, stage })),
    rotations: made - 1,
  };
}

function ownListing({ key, origin, madeAt }: OwnSecretRow): SecretListing {
  return { kind: 'own', path: ownPath(key), origin, madeAt, node: key.node, module: key.module, name: key.name };
}
