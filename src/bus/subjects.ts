/**
 * Every subject, stream, consumer and inbox of the bus. Names of nodes and seats hold no dot and no wildcard (M27), so
 * each stands for exactly one token.
 */
import { z } from 'zod';
import { decodeToken, encodeToken } from '../domain/provisioning/keys.ts';
import type { NodeName, PartName } from '../domain/words/names.ts';

export const declarationsStream = 'MESH_DECLARATIONS';
export const reportsStream = 'MESH_REPORTS';
/** The durable consumer that all of the controller's workers share. */
export const reportsConsumer = 'controller';

/** What a server must let through in one message: a declaration of 6 MiB and its envelope (D4). For its `max_payload`. */
export const busPayloadBytes = 8 * 1024 * 1024;

export const anyNode = '*';
type NodeOrAny = NodeName | typeof anyNode;

/** Written by the controller, last message kept (D4). */
export function declareSubject(node: NodeOrAny): string {
  return `mesh.declare.${node}`;
}
/** Written by that node, acknowledged by the stream. */
export function reportSubject(node: NodeOrAny): string {
  return `mesh.report.${node}`;
}
/** Told to a node by the controller: something of yours moved, look again. */
export function changedSubject(node: NodeOrAny): string {
  return `mesh.changed.${node}`;
}
/** Told inside MESH: a report of this node was recorded. */
export function reportedSubject(node: NodeOrAny): string {
  return `mesh.reported.${node}`;
}

/** The id in an invitation: one token of a subject. */
export const tokenId = z
  .string()
  .regex(/^[a-z0-9]{16,40}$/, { error: 'a token id is 16 to 40 lower-case letters and digits' });

export const anyToken = '*';

export function enrolSubject(token: string): string {
  return `mesh.enrol.${token}`;
}
export function enrolAnswerSubject(token: string): string {
  return `mesh.enrol.${token}.answer`;
}

/** The direct get of one node's last declaration. */
export function lastDeclarationSubject(node: NodeOrAny): string {
  return `$JS.API.DIRECT.GET.${declarationsStream}.${declareSubject(node)}`;
}

export const anyVerb = '*';

/** A verb that a seat answers: `<seat>.<verb>`. */
export function verbSubject(seat: PartName, verb: string): string {
  return `${seat}.${verb}`;
}

/** Who asks a verb: accounts of their own, and a person by the command on the controller's machine. */
export const caller = z.object({ kind: z.enum(['client', 'seat', 'program', 'person']), name: z.string().min(1) });
export type Caller = z.infer<typeof caller>;

/**
 * A verb as its seat hears it: `<seat>.<verb>.<kind>.<name>`. The last two say who asks. They are put there by the asker's
 * own import, which only the operator signs: the asker's message has no part in it.
 */
export function askedSubject(seat: PartName, verb: string, by: Caller | 'anybody'): string {
  return `${seat}.${verb}.${by === 'anybody' ? '*.*' : `${by.kind}.${encodeToken(by.name)}`}`;
}

/** Which verb was asked, by whom; undefined where the subject is none that a seat is asked on. */
export function askedOn(subject: string): { readonly verb: string; readonly caller: Caller } | undefined {
  const [, verb = '', kind, token = '', more] = subject.split('.');
  const name = decodeToken(token);
  const read = caller.safeParse({ kind, name: name.kind === 'text' ? name.text : '' });
  return read.success && more === undefined ? { verb, caller: read.data } : undefined;
}

/** A KV bucket's name as the server takes it. */
export const bucketName = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, {
  error: 'a bucket name is lower-case letters, digits, hyphens and underscores',
});

export function bucketStream(bucket: string): string {
  return `KV_${bucket}`;
}
/** Where a key of a bucket is put: `keys` is a key, or a pattern of keys. */
export function putSubject(bucket: string, keys: string): string {
  return `$KV.${bucket}.${keys}`;
}
/** The direct get of a key of a bucket. */
export function getSubject(bucket: string, keys: string): string {
  return `$JS.API.DIRECT.GET.${bucketStream(bucket)}.${putSubject(bucket, keys)}`;
}
/** The direct get of the keys of one node, in whichever bucket. */
export function getOwnSubject(node: NodeName): string {
  return `$JS.API.DIRECT.GET.*.${putSubject('*', `${node}.>`)}`;
}
/** Reading a bucket as a whole: a right to all that is in it. */
export function readBucketSubject(bucket: string): string {
  return `$JS.API.DIRECT.GET.${bucketStream(bucket)}`;
}

/** Each user has an inbox of its own, so that a right to one is no right to another's answers. */
export function inboxPrefix(name: string): string {
  return `_INBOX_${name}`;
}
/** A provider's program, by its name `<node>.<module>`: an inbox's prefix holds no dot. */
export function programInbox(program: string): string {
  return inboxPrefix(program.replaceAll('.', '_'));
}
/** A node's client has another inbox than its host. */
export function clientInbox(node: NodeName): string {
  return inboxPrefix(`${node}_client`);
}
