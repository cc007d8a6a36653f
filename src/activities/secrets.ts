/** Making secrets: the one place of the acts in which a value exists, sealed before the call that makes it returns. */
import { pairPath } from '../domain/credential/credential.ts';
import type { SecretNeed } from '../domain/credential/secrets-to-make.ts';
import { present } from '../domain/words/invariant.ts';
import type { NodeName } from '../domain/words/names.ts';
import type { MadeOwn, MadePair } from '../operations/act/credential-records.ts';
import type { SealNew } from './ports.ts';

type Keys = ReadonlyMap<NodeName, Uint8Array>;

/** A new generation of a pair credential: one value, sealed to its consumer's and its provider's node (S2). */
export function newGeneration(
  { keys, sealNew }: { keys: Keys; sealNew: SealNew },
  of: Pick<MadePair, 'key' | 'generation' | 'stage' | 'earlier'>,
): MadePair {
  const { key } = of;
  const [consumer, provider] = sealNew([keyOf(keys, key.consumerNode), keyOf(keys, key.providerNode)]);
  return { ...of, consumer: present(consumer, pairPath(key)), provider: present(provider, pairPath(key)) };
}

/** All that `needs` asks for: new generations and own secrets. */
export function makeSecrets(
  making: { keys: Keys; sealNew: SealNew },
  needs: readonly SecretNeed[],
): { pairs: readonly MadePair[]; own: readonly MadeOwn[] } {
  const pairs: MadePair[] = [];
  const own: MadeOwn[] = [];
  for (const need of needs) {
    if (need.kind === 'own') {
      const [node] = making.sealNew([keyOf(making.keys, need.key.node)]);
      own.push({ key: need.key, node: present(node, need.path) });
    } else {
      // Nobody can open what is replaced: there is nothing to overlap with (S4).
      pairs.push(
        newGeneration(making, {
          key: need.key,
          generation: (need.replaces ?? 0) + 1,
          stage: 'current',
          earlier: 'withdrawn',
        }),
      );
    }
  }
  return { pairs, own };
}

/** The nodes whose keys `needs` are sealed to: those that must all be sent, so that no end is left behind (S4). */
export function endsOf(needs: readonly SecretNeed[]): readonly NodeName[] {
  return [
    ...new Set(
      needs.flatMap((need) => (need.kind === 'own' ? [need.key.node] : [need.key.consumerNode, need.key.providerNode])),
    ),
  ];
}

function keyOf(keys: Keys, node: NodeName): Uint8Array {
  return present(keys.get(node), `the sealing key of ${node}`);
}
