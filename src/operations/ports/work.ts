/**
 * The unit of work: what every operation asks of the store. Each operation names only the rows that it touches;
 * the store offers all of them, and whoever constructs both passes the one to the other.
 */

/** `serializable` where an answer rests on rows that another writer may be changing: the change is then run again. */
export type Isolation = 'read committed' | 'serializable';

/** One transaction. It may run `change` more than once, so `change` does nothing but through `tx`. */
export type Writes<Tx> = {
  /** Answering a Refusal rolls everything back: refused means nothing changed. So does throwing. */
  write<T>(person: string, change: (tx: Tx) => Promise<T>, isolation?: Isolation): Promise<T>;
};

/** One repeatable-read, read-only snapshot: all that is read in it was so at one moment. */
export type Reads<View> = {
  read<T>(look: (view: View) => Promise<T>): Promise<T>;
};

/** A snapshot with a declaration number of its own; of two, the higher number saw the later world (D4). */
export type ReadsNumbered<View> = {
  readNumbered<T>(look: (view: View) => Promise<T>): Promise<{ readonly number: number; readonly seen: T }>;
};

/** What happened, to what, in names, numbers and digests; never a value. */
export type NewEvent = {
  readonly kind: string;
  readonly about: string;
  readonly detail?: Detail;
  /** Who asked for it, where that is not who writes: an act writes for the person that started it. */
  readonly person?: string;
};
/** Names, numbers, digests, and lists of them. */
export type Detail = Readonly<Record<string, unknown>>;
/** Who writes when nobody asked: the controller, of what it was told. */
export const controller = 'controller';

/** Events are written in the transaction of what they tell of: no change without its event, no event without its change. */
export type EventRows = {
  event(event: NewEvent): Promise<void>;
  events(events: readonly NewEvent[]): Promise<void>;
};

export type EventRow = NewEvent & {
  readonly id: number;
  readonly at: Date;
  readonly person: string;
  readonly detail: Detail;
};
export type EventReads = {
  /** The newest first; `before` is an id to go on from. */
  eventRows(page: {
    readonly limit: number;
    readonly before?: number;
    readonly about?: string;
  }): Promise<readonly EventRow[]>;
};

/** A text that is another one after anything was written, by whomever: two that are the same saw the same world. */
export type MarkReads = { mark(): Promise<string> };
