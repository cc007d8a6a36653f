import type { SecretBody } from '../bodies/secret.ts';
import type { Look } from './look.ts';
import { table, type Cell } from './table.ts';
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
