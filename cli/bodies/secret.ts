import type { SecretListing } from '../../src/operations/secret/list-secrets.ts';
import { rfc3339 } from '../render/time.ts';

/** One credential or own secret as an answer has it. There is no value anywhere that it could be made from. */
export function secretBody(listing: SecretListing) {
  const { path, origin, madeAt } = listing;
  const common = { path, origin: String(origin), madeAt: rfc3339(madeAt) };
  if (listing.kind === 'own') {
    return { ...common, kind: 'own', node: listing.node, module: listing.module, name: listing.name };
  }
  const { provision, provider, consumer, generations, rotations } = listing;
  return {
    ...common,
    kind: 'pair',
    provision,
    provider: `${provider.node}/${provider.module}`,
    consumer: `${consumer.node}/${consumer.module}`,
    ...(consumer.local === undefined ? {} : { local: consumer.local }),
    generations: generations.map(({ generation, stage }) => ({ generation, stage: String(stage) })),
    rotations,
  };
}
export type SecretBody = ReturnType<typeof secretBody>;
