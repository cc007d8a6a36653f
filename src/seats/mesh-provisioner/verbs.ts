/** What the provisioner can be asked (P14): what the buckets say, read only. */
import { z } from 'zod';
import { provisionerSeat } from '../../bus/accounts.ts';
import type { Verb } from '../../bus/verbs.ts';
import { collectionName, moduleName, nodeName } from '../../domain/words/names.ts';

export const provisioningWhat = z.enum(['registry', 'needs', 'applied', 'collect']);
export type ProvisioningWhat = z.infer<typeof provisioningWhat>;

export const provisioningVerb = {
  seat: provisionerSeat,
  verb: 'provisioning',
  says: 'what the registry, the needs, what is applied and what is collected are; module is the contributor for collect',
  request: z
    .strictObject({
      what: provisioningWhat.default('registry'),
      node: nodeName.optional(),
      module: moduleName.optional(),
      collection: collectionName.optional(),
    })
    .superRefine(({ what, node, collection }, context) => {
      if (what === 'registry' && node !== undefined)
        context.addIssue({
          code: 'custom',
          path: ['node'],
          message: 'the registry is of the whole mesh: leave node out',
        });
      if (what !== 'collect' && collection !== undefined)
        context.addIssue({
          code: 'custom',
          path: ['collection'],
          message: `only collect is by collection, not ${what}`,
        });
    }),
  answer: z.strictObject({
    what: provisioningWhat,
    entries: z.array(z.strictObject({ key: z.string(), parts: z.record(z.string(), z.string()), value: z.json() })),
    /** Keys out of their bucket's shape, and values that are none: each with what is wrong. */
    faults: z.array(z.strictObject({ key: z.string(), says: z.string() })),
  }),
} satisfies Verb;
