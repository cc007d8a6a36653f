/**
 * Routed names (M23–M26): a module's label under its node's public domain, or a full name of older days. The mesh puts them
 * together and interprets neither. Wildcards are not offered: a routed name is one name.
 */
import { z } from 'zod';
import type { Refusal } from '../refusal/refusal.ts';
import type { ModuleName, NodeName, PartName } from '../words/names.ts';
import { isInternational } from './international.ts';

const label = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const names = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/;
const nameLimit = 253;

/** M24. Why a text is no DNS label, with what to write; undefined where it is one. */
export function labelFault(text: string): string | undefined {
  if (!label.test(text))
    return `${JSON.stringify(text)} is not a DNS label: write 1 to 63 letters, digits and inner hyphens (an international name as its xn-- form)`;
  if (/^xn--/i.test(text) && !isInternational(text.slice(4)))
    return `${JSON.stringify(text)} begins with xn-- and is no international name; write its xn-- form as your registrar shows it`;
  return undefined;
}

/** C91. Why a text is no full name that a public host can have; undefined where it is one. */
export function hostNameFault(text: string): string | undefined {
  const says = (what: string, write: string): string => `${JSON.stringify(text)} ${what}: write ${write}`;
  const example = 'a full DNS name, like notes.example.org';
  if (text.includes('://')) return says('is an address with a scheme', `${example}, without the scheme`);
  if (text.includes('/')) return says('has a path', `${example}, without the path`);
  if (/^\d{1,3}(?:\.\d{1,3}){3}$/.test(text) || text.includes('[') || /:.*:/.test(text))
    return says('is an address of a machine', example);
  if (text.includes(':')) return says('has a port', `${example}, without the port`);
  if (text.includes('*')) return says('is a wildcard, which the mesh does not offer', `${example}, one for each route`);
  if (text.length > nameLimit) return says(`has ${text.length} letters`, `a name of at most ${nameLimit}`);
  const labels = text.split('.');
  if (labels.includes(''))
    return says('has an empty label', `${example}, one dot between two labels and none at the ends`);
  const wrong = labels.map(labelFault).find((fault) => fault !== undefined);
  if (wrong !== undefined)
    return text.includes('_')
      ? says('holds an underscore, for which no certificate is given out', 'letters, digits and inner hyphens')
      : says(`is not a full DNS name: ${wrong.slice(0, wrong.indexOf(': '))}`, example);
  if (labels.length < 2) return says('is a single label, which no public name is', example);
  if (/^\d+$/.test(labels.at(-1) ?? '')) return says('ends in a label of digits alone', example);
  return undefined;
}

const notA = (fault: (text: string) => string | undefined) => ({
  error: (issue: { readonly input?: unknown }) => fault(String(issue.input)) ?? 'is not a DNS name',
});
/** M24. A label as a manifest or an operator writes it; the letter case is kept and makes no difference. */
export const routeLabel = z
  .string()
  .regex(label, notA(labelFault))
  // What the pattern refused was said already.
  .refine((text) => !label.test(text) || labelFault(text) === undefined, notA(labelFault));
/** A full name: a legacy route, or a node's public domain. */
export const routedName = z
  .string()
  .regex(names, notA(hostNameFault))
  .refine((text) => !names.test(text) || hostNameFault(text) === undefined, notA(hostNameFault));

/** A route as its module declares it on one node; `label` is the operator's where one is set for the assignment (M23). */
export type DeclaredRoute = {
  readonly node: NodeName;
  readonly module: ModuleName;
  readonly listens: PartName;
  readonly label?: string | undefined;
  readonly name?: string | undefined;
};
/** A route with its name. */
export type Route = {
  readonly node: NodeName;
  readonly module: ModuleName;
  readonly listens: PartName;
  readonly name: string;
};
export type ComposedRoutes = {
  readonly routes: readonly Route[];
  /** M23. Labels on nodes without a public domain: nothing is composed of them, and the plan says so. */
  readonly unnamed: readonly { readonly node: NodeName; readonly module: ModuleName; readonly says: string }[];
  /** `route-held` (M26) and `invalid-name`: those routes are not composed. */
  readonly refusals: readonly Refusal[];
};

/**
 * Composes the names of routes, in their order: of two that would have one name in any letter case, the later is refused by name
 * (M26), so whoever asks puts those that stand first. `domains`: the public domain of each node that has one.
 */
export function composeRoutes(
  declared: readonly DeclaredRoute[],
  domains: ReadonlyMap<NodeName, string>,
): ComposedRoutes {
  const routes: Route[] = [];
  const unnamed: { node: NodeName; module: ModuleName; says: string }[] = [];
  const refusals: Refusal[] = [];
  const holders = new Map<string, Route>();
  for (const one of declared) {
    const { node, module, listens } = one;
    const name = nameOf(one, domains);
    if (name === undefined) {
      unnamed.push({ node, module, says: unnamedSays(one) });
      continue;
    }
    const fault = hostNameFault(name);
    const holder = holders.get(name.toLowerCase());
    if (fault !== undefined) refusals.push(badName(one, name, fault));
    else if (holder !== undefined) refusals.push(held(name, one, holder));
    else {
      const route = { node, module, listens, name };
      holders.set(name.toLowerCase(), route);
      routes.push(route);
    }
  }
  return { routes, unnamed, refusals };
}

/** The name of a route; undefined where it has a label alone and its node no public domain (M23). */
export function nameOf(
  { node, label: written, name }: DeclaredRoute,
  domains: ReadonlyMap<NodeName, string>,
): string | undefined {
  const domain = domains.get(node);
  return name ?? (written === undefined || domain === undefined ? undefined : `${written}.${domain}`);
}

function unnamedSays({ node, module, label: written }: DeclaredRoute): string {
  return `${module} on ${node} is routed as ${written ?? 'nothing'}, and ${node} has no public domain: no name is composed`;
}

function held(name: string, one: DeclaredRoute, holder: Route): Refusal {
  return {
    kind: 'route-held',
    what: `${holder.name} is the name of ${holder.module} on ${holder.node}, and ${name} would be that of ${one.module} on ${one.node}`,
    why: 'a name leads to one place, and its letter case makes no difference',
    next: [another(one)],
    facts: { name, node: one.node, module: one.module, holder: `${holder.node}/${holder.module}` },
  };
}

/** How a route comes to another name. */
function another({ node, module, listens, name }: DeclaredRoute): string {
  return name === undefined
    ? `mesh set ${node}/${module} ${listens}=LABEL --label`
    : `write another name for the route in the manifest of ${module}`;
}

function badName(one: DeclaredRoute, name: string, fault: string): Refusal {
  const { node, module } = one;
  return {
    kind: 'invalid-name',
    what: `the routed name of ${module} on ${node}: ${fault}`,
    why: 'what is no name of a public host is never reached',
    next: [another(one), `mesh node set ${node} public-domain=DOMAIN`],
    facts: { name, node, module },
  };
}

const hashLength = 10;

/**
 * A DNS label made up of several names (C93), the first of them readable in it: 1 to 63 lower-case letters, digits and inner hyphens.
 * The same parts give the same label, and other parts another one, because it ends in a hash of them all, boundaries included.
 * `hash`: lower-case hex SHA-256 of a text.
 */
export function madeUpLabel(parts: readonly string[], hash: (text: string) => string): string {
  const readable = parts
    .join('-')
    .toLowerCase()
    // No run of hyphens is left, so that it never begins with xn--.
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 63 - hashLength - 1)
    .replace(/-$/, '');
  const end = hash(JSON.stringify(parts)).slice(0, hashLength);
  return readable === '' ? end : `${readable}-${end}`;
}
