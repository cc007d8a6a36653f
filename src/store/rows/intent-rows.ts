/** What a person intends, and what the mesh gave it: assignments, ports, claims, bindings, pins, settings. */
import { z } from 'zod';
import { moduleName, nodeName, partName, provisionName } from '../../domain/words/names.ts';
import type { IntentReads, IntentRows } from '../../operations/ports/module-rows.ts';
import type { Query } from '../query.ts';

const placed = { node: nodeName, module: moduleName };
const portRow = z.object({
  ...placed,
  listens: partName,
  protocol: z.enum(['tcp', 'udp']),
  port: z.int(),
  fixed: z.boolean(),
});
const claimRow = z.object({ ...placed, name: z.string(), place: z.string() });
const settingRow = z.object({ ...placed, name: partName, value: z.unknown() });
const bindingRow = z
  .object({ ...placed, provision: provisionName, providerNode: nodeName, providerModule: moduleName })
  .transform(({ providerNode, providerModule, ...row }) => ({
    ...row,
    provider: { node: providerNode, module: providerModule },
  }));
const pinRow = z
  .object({
    node: nodeName,
    provision: provisionName,
    providerNode: nodeName,
    providerModule: moduleName.exactOptional(),
  })
  .transform(({ node, provision, providerNode, providerModule }) => ({
    node,
    provision,
    provider: providerModule === undefined ? { node: providerNode } : { node: providerNode, module: providerModule },
  }));

const portColumns = `node, module, listens, protocol, port, fixed`;
const portRecord = `node text, module text, listens text, protocol text, port int, fixed boolean`;

/**
 * Of a port `p` that was given back: the node was sent something, and its last word is not yet that it runs, whole, what it was
 * last sent, or that still has the module in it.
 */
const mayStillBeUsed = `exists (
  select from mesh.sent_declarations s
   where s.node = p.node
     and (not exists (select from mesh.reports r
                       where r.node = s.node and r.digest = s.digest and r.number = s.number
                         and r.outcome = 'applied' and r.applied >= r.declared)
          or exists (select from jsonb_object_keys(s.resources) as resource (id) where starts_with(resource.id, p.module || '/'))))`;

export function intentReads(query: Query): IntentReads {
  return {
    bindingRows: () =>
      query.rows(
        bindingRow,
        `select node, module, provision, provider_node as "providerNode", provider_module as "providerModule"
           from mesh.bindings order by node, module, provision`,
      ),
    claimRows: () => query.rows(claimRow, `select name, place, node, module from mesh.claims order by name, place`),
    portRows: (node) =>
      query.rows(
        portRow,
        `select ${portColumns} from mesh.ports p
          where released_at is null and ($1::text is null or node = $1)
          order by node, module, listens, protocol`,
        [node ?? null],
      ),
    releasedPorts: (node) =>
      query.rows(
        portRow,
        `select ${portColumns} from mesh.ports p
          where released_at is not null and ($1::text is null or node = $1) and ${mayStillBeUsed}
          order by node, module, listens, protocol`,
        [node ?? null],
      ),
    settingRows: (node) =>
      query.rows(
        settingRow,
        `select node, module, name, value from mesh.settings
          where $1::text is null or node = $1
          order by node, module, name`,
        [node ?? null],
      ),
  };
}

export function intentRows(query: Query): IntentRows {
  return {
    ...intentReads(query),
    insertAssignment: async ({ node, module }) =>
      (await query.run(`insert into mesh.assignments (node, module) values ($1, $2) on conflict do nothing`, [
        node,
        module,
      ])) === 1,
    deleteAssignment: async ({ node, module }) =>
      (await query.run(`delete from mesh.assignments where node = $1 and module = $2`, [node, module])) === 1,
    insertPorts: async (ports) => {
      const rows = JSON.stringify(ports);
      await query.run(
        `delete from mesh.ports p
          using jsonb_to_recordset($1::jsonb) as n (${portRecord})
          where p.node = n.node and p.protocol = n.protocol and p.port = n.port
            and p.released_at is not null and (p.module = n.module or not ${mayStillBeUsed})`,
        [rows],
      );
      await query.run(
        `insert into mesh.ports (node, module, listens, protocol, port, fixed)
         select * from jsonb_to_recordset($1::jsonb) as n (${portRecord})`,
        [rows],
      );
    },
    releasePorts: async (ports) => {
      const nodes = ports.map(({ node }) => node);
      await query.run(
        `update mesh.ports p set released_at = now()
           from jsonb_to_recordset($1::jsonb) as n (${portRecord})
          where p.node = n.node and p.protocol = n.protocol and p.port = n.port and p.module = n.module`,
        [JSON.stringify(ports)],
      );
      await query.run(
        `delete from mesh.ports p
          where node = any ($1::text[]) and released_at is not null and not ${mayStillBeUsed}`,
        [nodes],
      );
    },
    insertClaims: async (claims) => {
      await query.run(
        `insert into mesh.claims (name, place, node, module)
         select * from jsonb_to_recordset($1::jsonb) as c (name text, place text, node text, module text)`,
        [JSON.stringify(claims)],
      );
    },
    deleteClaims: async (claims) => {
      await query.run(
        `delete from mesh.claims c
          using jsonb_to_recordset($1::jsonb) as g (name text, place text)
          where c.name = g.name and c.place = g.place`,
        [JSON.stringify(claims)],
      );
    },
    putBindings: async (bindings) => {
      await query.run(
        `insert into mesh.bindings (node, module, provision, provider_node, provider_module)
         select * from jsonb_to_recordset($1::jsonb)
           as b (node text, module text, provision text, "providerNode" text, "providerModule" text)
         on conflict (node, module, provision) do update
            set provider_node = excluded.provider_node, provider_module = excluded.provider_module`,
        [
          JSON.stringify(
            bindings.map(({ node, module, provision, provider }) => ({
              node,
              module,
              provision,
              providerNode: provider.node,
              providerModule: provider.module,
            })),
          ),
        ],
      );
    },
    deleteBindings: async (bindings) => {
      await query.run(
        `delete from mesh.bindings b
          using jsonb_to_recordset($1::jsonb) as g (node text, module text, provision text)
          where b.node = g.node and b.module = g.module and b.provision = g.provision`,
        [JSON.stringify(bindings)],
      );
    },
    putPin: async ({ node, provision, provider }) => {
      await query.run(
        `insert into mesh.pins (node, provision, provider_node, provider_module) values ($1, $2, $3, $4)
         on conflict (node, provision) do update
            set provider_node = excluded.provider_node, provider_module = excluded.provider_module`,
        [node, provision, provider.node, provider.module ?? null],
      );
    },
    deletePin: (node, provision) =>
      query.first(
        pinRow,
        `delete from mesh.pins where node = $1 and provision = $2
         returning node, provision, provider_node as "providerNode", provider_module as "providerModule"`,
        [node, provision],
      ),
    putSetting: async ({ node, module, name, value }) => {
      await query.run(
        `insert into mesh.settings (node, module, name, value) values ($1, $2, $3, $4)
         on conflict (node, module, name) do update set value = excluded.value`,
        [node, module, name, JSON.stringify(value)],
      );
    },
    deleteSetting: async ({ node, module }, name) =>
      (await query.run(`delete from mesh.settings where node = $1 and module = $2 and name = $3`, [
        node,
        module,
        name,
      ])) === 1,
  };
}
