import { differenceOf, type Difference } from '../../domain/declaration/difference.ts';
import type { SecretNeed } from '../../domain/credential/secrets-to-make.ts';
import type { Refusal } from '../../domain/refusal/refusal.ts';
import type { Standing } from '../../domain/report/account.ts';
import { routesOf, unroutedOn, type Unrouted } from '../../domain/provisioning/mesh-routes.ts';
import type { ComposedRoutes, Route } from '../../domain/provisioning/route-names.ts';
import type { Binding } from '../../domain/resolution/resolve.ts';
import { given } from '../../domain/words/given.ts';
import type { NodeName } from '../../domain/words/names.ts';
import type { SentRow } from '../ports/declaration-rows.ts';
import type { NodeState } from '../ports/node-rows.ts';
import type { RouteReads } from '../ports/route-rows.ts';
import type { Reads } from '../ports/work.ts';
import { unknownNode } from '../node/invite-node.ts';
import { judgeNodes, type Hash, type JudgedNode, type StandingReads } from './judge-nodes.ts';

/** What a push would do to one node. */
export type NodePlan = {
  readonly node: NodeName;
  readonly state: NodeState;
  readonly standing: Standing;
} & (
  | {
      readonly kind: 'resolvable';
      /** Of the declaration that would be sent now. While `wouldMake` is not empty, what is made first will change it. */
      readonly digest: string;
      /** Against what was last sent, by the digests of resources; against nothing when nothing was sent (D6). */
      readonly difference: Difference;
      /** What it was last sent, as it was recorded: the digest of the whole, and of each resource that may differ from it. */
      readonly sent?: { readonly digest: string; readonly resources: ReadonlyMap<string, string> };
      /** Resource id → canonical JSON of what would be sent now. */
      readonly would: ReadonlyMap<string, string>;
      /** What it takes from other nodes, provision by provision (M6). */
      readonly takes: readonly Binding[];
      /** The names under which its routes are reached. */
      readonly routes: readonly Route[];
      /** Routes that come to no name, and why: a label on a node without a public domain (M23), or a name that another has (M26). */
      readonly unrouted: readonly Unrouted[];
      /** Secrets that a push would make first (S3). */
      readonly wouldMake: readonly SecretNeed[];
    }
  | { readonly kind: 'unresolvable'; readonly refusals: readonly Refusal[] }
);

export type Plan = {
  readonly nodes: readonly NodePlan[];
  /** Whether a push would change anything: what `--detailed-exitcode` tells (U1). */
  readonly hasChanges: boolean;
};

/**
 * What a push would change, resource by resource (D6), and why a node would be sent nothing (D5). Made of one snapshot; writes
 * nothing and makes no secret (S3). Refused as `unknown-node`.
 */
export function planNodes(
  store: Reads<StandingReads & RouteReads>,
  hash: Hash,
  nodes?: readonly NodeName[],
): Promise<Plan | Refusal> {
  return store.read(async (view) => {
    const inventory = await view.inventory();
    // Of the same inventory: it is most of what is read.
    const judged = await judgeNodes({ ...view, inventory: async () => inventory }, hash, nodes);
    const missing = nodes?.find((name) => !judged.some(({ node }) => node.node === name));
    if (missing !== undefined) return unknownNode(missing);
    const behind = judged.filter(({ composition, sent }) => sent !== undefined && isBehind(composition, sent));
    const resources = await view.sentResources(behind.map(({ node }) => node.node));
    const routes = routesOf({
      inventory,
      publicDomains: await view.publicDomains(),
      labels: await view.routeLabels(),
    });
    const planned = judged.map((one) => planOf(one, resources.get(one.node.node) ?? new Map(), routes, hash));
    return { nodes: planned, hasChanges: planned.some(changes) };
  });
}

const isBehind = (composition: JudgedNode['composition'], sent: SentRow): boolean =>
  composition.kind === 'composed' && composition.digest !== sent.digest;

/** `last`: resource id → digest, of what was last sent. */
function planOf(
  { node, composition, standing, sent }: JudgedNode,
  last: ReadonlyMap<string, string>,
  routes: ComposedRoutes,
  hash: Hash,
): NodePlan {
  const common = { node: node.node, state: node.state, standing };
  if (composition.kind === 'unresolvable') return { ...common, kind: 'unresolvable', refusals: composition.refusals };
  const { digest, takes, wouldMake, resources } = composition;
  const difference = sent?.digest === digest ? noDifference : differenceFrom(last, resources, hash);
  return {
    ...common,
    kind: 'resolvable',
    digest,
    difference,
    ...given('sent', sent && { digest: sent.digest, resources: last }),
    would: resources,
    takes,
    routes: routes.routes.filter((one) => one.node === node.node),
    unrouted: unroutedOn(routes, node.node),
    wouldMake,
  };
}

const noDifference: Difference = { added: [], changed: [], removed: [] };

function differenceFrom(
  last: ReadonlyMap<string, string>,
  resources: ReadonlyMap<string, string>,
  hash: Hash,
): Difference {
  return differenceOf(last, new Map([...resources].map(([id, text]) => [id, `sha256:${hash(text)}`])));
}

function changes(plan: NodePlan): boolean {
  return plan.kind === 'resolvable' && (plan.standing.told !== 'same' || plan.wouldMake.length > 0);
}
