import { z } from 'zod';

/**
 * Why the bus did not do what it was asked; each way looks different and is never told as another (C79, C80, C81).
 * `denied`: this credential may not. `nobody`: nobody serves the subject. `timeout`: no answer, it may still have
 * happened. `full`: the stream takes no more. `too-big`: over a limit, nothing was sent. `bad-key`: a bucket has no such keys, nothing
 * was sent. `closed`: the connection is.
 */
export type BusFaultReason =
  'denied' | 'nobody' | 'timeout' | 'full' | 'too-big' | 'bad-key' | 'closed' | 'unreadable' | 'other';

export class BusFault extends Error {
  readonly reason: BusFaultReason;
  readonly subject: string;
  constructor(reason: BusFaultReason, subject: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'BusFault';
    this.reason = reason;
    this.subject = subject;
  }
}

const sayings: Readonly<Record<BusFaultReason, string>> = {
  denied: 'the bus forbids this credential',
  nobody: 'nobody serves',
  timeout: 'nobody answered in time on',
  full: 'the store is full: it takes no more on',
  'too-big': 'the message is over a limit of',
  'bad-key': 'no such key can be in',
  closed: 'the connection was closed before',
  unreadable: 'the answer cannot be read on',
  other: 'the bus refused',
};

const coded = z.object({ code: z.string() });
const refused = z.object({ api_error: z.object({ err_code: z.int(), description: z.string().optional() }) });

/** `insufficient storage`, `maximum bytes`, `maximum messages`, `insufficient resources`: all say that no room is left. */
const fullCodes = new Set([10_023, 10_047, 10_028, 10_122]);
const storeFailedCode = 10_077;
const messageTooLongCode = 10_054;

/** JetStream's own number of a refusal, when this is one. */
export function refusalCode(error: unknown): number | undefined {
  const read = refused.safeParse(error);
  return read.success ? read.data.api_error.err_code : undefined;
}

const credentialCodes = new Set([
  'AUTHORIZATION_VIOLATION',
  'AUTHENTICATION_EXPIRED',
  'ACCOUNT_EXPIRED',
  'BAD_AUTHENTICATION',
]);

/** Whether the server turned a credential away: by the client's error of a connection, or by its code in a status. */
export function refusesCredential(of: unknown): boolean {
  return credentialCodes.has(typeof of === 'string' ? of : (coded.safeParse(of).data?.code ?? ''));
}

/** Names what went wrong on a subject; the client's own error is kept as the cause. */
export function busFault(subject: string, cause: unknown): BusFault {
  if (cause instanceof BusFault) return cause;
  const reason = reasonOf(cause);
  return new BusFault(reason, subject, `${sayings[reason]} ${subject}`, { cause });
}

function reasonOf(error: unknown): BusFaultReason {
  const refusal = refused.safeParse(error);
  if (refusal.success) {
    const { err_code: number, description } = refusal.data.api_error;
    if (number === messageTooLongCode) return 'too-big';
    // A stream that discards new messages says "maximum bytes exceeded" under the number of any failed store.
    return fullCodes.has(number) ||
      (number === storeFailedCode && /maximum|insufficient|resource/.test(description ?? ''))
      ? 'full'
      : 'other';
  }
  const code = coded.safeParse(error).data?.code;
  if (code === 'PERMISSIONS_VIOLATION') return 'denied';
  if (code === '503') return 'nobody';
  if (code === 'TIMEOUT') return 'timeout';
  if (code === 'MAX_PAYLOAD_EXCEEDED') return 'too-big';
  if (code === 'CONNECTION_CLOSED' || code === 'CONNECTION_DRAINING') return 'closed';
  return 'other';
}
