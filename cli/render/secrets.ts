import type { SecretBody } from '../bodies/secret.ts';
import type { Look } from './look.ts';
import { nextLines } from './problem.ts';
import { count, indent, table, type Cell } from './table.ts';
import { time } from './time.ts';

/** `mesh secret list`. */
export function drawSecrets({ secrets }: { readonly secrets: readonly SecretBody[] }, look: Look): string {
  if (secrets.length === 0) return 'There are no secrets yet: a push makes those that are needed.';
  return table(
    ['secret', 'kind', 'origin', 'made', 'rotated', 'generations'],
    secrets.map((one) => row(one, look)),
    look,
  );
}

function row(secret: SecretBody, look: Look): readonly Cell[] {
  const generations =
    'generations' in secret
      ? secret.generations.map(({ generation, stage }) => `${generation} ${stage}`).join(', ')
      : '-';
  const rotations = 'rotations' in secret ? `${secret.rotations}×` : '-';
  return [secret.path, secret.kind, secret.origin, time(secret.madeAt, look), rotations, generations];
}

/** `mesh secret accept`. */
export function drawAccepted(
  of: {
    readonly path: string;
    readonly bytes: number;
    readonly nodes: readonly string[];
    readonly generation?: number;
    readonly withdrawn?: readonly number[];
  },
  look: Look,
): string {
  const { withdrawn = [] } = of;
  const lines = [
    `sealed to ${of.nodes.join(' and ')}, and to nobody else`,
    ...(of.generation === undefined ? [] : [`it is generation ${of.generation}`]),
    ...(withdrawn.length === 0 ? [] : [`generation ${withdrawn.join(' and ')} stops working when it is sent`]),
  ];
  return [
    `${look.paint.bold(of.path)} is what you gave, ${count(of.bytes, 'byte')}.`,
    indent(lines.join('\n')),
    ...nextLines([`mesh push ${of.nodes.toSorted().join(' ')}`], look),
  ].join('\n');
}
