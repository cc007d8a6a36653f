import { ownPath, pairPath } from '../../domain/credential/credential.ts';
import { routesOf } from '../../domain/provisioning/mesh-routes.ts';
import type { Refusal } from '../../domain/refusal/refusal.ts';
import { indexOf } from '../../domain/resolution/inventory-index.ts';
import type { PortRow } from '../../domain/resolution/inventory.ts';
import { resolve, type Binding } from '../../domain/resolution/resolve.ts';
import { walk } from '../../domain/resolution/walk.ts';
import type { ModuleName, NodeName, Placed } from '../../domain/words/names.ts';
import { judgeNodes, type Hash, type StandingReads } from '../plan/judge-nodes.ts';
import type { RouteReads } from '../ports/route-rows.ts';
import type { IntentReads } from '../ports/module-rows.ts';
import type { SecretReads } from '../ports/secret-rows.ts';
import type { EventReads, Reads } from '../ports/work.ts';
import {
  bindingLink,
  credentialLinks,
  factLinks,
  fails,
  holds,
  intentLinks,
  portText,
  resolutionLinks,
  type Facts,
  type Link,
} from './links.ts';
import { routeChain, routeLinks } from './routes.ts';

export type Why = {
  readonly thing: string;
  readonly kind: 'node' | 'module' | 'module on a node' | 'binding' | 'port' | 'route' | 'credential' | 'own secret';
  /** From what was intended to what is so. */
  readonly links: readonly Link[];
  /** Of the first link that does not hold; none when all do. */
  readonly next: readonly string[];
};

type View = StandingReads & SecretReads & IntentReads & RouteReads & EventReads;

/**
 * One chain from intent to fact about a node, a module, `NODE/MODULE`, a binding (`NODE/MODULE/PROVISION`), a port (`NODE:PORT`), a routed
 * name or a secret as `mesh secret list` names it, made of the reads that plan and status are made of. Refused as `unknown-thing`.
 */
export function why(store: Reads<View>, hash: Hash, now: number, thing: string): Promise<Why | Refusal> {
  return store.read(async (view) => {
    const facts = await factsOf(view, hash, now);
    const found = chainOf(facts, thing, await view.releasedPorts()) ?? (await ownSecret(view, facts, thing));
    if (found === undefined) return unknownThing(thing);
    return { thing, ...found, next: found.links.find((link) => !link.holds)?.next ?? [] };
  });
}

type Chain = Pick<Why, 'kind' | 'links'>;

async function factsOf(view: View, hash: Hash, now: number): Promise<Facts> {
  const inventory = await view.inventory();
  const routing = { inventory, publicDomains: await view.publicDomains(), labels: await view.routeLabels() };
  const events = await view.eventRows({ limit: 1_000 });
  return {
    inventory,
    resolution: resolve(inventory),
    routing,
    routes: routesOf(routing),
    judged: new Map(
      (await judgeNodes({ ...view, inventory: async () => inventory }, hash)).map((one) => [one.node.node, one]),
    ),
    pairs: await view.pairSecretRows(),
    granters: await view.granterRows(),
    event: (kind, about) => events.find((one) => one.kind === kind && one.about === about),
    now,
  };
}

function chainOf(facts: Facts, thing: string, leaving: readonly PortRow[]): Chain | undefined {
  const nodes = facts.inventory.nodes.map(({ name }) => name);
  const modules = facts.inventory.modules.map(({ manifest }) => manifest.module);
  const node = nodes.find((name) => name === thing);
  if (node !== undefined) return { kind: 'node', links: nodeLinks(facts, node) };
  const module = modules.find((name) => name === thing);
  if (module !== undefined) return { kind: 'module', links: moduleLinks(facts, module) };
  const named = routeChain(facts, thing);
  if (named !== undefined) return named;
  const [at, ...port] = thing.split(':');
  const portNode = nodes.find((name) => name === at);
  if (portNode !== undefined && port.length === 1) return portChain(facts, portNode, port[0] ?? '', leaving);
  const parts = thing.split('/');
  const placed = { node: nodes.find((name) => name === parts[0]), module: modules.find((name) => name === parts[1]) };
  const pair = facts.pairs.find(({ key }) => pairPath(key) === thing);
  if (pair !== undefined) {
    const { key } = pair;
    const links = [...credentialLinks(facts, key), ...factLinks(facts, key.consumerNode, key.consumerModule)];
    return { kind: 'credential', links };
  }
  if (placed.node === undefined || placed.module === undefined) return undefined;
  const whole: Placed = { node: placed.node, module: placed.module };
  if (parts.length === 2) return { kind: 'module on a node', links: placedLinks(facts, whole) };
  return parts.length === 3 ? bindingChain(facts, whole, parts[2] ?? '') : undefined;
}

function nodeLinks(facts: Facts, node: NodeName): readonly Link[] {
  const on = walk(indexOf(facts.inventory), node).modules.map(({ module }) => module);
  const intent = on.length === 0 ? `nothing is assigned to ${node}` : `on ${node}: ${on.join(', ')}`;
  return [holds('intent', intent), ...resolutionLinks(facts, node), ...factLinks(facts, node)];
}

function moduleLinks(facts: Facts, module: ModuleName): readonly Link[] {
  const places = facts.inventory.nodes
    .map(({ name }) => name)
    .filter((node) => walk(indexOf(facts.inventory), node).modules.some((one) => one.module === module));
  if (places.length === 0)
    return [fails('intent', `${module} is in the catalogue and on no node`, `mesh assign NODE ${module}`)];
  return places.flatMap((node) => placedLinks(facts, { node, module }));
}

function placedLinks(facts: Facts, placed: Placed): readonly Link[] {
  const intent = intentLinks(facts, placed);
  if (intent.some((link) => !link.holds)) return intent;
  const ports = facts.inventory.ports.filter((row) => row.node === placed.node && row.module === placed.module);
  return [
    ...intent,
    ...resolutionLinks(facts, placed.node),
    ...bindingsOf(facts, placed).flatMap((binding) => boundLinks(facts, binding)),
    ...ports.map((row) => holds('port', portText(row))),
    ...routeLinks(facts, placed),
    ...factLinks(facts, placed.node, placed.module),
  ];
}

const bindingsOf = ({ resolution }: Facts, { node, module }: Placed): readonly Binding[] =>
  (resolution.nodes.get(node)?.bindings ?? []).filter(({ consumer }) => consumer.module === module);

/** A binding, and the credentials that come with it. */
function boundLinks(facts: Facts, binding: Binding): readonly Link[] {
  const { consumer, provision } = binding;
  const needs = facts.resolution.nodes.get(consumer.node)?.needs ?? [];
  const its = needs.filter(({ key }) => key.consumerModule === consumer.module && key.provision === provision);
  return [bindingLink(facts, binding), ...its.flatMap(({ key }) => credentialLinks(facts, key))];
}

function bindingChain(facts: Facts, placed: Placed, provision: string): Chain | undefined {
  const known = indexOf(facts.inventory).modules.get(placed.module)?.manifest;
  const required = known?.requires.find((name) => name === provision);
  if (required === undefined) return undefined;
  const requires = holds('intent', `${placed.module} requires ${required}`);
  const bound = bindingsOf(facts, placed).find((binding) => binding.provision === required);
  const links = bound === undefined ? resolutionLinks(facts, placed.node) : boundLinks(facts, bound);
  const ends =
    bound === undefined
      ? []
      : [
          ...factLinks(facts, bound.provider.node, bound.provider.module),
          ...factLinks(facts, placed.node, placed.module),
        ];
  return { kind: 'binding', links: [...intentLinks(facts, placed), requires, ...links, ...ends] };
}

function portChain(facts: Facts, node: NodeName, written: string, leaving: readonly PortRow[]): Chain | undefined {
  const [digits = '', protocol = 'tcp'] = written.split('/');
  if (!/^\d{1,5}$/.test(digits)) return undefined;
  const port = Number(digits);
  const isIt = (row: { readonly protocol: string; readonly port: number }): boolean =>
    row.port === port && row.protocol === protocol;
  const held = facts.inventory.ports.find((row) => row.node === node && isIt(row));
  if (held !== undefined) {
    const links = [...intentLinks(facts, held), holds('port', portText(held)), ...factLinks(facts, node, held.module)];
    return { kind: 'port', links };
  }
  const left = leaving.find((row) => row.node === node && isIt(row));
  if (left !== undefined) {
    const says = `${written} of ${node} was ${left.module}’s, and ${node} has not confirmed that it runs without it`;
    return { kind: 'port', links: [fails('port', says, `mesh push ${node}`), ...factLinks(facts, node)] };
  }
  const carried = indexOf(facts.inventory).nodes.get(node)?.carriedPorts.some(isIt) === true;
  const says = carried ? `${written} of ${node} is carried by the node itself` : `${written} of ${node} is nobody’s`;
  return { kind: 'port', links: [holds('port', says)] };
}

async function ownSecret(view: SecretReads, facts: Facts, thing: string): Promise<Chain | undefined> {
  const row = (await view.ownSecretRows()).find(({ key }) => ownPath(key) === thing);
  if (row === undefined) return undefined;
  const made = holds('credential', `${thing} was ${row.origin} at ${row.madeAt.toISOString()}`);
  return {
    kind: 'own secret',
    links: [...intentLinks(facts, row.key), made, ...factLinks(facts, row.key.node, row.key.module)],
  };
}

function unknownThing(thing: string): Refusal {
  return {
    kind: 'unknown-thing',
    what: `${JSON.stringify(thing)} is nothing that this mesh has`,
    why: 'why is asked of a node, a module, NODE/MODULE, NODE/MODULE/PROVISION, NODE:PORT, a routed name, or a secret as mesh secret list names it',
    next: ['mesh node list', 'mesh module list', 'mesh secret list'],
    facts: { thing },
  };
}
