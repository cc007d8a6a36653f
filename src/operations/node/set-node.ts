import type { Refusal } from '../../domain/refusal/refusal.ts';
import { given } from '../../domain/words/given.ts';
import type { NodeName } from '../../domain/words/names.ts';
import { routeHeldBy } from '../intent/route-held.ts';
import type { InventoryReads } from '../ports/declaration-rows.ts';
import type { RouteRows } from '../ports/route-rows.ts';
import type { EventRows, Writes } from '../ports/work.ts';
import { unknownNode } from './invite-node.ts';

export type NodeSet = { readonly node: NodeName; readonly publicDomain?: string };

/**
 * Says under which public domain the labels of a node's routes are names (M23), or that it has none (`domain` undefined). Refusals:
 * `unknown-node`, and `route-held` or `invalid-name` for a name that would come of it (M26); nothing is changed then.
 */
export function setPublicDomain(
  store: Writes<InventoryReads & RouteRows & EventRows>,
  person: string,
  node: NodeName,
  domain: string | undefined,
): Promise<NodeSet | Refusal> {
  return store.write(
    person,
    async (tx) => {
      const held = await routeHeldBy(tx, await tx.inventory(), {
        publicDomains: (domains) =>
          new Map([
            ...[...domains].filter(([one]) => one !== node),
            ...(domain === undefined ? [] : [[node, domain] as const]),
          ]),
      });
      if (held !== undefined) return held;
      if (!(await tx.setPublicDomain(node, domain))) return unknownNode(node);
      const set = given('publicDomain', domain);
      await tx.event({ kind: domain === undefined ? 'node-unset' : 'node-set', about: node, detail: set });
      return { node, ...set };
    },
    'serializable',
  );
}
