/** Sealed credentials. Blobs are base64 above the store and bytes in it. */
import { z } from 'zod';
import { origin, ownKey, stage, type PairKey } from '../../domain/credential/credential.ts';
import { localName, moduleName, nodeName, provisionName } from '../../domain/words/names.ts';
import type { BoundReads, SecretReads, SecretRows } from '../../operations/ports/secret-rows.ts';
import type { Query } from '../query.ts';

const sealed = z.instanceof(Uint8Array).transform((bytes) => Buffer.from(bytes).toString('base64'));
/** The plain form's local is the empty text in the table, and absent above it. */
const keyColumns = {
  provision: provisionName,
  providerNode: nodeName,
  providerModule: moduleName,
  consumerNode: nodeName,
  consumerModule: moduleName,
  local: z.union([z.literal(''), localName]),
};
const generationColumns = { ...keyColumns, generation: z.int(), stage };
const keySql = `provision, provider_node as "providerNode", provider_module as "providerModule",
  consumer_node as "consumerNode", consumer_module as "consumerModule", local`;
const generationSql = `${keySql}, generation, stage`;

function keyOf(row: z.infer<z.ZodObject<typeof keyColumns>>): PairKey {
  const { provision, providerNode, providerModule, consumerNode, consumerModule, local } = row;
  const key = { provision, providerNode, providerModule, consumerNode, consumerModule };
  return local === '' ? key : { ...key, local };
}

const pairKeyRow = z.object(keyColumns).transform(keyOf);

const pairGeneration = z
  .object(generationColumns)
  .transform((row) => ({ key: keyOf(row), generation: row.generation, stage: row.stage }));

const pairSecret = z
  .object({
    ...generationColumns,
    origin,
    consumerBlob: sealed,
    consumerFingerprint: z.string(),
    providerBlob: sealed,
    providerFingerprint: z.string(),
  })
  .transform((row) => ({
    key: keyOf(row),
    generation: row.generation,
    stage: row.stage,
    origin: row.origin,
    consumer: { sealed: row.consumerBlob, fingerprint: row.consumerFingerprint },
    provider: { sealed: row.providerBlob, fingerprint: row.providerFingerprint },
  }));

const facts = {
  origin,
  operatorFingerprint: z.string().exactOptional(),
  madeAt: z.date(),
};
const pairSecretRow = z
  .object({ ...generationColumns, consumerFingerprint: z.string(), providerFingerprint: z.string(), ...facts })
  .transform(({ provision, providerNode, providerModule, consumerNode, consumerModule, local, ...rest }) => ({
    key: keyOf({ provision, providerNode, providerModule, consumerNode, consumerModule, local }),
    ...rest,
  }));
const ownSecretRow = z
  .object({ ...ownKey.shape, nodeFingerprint: z.string(), ...facts })
  .transform(({ node, module, name, ...rest }) => ({ key: { node, module, name }, ...rest }));

export function secretReads(query: Query): SecretReads & BoundReads {
  return {
    pairSecretRows: () =>
      query.rows(
        pairSecretRow,
        `select ${generationSql}, origin, consumer_fingerprint as "consumerFingerprint",
                provider_fingerprint as "providerFingerprint", operator_fingerprint as "operatorFingerprint", made_at as "madeAt"
           from mesh.pair_secrets
          order by provision, provider_node, provider_module, consumer_node, consumer_module, local, generation`,
      ),
    ownSecretRows: () =>
      query.rows(
        ownSecretRow,
        `select node, module, name, origin, node_fingerprint as "nodeFingerprint",
                operator_fingerprint as "operatorFingerprint", made_at as "madeAt"
           from mesh.own_secrets
          order by node, module, name`,
      ),
    boundPairs: (keys) =>
      query.rows(
        pairKeyRow,
        `select k.provision, k."providerNode", k."providerModule", k."consumerNode", k."consumerModule", k.local
           from jsonb_to_recordset($1::jsonb) as k (provision text, "providerNode" text, "providerModule" text,
                "consumerNode" text, "consumerModule" text, local text)
           join mesh.bindings b
             on b.node = k."consumerNode" and b.module = k."consumerModule" and b.provision = k.provision
            and b.provider_node = k."providerNode" and b.provider_module = k."providerModule"`,
        [JSON.stringify(keys.map((key) => ({ ...key, local: key.local ?? '' })))],
      ),
  };
}

export function secretRows(query: Query): SecretRows {
  return {
    insertPairGenerations: async (act, generations) => {
      if (generations.length === 0) return [];
      const rows = JSON.stringify(
        generations.map(({ key, consumer, provider, operator, ...rest }) => ({
          ...key,
          local: key.local ?? '',
          ...rest,
          consumerSealed: consumer.sealed,
          consumerFingerprint: consumer.fingerprint,
          providerSealed: provider.sealed,
          providerFingerprint: provider.fingerprint,
          operatorSealed: operator?.sealed,
          operatorFingerprint: operator?.fingerprint,
        })),
      );
      // Before the new ones, since one generation alone may be current. What another act has made already is left as it is.
      const earlier = query.run(
        `update mesh.pair_secrets old set stage = 'withdrawn'
           from jsonb_to_recordset($1::jsonb) as n (${newPairColumns})
          where ${sameCredential('old', 'n')}
            and n.earlier = 'withdrawn' and old.generation < n.generation and old.stage <> 'withdrawn'
            and not exists (select from mesh.pair_secrets there where ${sameCredential('there', 'n')} and there.generation >= n.generation)`,
        [rows],
      );
      const made = query.rows(
        pairGeneration,
        `insert into mesh.pair_secrets (provision, provider_node, provider_module, consumer_node, consumer_module, local,
                generation, stage, origin, consumer_blob, consumer_fingerprint, provider_blob, provider_fingerprint,
                operator_blob, operator_fingerprint, act)
         select n.provision, n."providerNode", n."providerModule", n."consumerNode", n."consumerModule", n.local,
                n.generation, n.stage, n.origin, decode(n."consumerSealed", 'base64'), n."consumerFingerprint",
                decode(n."providerSealed", 'base64'), n."providerFingerprint",
                decode(n."operatorSealed", 'base64'), n."operatorFingerprint", $2
           from jsonb_to_recordset($1::jsonb) as n (${newPairColumns})
          order by n.provision, n."providerNode", n."providerModule", n."consumerNode", n."consumerModule", n.local
         on conflict do nothing
         returning ${generationSql}`,
        [rows, act ?? null],
      );
      return (await Promise.all([made, earlier]))[0];
    },
    lastGeneration: async ({ provision, providerNode, providerModule, consumerNode, consumerModule, local }) =>
      (
        await query.first(
          z.object({ last: z.int() }),
          `select coalesce(max(generation), 0) as last from mesh.pair_secrets
            where provision = $1 and provider_node = $2 and provider_module = $3 and consumer_node = $4 and consumer_module = $5 and local = $6`,
          [provision, providerNode, providerModule, consumerNode, consumerModule, local ?? ''],
        )
      )?.last ?? 0,
    pairSecretsMadeBy: (act) =>
      query.rows(
        pairSecret,
        `select ${generationSql}, origin, consumer_blob as "consumerBlob", consumer_fingerprint as "consumerFingerprint",
                provider_blob as "providerBlob", provider_fingerprint as "providerFingerprint"
           from mesh.pair_secrets
          where act = $1
          order by provision, provider_node, provider_module, consumer_node, consumer_module, local, generation`,
        [act],
      ),
    handOverPairs: async (act) => {
      // Two statements of one transaction: for a moment inside it none is current, never two.
      const left = query.run(
        `update mesh.pair_secrets old set stage = 'leaving'
           from mesh.pair_secrets new
          where new.act = $1 and new.stage = 'arriving' and old.stage = 'current' and ${sameCredentialRow('old', 'new')}`,
        [act],
      );
      const arrived = query.run(
        `update mesh.pair_secrets set stage = 'current' where act = $1 and stage = 'arriving'`,
        [act],
      );
      return (await Promise.all([arrived, left]))[0];
    },
    withdrawLeavingPairs: (act) =>
      query.rows(
        pairGeneration,
        `update mesh.pair_secrets old set stage = 'withdrawn'
           from mesh.pair_secrets new
          where new.act = $1 and new.stage = 'current' and old.stage = 'leaving' and ${sameCredentialRow('old', 'new')}
         returning old.provision, old.provider_node as "providerNode", old.provider_module as "providerModule",
                   old.consumer_node as "consumerNode", old.consumer_module as "consumerModule", old.local, old.generation, old.stage`,
        [act],
      ),
    putOwnSecrets: async (act, secrets) => {
      if (secrets.length === 0) return [];
      return query.rows(
        ownKey,
        `insert into mesh.own_secrets as old (node, module, name, origin, node_blob, node_fingerprint, operator_blob, operator_fingerprint, act)
         select n.node, n.module, n.name, n.origin, decode(n."nodeSealed", 'base64'), n."nodeFingerprint",
                decode(n."operatorSealed", 'base64'), n."operatorFingerprint", $2
           from jsonb_to_recordset($1::jsonb) as n (node text, module text, name text, origin text, "nodeSealed" text,
                "nodeFingerprint" text, "operatorSealed" text, "operatorFingerprint" text)
          order by n.node, n.module, n.name
         on conflict (node, module, name) do update
            set node_blob = excluded.node_blob, node_fingerprint = excluded.node_fingerprint,
                operator_blob = excluded.operator_blob, operator_fingerprint = excluded.operator_fingerprint,
                act = excluded.act, made_at = now()
          where old.origin = 'made' and old.act is distinct from excluded.act
            and old.node_fingerprint <> excluded.node_fingerprint
         returning node, module, name`,
        [
          JSON.stringify(
            secrets.map(({ key, origin: from, node, operator }) => ({
              ...key,
              origin: from,
              nodeSealed: node.sealed,
              nodeFingerprint: node.fingerprint,
              operatorSealed: operator?.sealed,
              operatorFingerprint: operator?.fingerprint,
            })),
          ),
          act,
        ],
      );
    },
    replaceOwnSecret: async ({ key, origin: from, node, operator }) => {
      await query.run(
        `insert into mesh.own_secrets (node, module, name, origin, node_blob, node_fingerprint, operator_blob, operator_fingerprint)
         values ($1, $2, $3, $4, decode($5, 'base64'), $6, decode($7, 'base64'), $8)
         on conflict (node, module, name) do update
            set origin = excluded.origin, node_blob = excluded.node_blob, node_fingerprint = excluded.node_fingerprint,
                operator_blob = excluded.operator_blob, operator_fingerprint = excluded.operator_fingerprint,
                act = null, made_at = now()`,
        [
          key.node,
          key.module,
          key.name,
          from,
          node.sealed,
          node.fingerprint,
          operator?.sealed ?? null,
          operator?.fingerprint ?? null,
        ],
      );
    },
  };
}

const newPairColumns = `provision text, "providerNode" text, "providerModule" text, "consumerNode" text, "consumerModule" text,
  local text, generation int, stage text, origin text, earlier text, "consumerSealed" text, "consumerFingerprint" text,
  "providerSealed" text, "providerFingerprint" text, "operatorSealed" text, "operatorFingerprint" text`;

function sameCredential(row: string, asked: string): string {
  return `${row}.provision = ${asked}.provision and ${row}.provider_node = ${asked}."providerNode"
    and ${row}.provider_module = ${asked}."providerModule" and ${row}.consumer_node = ${asked}."consumerNode"
    and ${row}.consumer_module = ${asked}."consumerModule" and ${row}.local = ${asked}.local`;
}
function sameCredentialRow(one: string, other: string): string {
  return ['provision', 'provider_node', 'provider_module', 'consumer_node', 'consumer_module', 'local']
    .map((column) => `${one}.${column} = ${other}.${column}`)
    .join(' and ');
}
