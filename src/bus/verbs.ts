/**
 * Verbs of seats: a question and an answer, checked on both sides (U17, P16). Who asks is read from the subject, where the
 * asker's own import put it, and never from the message. A seat that nobody serves is said at once (P15).
 */
import type { Msg } from 'nats';
import { z } from 'zod';
import type { PartName } from '../domain/words/names.ts';
import type { BusConnection } from './connection.ts';
import { BusFault, busFault } from './faults.ts';
import { read, write } from './messages.ts';
import { anyVerb, askedOn, askedSubject, verbSubject, type Caller } from './subjects.ts';

const askMs = 10_000;

/** A verb as a seat says it: its name, what it does in a line, and the shapes of question and answer. */
export type Verb<Request extends z.ZodType = z.ZodType, Answer extends z.ZodType = z.ZodType> = {
  readonly seat: PartName;
  readonly verb: string;
  readonly says: string;
  readonly request: Request;
  readonly answer: Answer;
};

/**
 * Why a verb was not answered. `bad-request` names the field; `refused` is the rules' no; `not-found` is of what was asked
 * about; `try-later` is a fault on the seat's side, and the same again may succeed.
 */
export const verbRefusal = z.object({
  kind: z.enum(['unknown-verb', 'bad-request', 'refused', 'not-found', 'try-later']),
  /** The place in the request, with dots between its parts. */
  field: z.string().optional(),
  what: z.string(),
  /** Names only: who holds what is refused. */
  facts: z.record(z.string(), z.string()).optional(),
});
export type VerbRefusal = z.infer<typeof verbRefusal>;
export type Refused = { readonly refused: VerbRefusal };
export const isRefused = (answer: unknown): answer is Refused =>
  typeof answer === 'object' && answer !== null && 'refused' in answer;

const onlyRefused = z.strictObject({ refused: verbRefusal });
const onlyAnswer = z.strictObject({ answer: z.unknown() });

/** A verb with what answers it; made by `serving`, so that question and answer are the ones the verb declares. */
export type Serving = {
  readonly verb: Verb;
  /** Answers the bytes of a reply; throws what `work` threw. */
  readonly respond: (body: Uint8Array, caller: Caller) => Promise<Uint8Array>;
};

/** Puts a verb and the work that answers it together. */
export function serving<Request extends z.ZodType, Answer extends z.ZodType>(
  verb: Verb<Request, Answer>,
  work: (request: z.output<Request>, caller: Caller) => Promise<z.input<Answer> | Refused>,
): Serving {
  return {
    verb,
    async respond(body, caller) {
      const sent = requestIn(verb.request, body);
      if ('refused' in sent) return write(onlyRefused, sent);
      const said = await work(sent.request, caller);
      // Checked before it is sent: what does not fit is a bug on this side.
      return isRefused(said) ? write(onlyRefused, said) : write(onlyAnswer, { answer: verb.answer.parse(said) });
    },
  };
}

/** An empty message asks with nothing, which is what a verb without fields takes. */
function requestIn<Request extends z.ZodType>(
  schema: Request,
  body: Uint8Array,
): { readonly request: z.output<Request> } | Refused {
  let json: unknown;
  try {
    json = body.length === 0 ? {} : JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return { refused: { kind: 'bad-request', field: '', what: 'the request is not JSON in UTF-8' } };
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return { request: parsed.data };
  const [issue] = parsed.error.issues;
  const field = [...(issue?.path ?? []), ...(issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [])].join(
    '.',
  );
  return {
    refused: {
      kind: 'bad-request',
      field,
      what: `${field === '' ? 'the request' : field}: ${issue?.message ?? 'is wrong'}`,
    },
  };
}

/** What `<seat>.verbs` answers: every verb of the seat with the shapes of what it takes and answers, as JSON schemas. */
export const verbsAnswer = z.object({
  seat: z.string(),
  verbs: z.array(
    z.object({
      verb: z.string(),
      says: z.string(),
      request: z.record(z.string(), z.unknown()),
      answer: z.record(z.string(), z.unknown()),
    }),
  ),
});

/** P16. The verb that lists a seat's verbs; every seat has it. */
export function listingOf(seat: PartName) {
  return {
    seat,
    verb: 'verbs',
    says: 'what this seat can be asked',
    request: z.strictObject({}),
    answer: verbsAnswer,
  } satisfies Verb;
}

const schemaOf = (schema: z.ZodType): Record<string, unknown> => ({
  ...z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' }),
});

/**
 * Serves a seat's verbs, shared with whoever else serves it, until `stop`, which waits for what is in hand. Every one of
 * them must be of this seat. `onFault` is told what a verb's work threw; the asker is told to try later.
 */
export async function serveSeat(
  bus: BusConnection,
  seat: PartName,
  verbs: readonly Serving[],
  onFault: (fault: unknown) => void,
): Promise<{ stop(): Promise<void> }> {
  const listing = listingOf(seat);
  const listed = [...verbs.map(({ verb }) => verb), listing].map(({ verb, says, request, answer }) => ({
    verb,
    says,
    request: schemaOf(request),
    answer: schemaOf(answer),
  }));
  const served = new Map(
    [...verbs, serving(listing, async () => ({ seat, verbs: listed }))].map((one) => [one.verb.verb, one]),
  );
  const inHand = new Set<Promise<void>>();
  const subscription = bus.nats.subscribe(askedSubject(seat, anyVerb, 'anybody'), {
    queue: seat,
    callback(error, message) {
      // A subscription that ended has nobody to answer; the connection's status says why.
      if (error !== null) return;
      const working = respond(message, served, onFault).finally(() => inHand.delete(working));
      inHand.add(working);
    },
  });
  await bus.nats.flush();
  return {
    async stop() {
      subscription.unsubscribe();
      await Promise.all(inHand);
    },
  };
}

async function respond(
  message: Msg,
  served: ReadonlyMap<string, Serving>,
  onFault: (fault: unknown) => void,
): Promise<void> {
  try {
    message.respond(await replyTo(message, served));
  } catch (fault) {
    onFault(fault);
    const what = 'the seat could not answer just now; the same again may succeed';
    message.respond(write(onlyRefused, { refused: { kind: 'try-later', what } }));
  }
}

async function replyTo({ subject, data }: Msg, served: ReadonlyMap<string, Serving>): Promise<Uint8Array> {
  const asked = askedOn(subject);
  const found = asked === undefined ? undefined : served.get(asked.verb);
  if (asked !== undefined && found !== undefined) return found.respond(data, asked.caller);
  const known = [...served.keys()].toSorted().join(', ');
  return write(onlyRefused, {
    refused: { kind: 'unknown-verb', what: `this seat has no such verb; it has ${known}` },
  });
}

/**
 * Asks a verb. From an account of its own a seat is asked under its short name, and who asks is in the account; inside MESH
 * the asker says on whose behalf (`as`). Answers what the seat answered, or why not. Throws `BusFault`: `nobody` at once
 * where nobody serves the seat (P15), `timeout` where it did not answer, `unreadable` where its answer is none.
 */
export async function askVerb<Request extends z.ZodType, Answer extends z.ZodType>(
  bus: BusConnection,
  verb: Verb<Request, Answer>,
  request: z.input<Request>,
  by: { readonly as?: Caller; readonly timeoutMs?: number } = {},
): Promise<z.output<Answer> | Refused> {
  const subject = by.as === undefined ? verbSubject(verb.seat, verb.verb) : askedSubject(verb.seat, verb.verb, by.as);
  const said = await askSeat(bus, subject, write(verb.request, request), by.timeoutMs);
  if (isRefused(said)) return said;
  const answer = verb.answer.safeParse(said.answer);
  if (answer.success) return answer.data;
  throw unreadable(subject, 'it is not what the verb answers');
}

const reply = z.union([onlyRefused, onlyAnswer]);

/** Asks whatever stands on a subject, and checks the form of the reply alone: for a command that knows the verb by name only. */
export async function askSeat(
  bus: BusConnection,
  subject: string,
  body: Uint8Array,
  timeoutMs = askMs,
): Promise<{ readonly answer?: unknown } | Refused> {
  const message = await bus.nats.request(subject, body, { timeout: timeoutMs }).catch((cause: unknown) => {
    throw busFault(subject, cause);
  });
  const said = read(reply, message.data);
  if ('reason' in said) throw unreadable(subject, said.reason);
  return said.value;
}

const unreadable = (subject: string, why: string): BusFault =>
  new BusFault('unreadable', subject, `the answer on ${subject} cannot be read: ${why}`);
