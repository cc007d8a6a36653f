import type { PairKey } from './credential.ts';
import { overlaps, type CredentialForm } from './overlaps.ts';

/** What a credential is called on its provider (S9). Each is at most 63 bytes, which is where servers cut names off in silence. */
export type Logins = {
  /** The role without login that owns everything. */
  readonly owner: string;
  /** What a shortened owner stands for: `<node>.<module>[.<local>]`. */
  readonly fullName: string;
  /** The role that this generation logs in as: `<owner>_a` or `<owner>_b`. */
  readonly login: string;
  readonly database: string;
};

/** 63, less the two of `_a`. Names are ASCII, so bytes are characters. */
const ownerLimit = 61;
const hashLength = 16;

/**
 * The names of a consumer's roles at its provider. Two consumers never share one: names hold no `.` and no `~`, and a name
 * that is too long ends in a hash of the whole. A form that carries the login alternates by generation, so that two can be
 * granted at once; the password form keeps one login and only its password changes. `hash`: lower-case hex SHA-256 of a text.
 */
export function loginsOf(
  key: Pick<PairKey, 'consumerNode' | 'consumerModule' | 'local'>,
  generation: number,
  form: CredentialForm,
  hash: (text: string) => string,
): Logins {
  const fullName = consumerName(key);
  const owner =
    fullName.length <= ownerLimit
      ? fullName
      : `${fullName.slice(0, ownerLimit - hashLength - 1)}~${hash(fullName).slice(0, hashLength)}`;
  const turn = overlaps(form) && generation % 2 === 0 ? 'b' : 'a';
  return { owner, fullName, login: `${owner}_${turn}`, database: owner };
}

/** `<node>.<module>[.<local>]`: a consumer (and local) as its provider's files and roles are named. */
export function consumerName({
  consumerNode,
  consumerModule,
  local,
}: Pick<PairKey, 'consumerNode' | 'consumerModule' | 'local'>): string {
  return [consumerNode, consumerModule, ...(local === undefined ? [] : [local])].join('.');
}
