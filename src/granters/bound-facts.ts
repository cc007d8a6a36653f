/** What a provider's program tells its consumers of their bindings (`<provider-module>_bound`): readable facts, and never a secret. Pure. */
import { canonicalJson } from '../domain/declaration/canonical.ts';
import type { Grant, GrantList } from '../domain/declaration/declaration.ts';
import { boundKeys } from '../domain/provisioning/keys.ts';
import type { Bound } from '../domain/provisioning/values.ts';
import type { GranterEntry } from '../domain/report/report.ts';
import { given } from '../domain/words/given.ts';
import type { LocalName, Placed } from '../domain/words/names.ts';

export type BoundFacts = {
  /** Key → the facts as they are written: of each consumer that is granted. Nothing in them changes by a rotation (S6). */
  readonly wanted: ReadonlyMap<string, string>;
  /** Keys of consumers that were granted and are listed no more. One that is listed and not granted, or not any more, keeps what it has. */
  readonly gone: ReadonlySet<string>;
  /** As all of them say it; by that one's own facts are told from those of another provider of the same name. */
  readonly at: { readonly host: string; readonly port?: number | undefined };
};

type Consumer = Placed & { readonly local?: LocalName | undefined };

/** The facts of a list, by what the granter knows of each login; undefined where the list does not say where the provision is reached. */
export function boundFacts(list: GrantList, entries: readonly GranterEntry[]): BoundFacts | undefined {
  const { at, grants, provision } = list;
  if (at === undefined) return undefined;
  const key = ({ node, module, local }: Consumer): string =>
    boundKeys.of({ node, module, provision, ...given('local', local) });
  const whole = ({ node, module }: Consumer): Consumer => ({ node, module });
  const granted = new Set(entries.filter(({ state }) => state === 'granted').map(nameOf));
  const wanted = new Map<string, string>();
  for (const grant of grants.filter((one) => granted.has(nameOf(one)))) {
    // Of a binding that has local names alone, the place is the fact.
    if (!wanted.has(key(whole(grant)))) wanted.set(key(whole(grant)), textOf(at, undefined));
    wanted.set(key(grant), textOf(at, grant));
  }
  const listed = new Set(grants.flatMap((grant) => [key(grant), key(whole(grant))]));
  const gone = new Set(entries.flatMap((entry) => [key(entry), key(whole(entry))]).filter((one) => !listed.has(one)));
  return { wanted, gone, at };
}

const nameOf = ({ login, generation }: { readonly login: string; readonly generation: number }): string =>
  `${generation} ${login}`;

function textOf({ host, port }: BoundFacts['at'], grant: Grant | undefined): string {
  const facts: Bound = {
    host,
    ...given('port', port),
    ...(grant === undefined ? {} : { database: grant.database, owner: grant.owner }),
    ...(grant?.keepsLogin === true ? { login: grant.login } : {}),
  };
  return canonicalJson(facts);
}
