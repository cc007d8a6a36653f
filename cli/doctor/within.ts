import { errorChain } from '../../src/domain/words/error-chain.ts';
import type { Looked } from '../../src/domain/doctor/finding.ts';

/**
 * What came of a look that has `withinMs` for itself. It never throws: what one look meets keeps no other from being made. A look
 * has bounds of its own as well, so that nothing of it goes on when its time is over.
 */
export async function within<Value>(withinMs: number, look: () => Promise<Value>): Promise<Looked<Value>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Looked<Value>>((resolve) => {
    timer = setTimeout(() => resolve({ kind: 'silent', withinMs }), withinMs);
  });
  const came = look().then(
    (value): Looked<Value> => ({ kind: 'seen', value }),
    (fault: unknown): Looked<Value> => ({ kind: 'failed', why: errorChain(fault) }),
  );
  try {
    return await Promise.race([came, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Goes on with what was seen; what was not stays as it is. */
export function mapSeen<Value, Other>(looked: Looked<Value>, make: (value: Value) => Other): Looked<Other> {
  return looked.kind === 'seen' ? { kind: 'seen', value: make(looked.value) } : looked;
}
