import { z } from 'zod';
import { moduleName, nodeName, partName } from '../../domain/words/names.ts';
import type { RouteReads, RouteRows } from '../../operations/ports/route-rows.ts';
import type { Query } from '../query.ts';

const domainRow = z.object({ node: nodeName, domain: z.string() });
const labelRow = z.object({ node: nodeName, module: moduleName, listens: partName, label: z.string() });

export function routeReads(query: Query): RouteReads {
  return {
    publicDomains: async () => {
      const rows = await query.rows(
        domainRow,
        `select node, public_domain as domain from mesh.nodes where public_domain is not null order by node`,
      );
      return new Map(rows.map(({ node, domain }) => [node, domain]));
    },
    routeLabels: (node) =>
      query.rows(
        labelRow,
        `select node, module, listens, label from mesh.route_labels
          where $1::text is null or node = $1
          order by node, module, listens`,
        [node ?? null],
      ),
  };
}

export function routeRows(query: Query): RouteRows {
  return {
    ...routeReads(query),
    setPublicDomain: async (node, domain) =>
      (await query.run(`update mesh.nodes set public_domain = $2 where node = $1`, [node, domain ?? null])) === 1,
    putRouteLabel: async ({ node, module, listens, label }) => {
      await query.run(
        `insert into mesh.route_labels (node, module, listens, label) values ($1, $2, $3, $4)
         on conflict (node, module, listens) do update set label = excluded.label`,
        [node, module, listens, label],
      );
    },
    deleteRouteLabel: async ({ node, module }, listens) =>
      (await query.run(`delete from mesh.route_labels where node = $1 and module = $2 and listens = $3`, [
        node,
        module,
        listens,
      ])) === 1,
  };
}
