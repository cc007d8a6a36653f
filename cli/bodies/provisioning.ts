/** What the provisioner's seat says of its buckets, as commands answer it: one flat record an entry. */
import type { ProvisioningWhat } from '../../src/seats/mesh-provisioner/verbs.ts';
import { jsonOf, type Json } from '../answer.ts';
import type { Context } from '../context.ts';

export type EntryBody = { readonly [name: string]: Json | undefined };
export type ProvisioningBody = {
  readonly entries: readonly EntryBody[];
  /** Keys out of shape, and values that are none. */
  readonly faults: readonly { readonly key: string; readonly says: string }[];
};

/** Asks the seat and answers its entries; `of` narrows them. */
export async function provisioningBody(
  context: Context,
  what: ProvisioningWhat,
  of: {
    readonly node?: string | undefined;
    readonly module?: string | undefined;
    readonly collection?: string | undefined;
  },
): Promise<ProvisioningBody> {
  const { withAsker } = await import('../asking.ts');
  const { provisioningVerb } = await import('../../src/seats/mesh-provisioner/verbs.ts');
  const given = Object.fromEntries(Object.entries(of).filter(([, text]) => text !== undefined));
  const said = await withAsker(context, (asker) => asker.ask(provisioningVerb, { what, ...given }));
  return {
    entries: said.entries.map(({ parts, value }) => ({ ...parts, ...recordOf(jsonOf(value)) })),
    faults: said.faults,
  };
}

/** A record's own fields; any other value as the field `value`. */
export function recordOf(value: Json | undefined): EntryBody {
  return isRecord(value) ? value : { value };
}

function isRecord(value: Json | undefined): value is EntryBody {
  return typeof value === 'object' && !Array.isArray(value);
}
