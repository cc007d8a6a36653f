/** What routed names are made of beside the modules: each node's public domain, and the labels that the operator set (M23). */
import type { RouteLabel } from '../../domain/provisioning/mesh-routes.ts';
import type { NodeName, PartName, Placed } from '../../domain/words/names.ts';

export type RouteReads = {
  /** Of the nodes that have one. */
  publicDomains(): Promise<ReadonlyMap<NodeName, string>>;
  routeLabels(node?: NodeName): Promise<readonly RouteLabel[]>;
};
export type RouteRows = RouteReads & {
  /** Undefined: it has none any more. False where there is no such node. */
  setPublicDomain(node: NodeName, domain: string | undefined): Promise<boolean>;
  putRouteLabel(label: RouteLabel): Promise<void>;
  deleteRouteLabel(placed: Placed, listens: PartName): Promise<boolean>;
};
