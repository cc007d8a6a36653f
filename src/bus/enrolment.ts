/**
 * Joining (U16): both ends of the exchange. The node sends its public keys; the controller answers with a random value
 * sealed to the sealing key; the node returns the value's digest, signed by its identity key. `enrolment-checks.ts` has
 * the rules.
 */
import type { Msg } from 'nats';
import { z } from 'zod';
import type { BusConnection } from './connection.ts';
import { checkEnrolment, type CheckedEnrolment, type KeyRules } from './enrolment-checks.ts';
import {
  admission,
  answer,
  challenge,
  enrolment,
  enrolmentRefusal,
  type Admission,
  type Answer,
  type Challenge,
  type Enrolment,
  type EnrolmentRefusal,
} from './enrolment-messages.ts';
import { BusFault, busFault } from './faults.ts';
import { read, write, type Unreadable } from './messages.ts';
import { anyToken, enrolAnswerSubject, enrolSubject } from './subjects.ts';

const requestMs = 10_000;
const queue = 'controllers';
const firstReply = z.union([challenge, enrolmentRefusal]);
const secondReply = z.union([admission, enrolmentRefusal]);

/** The node's first step: sends its public keys. Throws `BusFault`; a refusal is an answer (it has a `kind`). */
export function requestEnrolment(bus: BusConnection, of: Enrolment): Promise<Challenge | EnrolmentRefusal> {
  return ask(bus, enrolSubject(of.tokenId), write(enrolment, of), firstReply);
}

/** The node's second step: sends what `makeAnswer` made of the opened challenge. Safe to repeat with the same keys. */
export function answerChallenge(bus: BusConnection, of: Answer): Promise<Admission | EnrolmentRefusal> {
  return ask(bus, enrolAnswerSubject(of.tokenId), write(answer, of), secondReply);
}

async function ask<Schema extends z.ZodType>(
  bus: BusConnection,
  subject: string,
  body: Uint8Array,
  schema: Schema,
): Promise<z.output<Schema>> {
  const reply = await bus.nats.request(subject, body, { timeout: requestMs }).catch((cause: unknown) => {
    throw busFault(subject, cause);
  });
  const said = read(schema, reply.data);
  if ('value' in said) return said.value;
  throw new BusFault('unreadable', subject, `the controller's answer on ${subject} cannot be read: ${said.reason}`);
}

export type EnrolmentPorts = KeyRules & {
  /** Given keys that are well formed and nobody else's. Answers the challenge: for the same keys again, the same or a new one. */
  readonly onEnrolment: (of: CheckedEnrolment) => Promise<Challenge | EnrolmentRefusal>;
  /** Judges the answer (`checkAnswer`) and admits. */
  readonly onAnswer: (of: Answer) => Promise<Admission | EnrolmentRefusal>;
  /** Keeps aside a message that nobody can read (U17). */
  readonly onUnreadable: (message: Unreadable) => Promise<void>;
  /** Told what any of these threw; the node was answered `try-later`. */
  readonly onFault?: (fault: unknown) => void;
};

/** The controller's side, shared by all its workers; serves until `stop`, which waits for what is in hand. */
export function serveEnrolment(mesh: BusConnection, ports: EnrolmentPorts): { stop(): Promise<void> } {
  const enrolling: Exchange<Enrolment, Challenge> = {
    message: enrolment,
    reply: firstReply,
    subjectOf: enrolSubject,
    async judge(sent) {
      const checked = await checkEnrolment(sent, ports);
      return 'kind' in checked ? checked : ports.onEnrolment(checked);
    },
  };
  const answering: Exchange<Answer, Admission> = {
    message: answer,
    reply: secondReply,
    subjectOf: enrolAnswerSubject,
    judge: (sent) => ports.onAnswer(sent),
  };
  const ends = [serve(mesh, enrolling, ports), serve(mesh, answering, ports)];
  return {
    async stop() {
      await Promise.all(ends.map((end) => end()));
    },
  };
}

type Exchange<Sent extends { readonly tokenId: string }, Reply> = {
  readonly message: z.ZodType<Sent>;
  readonly reply: z.ZodType<Reply | EnrolmentRefusal>;
  readonly subjectOf: (token: string) => string;
  readonly judge: (sent: Sent) => Promise<Reply | EnrolmentRefusal>;
};

function serve<Sent extends { readonly tokenId: string }, Reply>(
  mesh: BusConnection,
  exchange: Exchange<Sent, Reply>,
  ports: EnrolmentPorts,
): () => Promise<void> {
  const inHand = new Set<Promise<void>>();
  const subscription = mesh.nats.subscribe(exchange.subjectOf(anyToken), {
    queue,
    callback(error, message) {
      // A subscription that ended has nobody to answer; the connection's status says why.
      if (error !== null) return;
      const working = respond(message, exchange, ports).finally(() => inHand.delete(working));
      inHand.add(working);
    },
  });
  return async () => {
    subscription.unsubscribe();
    await Promise.all(inHand);
  };
}

async function respond<Sent extends { readonly tokenId: string }, Reply>(
  message: Msg,
  exchange: Exchange<Sent, Reply>,
  ports: EnrolmentPorts,
): Promise<void> {
  let said: Reply | EnrolmentRefusal;
  try {
    said = await judge(message, exchange, ports);
  } catch (fault) {
    ports.onFault?.(fault);
    said = { kind: 'try-later', detail: 'the controller could not look at it just now; the same again may succeed' };
  }
  try {
    message.respond(write(exchange.reply, said));
  } catch (fault) {
    ports.onFault?.(fault);
  }
}

async function judge<Sent extends { readonly tokenId: string }, Reply>(
  { subject, data }: Msg,
  exchange: Exchange<Sent, Reply>,
  ports: EnrolmentPorts,
): Promise<Reply | EnrolmentRefusal> {
  const sent = read(exchange.message, data);
  if ('reason' in sent) {
    await ports.onUnreadable({ subject, reason: sent.reason, body: data });
    return { kind: 'unreadable', detail: `what was sent cannot be read: ${sent.reason}` };
  }
  // The subject is what the server vouches for: only that invitation's holder can write there.
  if (exchange.subjectOf(sent.value.tokenId) !== subject) {
    return { kind: 'another-node', detail: 'what was sent names another invitation than the one it was sent with' };
  }
  return exchange.judge(sent.value);
}
