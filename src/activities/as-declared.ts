/** Looking whether anything would have to be sent, without sending it: the same judgement as sending makes, and nothing written. */
import { arrivalOf, type Arrival } from '../domain/act/waiting.ts';
import { secretsToMake } from '../domain/credential/secrets-to-make.ts';
import { compose } from '../domain/declaration/compose.ts';
import { resolve } from '../domain/resolution/resolve.ts';
import type { NodeName } from '../domain/words/names.ts';
import type { Snapshot } from '../operations/act/declaration-records.ts';
import type { Hash } from './ports.ts';

export type AsDeclared = {
  /** Their last message says what they should be; and what has come of it. */
  readonly already: ReadonlyMap<NodeName, Arrival>;
  readonly unresolvable: readonly NodeName[];
};

/**
 * How these nodes stand, where none has to be sent anything and no secret is missing; undefined otherwise, as soon as one is seen
 * of which that is not so. Whether the bus still holds what was sent is the caller's to ask (C76).
 */
export function asDeclared(
  { inventory, sent }: Snapshot,
  nodes: readonly NodeName[],
  hash: Hash,
): AsDeclared | undefined {
  const resolution = resolve(inventory);
  if (secretsToMake(inventory, resolution, new Set(nodes)).needs.length > 0) return undefined;
  const already = new Map<NodeName, Arrival>();
  const unresolvable: NodeName[] = [];
  for (const node of nodes) {
    const composed = compose({ inventory, resolution, node, hash });
    if (composed.kind === 'unresolvable') {
      unresolvable.push(node);
      continue;
    }
    const row = sent.get(node);
    if (composed.wouldMake.length > 0 || row?.digest !== composed.digest) return undefined;
    already.set(node, arrivalOf(row, row.reported));
  }
  return { already, unresolvable };
}
