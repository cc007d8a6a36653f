import { routeRefusal, type RouteIntent } from '../../domain/provisioning/mesh-routes.ts';
import type { Refusal } from '../../domain/refusal/refusal.ts';
import type { Inventory } from '../../domain/resolution/inventory.ts';
import type { RouteReads } from '../ports/route-rows.ts';

/** What of the intent is to be another one; what is not named stays. */
export type RouteChange = {
  readonly inventory?: Inventory;
  readonly publicDomains?: (domains: RouteIntent['publicDomains']) => RouteIntent['publicDomains'];
  readonly labels?: (labels: RouteIntent['labels']) => RouteIntent['labels'];
};

/** `route-held` or `invalid-name`, where the change would compose a name that another route has, or one that is none (M26). */
export async function routeHeldBy(
  tx: RouteReads,
  inventory: Inventory,
  change: RouteChange,
): Promise<Refusal | undefined> {
  const before = { inventory, publicDomains: await tx.publicDomains(), labels: await tx.routeLabels() };
  return routeRefusal(before, {
    inventory: change.inventory ?? inventory,
    publicDomains: change.publicDomains?.(before.publicDomains) ?? before.publicDomains,
    labels: change.labels?.(before.labels) ?? before.labels,
  });
}
