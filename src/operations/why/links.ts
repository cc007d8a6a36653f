/** The links that every chain of `mesh why` is put together from: each a sentence that holds or does not, and what to do then. */
import { pairPath, type PairKey } from '../../domain/credential/credential.ts';
import { hearing, isStuck } from '../../domain/report/account.ts';
import type { RouteIntent } from '../../domain/provisioning/mesh-routes.ts';
import type { ComposedRoutes } from '../../domain/provisioning/route-names.ts';
import type { Binding, Resolution } from '../../domain/resolution/resolve.ts';
import { indexOf } from '../../domain/resolution/inventory-index.ts';
import type { Inventory, PortRow } from '../../domain/resolution/inventory.ts';
import { walk } from '../../domain/resolution/walk.ts';
import type { NodeName, Placed } from '../../domain/words/names.ts';
import type { JudgedNode } from '../plan/judge-nodes.ts';
import { valueFor } from '../plan/ungranted.ts';
import type { GranterRow } from '../ports/declaration-rows.ts';
import type { PairSecretRow } from '../ports/secret-rows.ts';
import type { EventRow } from '../ports/work.ts';

export type Link = {
  readonly of:
    | 'intent'
    | 'resolution'
    | 'binding'
    | 'port'
    | 'route'
    | 'collection'
    | 'credential'
    | 'sent'
    | 'report'
    | 'granter';
  readonly says: string;
  readonly holds: boolean;
  /** Where it does not hold: what a person runs next. */
  readonly next: readonly string[];
};

/** All that chains are made of, read at one moment. `now`: ms, the controller's clock. */
export type Facts = {
  readonly inventory: Inventory;
  readonly resolution: Resolution;
  /** What routed names are made of, and those that are. */
  readonly routing: RouteIntent;
  readonly routes: ComposedRoutes;
  readonly judged: ReadonlyMap<NodeName, JudgedNode>;
  readonly pairs: readonly PairSecretRow[];
  readonly granters: readonly GranterRow[];
  /** The last event of a kind about a thing, where it is among those that are kept near. */
  readonly event: (kind: string, about: string) => EventRow | undefined;
  readonly now: number;
};

export const holds = (of: Link['of'], says: string): Link => ({ of, says, holds: true, next: [] });
export const fails = (of: Link['of'], says: string, ...next: readonly string[]): Link => ({
  of,
  says,
  holds: false,
  next,
});

const placeOf = ({ node, module }: Placed): string => `${node}/${module}`;
/** Who did it and when, where that is still known. */
export const by = (event: EventRow | undefined): string =>
  event === undefined ? '' : `, by ${event.person} at ${event.at.toISOString()}`;

/** Why a module is on a node, or that it is not. */
export function intentLinks({ inventory, event }: Facts, { node, module }: Placed): readonly Link[] {
  const found = walk(indexOf(inventory), node).modules.find((one) => one.module === module);
  if (found === undefined)
    return [
      fails(
        'intent',
        `${module} is not assigned to ${node}, and nothing there requires it`,
        `mesh assign ${node} ${module}`,
      ),
    ];
  return found.why.map((why) =>
    why.kind === 'assigned'
      ? holds('intent', `${module} is assigned to ${node}${by(event('assigned', placeOf({ node, module })))}`)
      : holds('intent', `${module} is on ${node} because ${why.by} requires ${why.provision} there`),
  );
}

/** Whether the node resolves: a node that does not is sent nothing, whatever of it would be right (D5). */
export function resolutionLinks({ resolution }: Facts, node: NodeName): readonly Link[] {
  const found = resolution.nodes.get(node);
  if (found?.kind !== 'unresolvable') return [holds('resolution', `${node} can be resolved`)];
  return found.refusals.map(({ what, why, next }) => fails('resolution', `${what}: ${why}`, ...next));
}

/** From whom it is taken, and by whose choice. */
export function bindingLink({ inventory }: Facts, { consumer, provision, provider }: Binding): Link {
  const pinned = indexOf(inventory).pin(consumer.node, provision);
  const chosen = pinned === undefined ? 'the only one to provide it when it was bound, or bound before' : 'by a pin';
  return holds('binding', `${placeOf(consumer)} takes ${provision} from ${placeOf(provider)} (${chosen})`);
}

/** The generations of a credential, and what the provider's granter last said of the one in use. */
export function credentialLinks({ pairs, granters }: Facts, key: PairKey): readonly Link[] {
  const path = pairPath(key);
  const its = pairs.filter((row) => pairPath(row.key) === path && row.key.providerModule === key.providerModule);
  const current = its.find(({ stage }) => stage === 'current');
  if (current === undefined)
    return [fails('credential', `${path} was not made yet`, `mesh push ${key.providerNode} ${key.consumerNode}`)];
  const made = holds(
    'credential',
    `${path} is generation ${current.generation}, ${current.origin} at ${current.madeAt.toISOString()}`,
  );
  const status = granters.find(
    ({ node, module, provision }) =>
      node === key.providerNode && module === key.providerModule && provision === key.provision,
  )?.status;
  const entry = status?.entries.find(
    (one) =>
      one.node === key.consumerNode &&
      one.module === key.consumerModule &&
      one.local === key.local &&
      one.generation === current.generation,
  );
  if (status?.fault !== undefined)
    return [
      made,
      fails('granter', `the granter of ${key.provision} on ${key.providerNode} says: ${status.fault}`, 'mesh status'),
    ];
  if (entry === undefined)
    return [
      made,
      fails(
        'granter',
        `${key.providerNode} has not said yet that it grants it`,
        `mesh push ${key.providerNode}`,
        'mesh status',
      ),
    ];
  if (entry.state !== 'granted')
    return [
      made,
      fails(
        'granter',
        `${key.providerNode} says it is ${entry.state}${entry.fault === undefined ? '' : `: ${entry.fault}`}`,
        // Where it is the value that is refused, only another one helps (C34).
        ...(entry.valueRefused === true ? [valueFor(key, current.origin)] : []),
        'mesh status --watch',
      ),
    ];
  return [
    made,
    holds(
      'granter',
      `${key.providerNode} grants it; seen to log in ${entry.seen} ${entry.seen === 1 ? 'time' : 'times'} with this generation`,
    ),
  ];
}

/** What was sent to the node and what it said since; of one module's resources alone where `module` is given. */
export function factLinks({ judged, now }: Facts, node: NodeName, module?: string): readonly Link[] {
  const found = judged.get(node);
  if (found === undefined) return [];
  const { standing, sent, account, composition, node: row } = found;
  if (row.state !== 'joined')
    return [fails('sent', `${node} has not joined yet (${row.state})`, `mesh act show enrol/${node}`)];
  return [
    ...sentLinks(node, standing.told, sent, composition),
    ...(account?.declarationGone === true
      ? [fails('sent', `${node} says that the bus holds it no more; it goes on with it`, `mesh push ${node}`)]
      : []),
    ...(sent === undefined ? [] : reportLinks({ node, module, standing, account, now })),
  ];
}

function sentLinks(
  node: NodeName,
  told: JudgedNode['standing']['told'],
  sent: JudgedNode['sent'],
  composition: JudgedNode['composition'],
): readonly Link[] {
  const was = sent === undefined ? '' : `declaration ${sent.number} was sent at ${sent.sentAt.toISOString()}`;
  switch (told) {
    case 'same':
      return [holds('sent', `${was}, and is what would be sent now`)];
    case 'behind':
      return [fails('sent', `${was}, and another would be sent now`, `mesh plan ${node} --full`, `mesh push ${node}`)];
    case 'never told':
      return [fails('sent', `${node} was never sent anything`, `mesh plan ${node}`, `mesh push ${node}`)];
    case 'unresolvable':
      return composition.kind === 'unresolvable' ? [] : [fails('sent', `${node} is sent nothing`, `mesh plan ${node}`)];
  }
}

function reportLinks(of: {
  readonly node: NodeName;
  readonly module: string | undefined;
  readonly standing: JudgedNode['standing'];
  readonly account: JudgedNode['account'];
  readonly now: number;
}): readonly Link[] {
  const { node, module, standing, account, now } = of;
  if (account === undefined) return [fails('report', `${node} never spoke`, `mesh host   # on ${node}`)];
  const at = new Date(account.receivedAt).toISOString();
  if (standing.report === 'waiting') {
    const quiet = hearing(account, now) === 'quiet';
    const next = quiet ? [`mesh host   # on ${node}, where it seems not to run`] : ['mesh status --watch'];
    return [fails('report', `its last report, at ${at}, is about another declaration`, ...next)];
  }
  const failures = account.failures.filter(({ resource }) => module === undefined || resource.startsWith(`${module}/`));
  const stuck = isStuck(account)
    ? `, stuck since ${new Date(account.failingSince ?? account.receivedAt).toISOString()}`
    : '';
  if (account.refusal !== undefined)
    return [
      fails('report', `${node} refused it (${account.refusal.kind}${stuck}): ${account.refusal.detail}`, 'mesh status'),
    ];
  if (failures.length > 0)
    return failures.map(({ resource, error }) =>
      fails('report', `${resource} failed${stuck}: ${error}`, 'mesh status', `mesh events --about ${node}`),
    );
  const postponed = (account.postponed ?? []).filter((one) => module === undefined || one.module === module);
  if (postponed.length > 0)
    return postponed.map(({ module: which, since, reason, waitsFor }) =>
      fails(
        'report',
        `${which} is postponed since ${since}: ${reason}${waitsFor === undefined ? '' : `; it waits for its build of ${waitsFor.join(' and ')}`}`,
        `mesh provisioner health --node ${node}`,
      ),
    );
  const counts = `${account.applied} of ${account.declared} resources are as declared`;
  if (account.outcome === 'applied' || module !== undefined)
    return [holds('report', `at ${at} it reported that ${module === undefined ? counts : `${module} is as declared`}`)];
  return [fails('report', `at ${at} it reported ${account.outcome}: ${counts}`, 'mesh status')];
}

/** Whose a port is, and who chose its number. */
export const portText = ({ node, module, listens, protocol, port, fixed }: PortRow): string =>
  `${port}/${protocol} of ${node} is ${module}’s, as ${listens}${fixed ? ', fixed by its manifest' : ', assigned by the mesh'}`;
