import type { PairKey } from '../../domain/credential/credential.ts';
import type { RefusedValueRows } from '../../operations/ports/refused-value-rows.ts';
import type { Query } from '../query.ts';

const keyColumns = `provision text, "providerNode" text, "providerModule" text, "consumerNode" text, "consumerModule" text, local text`;
const sameCredential = `p.provision = n.provision and p.provider_node = n."providerNode" and p.provider_module = n."providerModule"
  and p.consumer_node = n."consumerNode" and p.consumer_module = n."consumerModule" and p.local = n.local`;

/** The plain form's local is the empty text in the table, and absent above it. */
const rowsOf = (listed: readonly { readonly key: PairKey }[]): string =>
  JSON.stringify(listed.map(({ key, ...rest }) => ({ ...key, local: key.local ?? '', ...rest })));

export function refusedValueRows(query: Query): RefusedValueRows {
  const withdraw = async (
    listed: readonly { readonly key: PairKey }[],
    number: 'generation' | 'from',
  ): Promise<void> => {
    await query.run(
      `update mesh.pair_secrets p set stage = 'withdrawn'
         from jsonb_to_recordset($1::jsonb) as n (${keyColumns}, "${number}" int)
        where ${sameCredential} and p.generation = n."${number}" and p.stage <> 'withdrawn'`,
      [rowsOf(listed)],
    );
  };
  return {
    withdrawGenerations: (generations) => withdraw(generations, 'generation'),
    async reinstateGenerations(moves) {
      // Before the others, since one generation alone may be current.
      await withdraw(moves, 'from');
      await query.run(
        `insert into mesh.pair_secrets (provision, provider_node, provider_module, consumer_node, consumer_module, local,
                generation, stage, origin, consumer_blob, consumer_fingerprint, provider_blob, provider_fingerprint,
                operator_blob, operator_fingerprint, act, made_at)
         select p.provision, p.provider_node, p.provider_module, p.consumer_node, p.consumer_module, p.local,
                n."to", 'current', p.origin, p.consumer_blob, p.consumer_fingerprint, p.provider_blob, p.provider_fingerprint,
                p.operator_blob, p.operator_fingerprint, p.act, p.made_at
           from jsonb_to_recordset($1::jsonb) as n (${keyColumns}, "from" int, "to" int)
           join mesh.pair_secrets p on ${sameCredential} and p.generation = n."from"`,
        [rowsOf(moves)],
      );
    },
  };
}
