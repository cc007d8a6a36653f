/** The store does not answer, or takes no writes: the one fault that nothing else of the mesh can be told of, since all of it is there. */
import type { Foundation } from '../src/foundation/foundation.ts';
import type { Store } from '../src/store/store.ts';
import { errorChain } from '../src/domain/words/error-chain.ts';
import { problem, Stopped, type Problem } from './problem.ts';

/** Connections that are refused, cut or not let in; and what PostgreSQL says of itself when it goes, comes or is full of sessions. */
const away = new Set(
  (
    'ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ' +
    '57P01 57P02 57P03 08000 08001 08003 08004 08006 53300'
  ).split(' '),
);
/** It answers, and no change can be written down: made read-only, a standby, a full disk. */
const unwilling = new Set(['25006', '53100', '58030']);

/** What keeps the store from being used, if it is the store that this fault is of; `store-down`. */
export function storeDown(fault: unknown, { host, port }: Foundation['postgres']): Problem | undefined {
  const codes = codesOf(fault);
  const at = `${host}:${port}`;
  if (codes.some((code) => unwilling.has(code)))
    return problem('store-down', {
      what: `the store at ${at} takes no writes: ${errorChain(fault)}`,
      why: 'what is so can be read, and nothing can be changed; acts that were asked for are tried again until it takes them',
      next: [`make its server writable again: ${unwillingly(codes)}`],
      facts: { address: at, takes: 'reads' },
    });
  if (isSilent(fault))
    return problem('store-down', {
      what: `the store takes connections at ${at} and does not answer: ${errorChain(fault)}`,
      why: 'its server is stopped, stuck or overloaded; whether a change that was under way was made is not known before it answers',
      next: ['mesh doctor'],
      facts: { address: at, takes: 'nothing' },
    });
  if (!codes.some((code) => away.has(code)) && !wasCut(fault)) return undefined;
  return problem('store-down', {
    what: `the store does not answer at ${at}: ${errorChain(fault)}`,
    why: 'all that the mesh knows is there; nodes go on with what they were sent, and acts that were asked for go on once it is back',
    next: ['mesh up'],
    facts: { address: at, takes: 'nothing' },
  });
}

function unwillingly(codes: readonly string[]): string {
  return codes.includes('25006') ? 'it is read-only, or a standby' : 'its disk is full, or cannot be written to';
}

/** The codes of a fault and of what is beneath it. */
function codesOf(fault: unknown): readonly string[] {
  if (!(fault instanceof Error)) return [];
  const code = 'code' in fault && typeof fault.code === 'string' ? [fault.code] : [];
  const attempts = fault instanceof AggregateError ? fault.errors.flatMap(codesOf) : [];
  return [...code, ...attempts, ...codesOf(fault.cause)];
}

/** The client has no code for a connection that ended under it, and none for time that is over. */
const wasCut = (fault: unknown): boolean =>
  hasWords(fault, /^Connection terminated|^Client has encountered a connection error/);
const isSilent = (fault: unknown): boolean =>
  hasWords(fault, /^Query read timeout|^timeout exceeded when trying to connect|due to connection timeout/);

function hasWords(fault: unknown, words: RegExp): boolean {
  return fault instanceof Error && (words.test(fault.message) || hasWords(fault.cause, words));
}

/** The same store, whose faults are said as what they are. */
export function sayingStore(store: Store, postgres: Foundation['postgres']): Store {
  const said = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (fault) {
      const down = storeDown(fault, postgres);
      throw down === undefined ? fault : new Stopped(down);
    }
  };
  return {
    write: (person, change, isolation) => said(() => store.write(person, change, isolation)),
    read: (look) => said(() => store.read(look)),
    readNumbered: (look) => said(() => store.readNumbered(look)),
    close: () => store.close(),
  };
}

/** Whether a command ended, or a look failed, because of the store. */
export function isStoreDown(thrown: unknown): thrown is Stopped {
  return thrown instanceof Stopped && thrown.problem.kind === 'store-down';
}

/**
 * Whether the store takes changes: one is written and taken back. Asked only where something does not go through, since it is the
 * reads that work on a store that is full or read-only. Undefined: it does.
 */
export async function refusesWrites(store: Store, person: string): Promise<Problem | undefined> {
  const undone = new Error('taken back');
  try {
    await store.write(person, async (tx) => {
      await tx.event({ kind: 'store-tried', about: 'store' });
      throw undone;
    });
  } catch (thrown) {
    return isStoreDown(thrown) ? thrown.problem : undefined;
  }
  return undefined;
}
