/**
 * A provider's server may have a rule for passwords that the mesh does not know. It has its say after the commit: so another
 * value is made, a few times, and then the whole rotation is taken back, so that it fails as all or nothing should (S11, C34).
 */
import { z } from 'zod';
import { pairPath, type PairKey } from '../domain/credential/credential.ts';
import type { Refusal } from '../domain/refusal/refusal.ts';
import type { RefusedValueRecords } from '../operations/act/refused-value-records.ts';
import type { NodeName } from '../domain/words/names.ts';
import type { SealNew } from './ports.ts';
import { newGeneration } from './secrets.ts';

/**
 * How many values are tried for one credential. They are 43 random characters out of 64: a rule that refuses five of them
 * asks for something that none of them has.
 */
export const valuesAtMost = 5;

/** A credential of a rotation, as its act keeps it. */
export type RotatedPair = {
  readonly key: PairKey;
  readonly from: number;
  readonly overlaps: boolean;
  /** The generation that is on its way, where it is not the one after `from`. */
  readonly to?: number | undefined;
  /** Where the values of before went on, when the rotation was taken back. */
  readonly back?: number | undefined;
};

export const takenBack = z.object({ credential: z.string(), reason: z.string(), tried: z.int() });
export type TakenBack = z.infer<typeof takenBack>;

/** The generation that is on its way. */
export const targetOf = ({ from, to }: RotatedPair): number => to ?? from + 1;

/** With an overlap the number says which of two logins it is, so it goes on by two. */
const stepOf = ({ overlaps }: RotatedPair): number => (overlaps ? 2 : 1);

/** How many values were made for it so far. */
const triedOf = (pair: RotatedPair): number => Math.ceil((targetOf(pair) - pair.from) / stepOf(pair));

export type RefusedValuePorts = {
  readonly refusedValues: RefusedValueRecords;
  readonly sealNew: SealNew;
  readonly declarations: { sealingKeys(nodes: readonly NodeName[]): Promise<ReadonlyMap<NodeName, Uint8Array>> };
};

type Refused = { readonly key: PairKey; readonly generation: number; readonly reason: string };

/** Makes another value for each that was refused, or takes the rotation back once one of them was refused often enough. `noted` is written down with it. */
export async function answerRefusal(
  ports: RefusedValuePorts,
  act: string,
  pairs: readonly RotatedPair[],
  refused: readonly Refused[],
  noted: Readonly<Record<string, unknown>>,
): Promise<void> {
  const reasons = new Map(refused.map((one) => [pairPath(one.key), one.reason]));
  const about = pairs.filter(({ key }) => reasons.has(pairPath(key)));
  const spent = about.find((pair) => triedOf(pair) >= valuesAtMost);
  if (spent !== undefined) {
    const credential = pairPath(spent.key);
    const said: TakenBack = { credential, reason: reasons.get(credential) ?? '', tried: triedOf(spent) };
    const moved = pairs.map((pair) => ({ ...pair, back: targetOf(pair) + 1 }));
    const moves = moved.map(({ key, from, back }) => ({ key, from, to: back }));
    await ports.refusedValues.takeBack(act, moves, { ...noted, pairs: moved, takenBack: said, waitsFor: [] });
    return;
  }
  const keys = await ports.declarations.sealingKeys([
    ...new Set(about.flatMap(({ key }) => [key.consumerNode, key.providerNode])),
  ]);
  const next = (pair: RotatedPair): number => targetOf(pair) + stepOf(pair);
  const others = about.map((pair) =>
    newGeneration(
      { keys, sealNew: ports.sealNew },
      { key: pair.key, generation: next(pair), stage: pair.overlaps ? 'arriving' : 'current', earlier: 'kept' },
    ),
  );
  const changed = pairs.map((pair) => (about.includes(pair) ? { ...pair, to: next(pair) } : pair));
  await ports.refusedValues.replaceRefused(act, refused, others, { ...noted, pairs: changed, waitsFor: [] });
}

/** What a person is told of a rotation that was taken back. */
export function valueRefused({ credential, reason, tried }: TakenBack): Refusal {
  return {
    kind: 'value-refused',
    what: `${credential} was not rotated: ${reason}`,
    why: `${tried} values of 43 random letters, digits, - and _ were tried, and the server has a rule for passwords that none of them keeps; the old one is in use again`,
    next: ['change the rule on the server, and rotate again'],
    facts: { credential, tried },
  };
}
