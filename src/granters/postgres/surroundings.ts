/** What the three parts of a pass share: withdrawing, granting, watching. */
import type { Grant } from '../../domain/declaration/declaration.ts';
import type { Directory } from './directory.ts';
import type { Entries } from './entries.ts';
import type { Provider } from './grant-access.ts';
import type { Retries } from './retries.ts';
import type { LoginRow } from './seen-logins.ts';

/** A grant that this connection made sure of. */
export type Held = { readonly grant: Grant; readonly digest: string; readonly row: LoginRow };

export type Surroundings = {
  readonly provider: Provider;
  readonly directory: Directory;
  readonly entries: Entries;
  /** By login. */
  readonly held: Map<string, Held>;
  readonly retries: Retries;
  /** Called after each change of an entry, so that an act that waits is told at once and not at the end of the pass. */
  readonly changed: () => void;
  readonly nowMs: () => number;
};
