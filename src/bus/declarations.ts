/**
 * Sending declarations (D4): the last message of the node's own subject, published against the subject's last sequence,
 * so that of two sendings that race the older can never be the last; and telling the node to look.
 */
import { z } from 'zod';
import { declarationLimitBytes, envelope as envelopeSchema, type Envelope } from '../domain/declaration/declaration.ts';
import type { NodeName } from '../domain/words/names.ts';
import type { BusConnection } from './connection.ts';
import { BusFault, busFault, refusalCode } from './faults.ts';
import { read, write, type Unreadable } from './messages.ts';
import { ensureStreams } from './streams.ts';
import {
  anyNode,
  busPayloadBytes,
  changedSubject,
  declarationsStream,
  declareSubject,
  lastDeclarationSubject,
} from './subjects.ts';

const requestMs = 5_000;
const wrongLastSequence = 10_071;
const noSuchStream = 10_059;

const head = envelopeSchema.omit({ body: true });

/**
 * An envelope on the wire: its head as one line of JSON, then the body as it is. Inside JSON the body's quotes would be
 * escaped, and a declaration within its limit could be over the bus's.
 */
function encode({ body, ...rest }: Envelope): Uint8Array {
  return Buffer.concat([write(head, rest), Buffer.from('\n'), Buffer.from(body)]);
}

function decode(bytes: Uint8Array): { readonly value: Envelope } | { readonly reason: string } {
  const end = bytes.indexOf(10);
  if (end < 0) return { reason: 'it has no head' };
  const first = read(head, bytes.subarray(0, end));
  if ('reason' in first) return first;
  try {
    return {
      value: {
        ...first.value,
        body: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes.subarray(end + 1)),
      },
    };
  } catch {
    return { reason: 'its body is not UTF-8' };
  }
}

/**
 * Publishes a node's declaration and waits for the stream's word. `expectedLastSequence` is the sequence of the last one
 * on the subject as the sender knew it, 0 for none; `conflict` when another was published since. Throws `BusFault`;
 * after `timeout` it may or may not be there: read the last one.
 */
export async function publishDeclaration(
  mesh: BusConnection,
  envelope: Envelope,
  expectedLastSequence: number,
): Promise<{ readonly sequence: number } | 'conflict'> {
  const subject = declareSubject(envelope.node);
  const bytes = encode(envelopeSchema.parse(envelope));
  if (Buffer.byteLength(envelope.body) > declarationLimitBytes || bytes.length > busPayloadBytes) {
    throw new BusFault(
      'too-big',
      subject,
      `the declaration of ${envelope.node} has ${bytes.length} bytes, more than ${declarationLimitBytes}`,
    );
  }
  try {
    const stream = mesh.nats.jetstream({ checkAPI: false });
    const { seq } = await stream.publish(subject, bytes, {
      timeout: requestMs,
      expect: { lastSubjectSequence: expectedLastSequence },
    });
    return { sequence: seq };
  } catch (cause) {
    if (refusalCode(cause) === wrongLastSequence) return 'conflict';
    throw busFault(subject, cause);
  }
}

export type LastDeclaration =
  | { readonly sequence: number; readonly envelope: Envelope }
  | { readonly sequence: number; readonly unreadable: Unreadable };

/**
 * The last declaration of a node, by direct get of its subject: undefined when it was never sent one. Works for the
 * controller and, for its own name, for the node. The signature is not looked at here. Throws `BusFault`.
 */
export async function lastDeclaration(bus: BusConnection, node: NodeName): Promise<LastDeclaration | undefined> {
  const subject = lastDeclarationSubject(node);
  const answer = await bus.nats.request(subject, '', { timeout: requestMs }).catch((cause: unknown) => {
    throw busFault(subject, cause);
  });
  const code = answer.headers?.code ?? 0;
  if (code === 404) return undefined;
  const sequence = Number(answer.headers?.get('Nats-Sequence'));
  if (code !== 0 || !Number.isSafeInteger(sequence) || sequence < 1) {
    throw new BusFault(
      'other',
      subject,
      `the stream answered ${code} ${answer.headers?.description ?? ''} on ${subject}`,
    );
  }
  const decoded = decode(answer.data);
  if ('value' in decoded) return { sequence, envelope: decoded.value };
  return { sequence, unreadable: { subject: declareSubject(node), reason: decoded.reason, body: answer.data } };
}

/**
 * Those of these nodes whose subject holds a declaration now: one question, however many they are, and no body comes
 * with the answer. A stream that somebody deleted is made again, and holds none. Throws `BusFault`.
 */
export async function heldDeclarations(
  mesh: BusConnection,
  nodes: readonly NodeName[],
): Promise<ReadonlySet<NodeName>> {
  const [only] = nodes;
  const asked = declareSubject(nodes.length === 1 && only !== undefined ? only : anyNode);
  const manager = await mesh.nats.jetstreamManager({ checkAPI: false });
  try {
    const { state } = await manager.streams.info(declarationsStream, { subjects_filter: asked });
    const subjects = state.subjects ?? {};
    return new Set(nodes.filter((node) => subjects[declareSubject(node)] !== undefined));
  } catch (cause) {
    if (refusalCode(cause) !== noSuchStream) throw busFault(declarationsStream, cause);
    await ensureStreams(mesh);
    return new Set();
  }
}

/** What a node is told: something of its own moved. Nothing in it is acted on but the moment it comes. */
const changed = z.object({
  schema: z.literal('mesh.changed'),
  version: z.literal(1),
  keys: z.array(z.string()).optional(),
});

/** Tells a node to look again. Sent at most once and to whoever listens now: the node looks at its interval as well. */
export function announceChanged(mesh: BusConnection, node: NodeName, keys?: readonly string[]): void {
  const named = keys === undefined ? {} : { keys: [...keys] };
  mesh.nats.publish(changedSubject(node), write(changed, { schema: 'mesh.changed', version: 1, ...named }));
}

/** Calls `heard` when the node is told to look; also when what it is told cannot be read, since looking is always safe. */
export function onChanged(bus: BusConnection, node: NodeName, heard: (keys: readonly string[]) => void): () => void {
  const subscription = bus.nats.subscribe(changedSubject(node), {
    callback(error, message) {
      // A subscription that ended has nothing to tell; the connection's status says why.
      if (error !== null) return;
      const told = read(changed, message.data);
      const keys = 'value' in told ? (told.value.keys ?? []) : [];
      // Not called from here: what a listener throws would end the client's reading for good, and unseen.
      queueMicrotask(() => heard(keys));
    },
  });
  return () => subscription.unsubscribe();
}
