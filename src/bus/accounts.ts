/**
 * Who may do what on the bus (U15). Each node, token, program and seat has an account of its own, so that a reply
 * subject it chooses is looked up among its own imports and reaches nothing of anybody else's; the allow-lists of its
 * user only make the denial loud. Pure descriptions; `tokens.ts` writes them as JWTs.
 *
 * MESH exports, the others import just their own part; MESH imports from seats alone, never from a node, so that an
 * enrolment touches one account. Exports are public: only the controller can sign an account, so only it can import.
 */
import type { NodeName, PartName } from '../domain/words/names.ts';
import {
  anyNode,
  anyVerb,
  changedSubject,
  enrolAnswerSubject,
  enrolSubject,
  getSubject,
  inboxPrefix,
  lastDeclarationSubject,
  putSubject,
  reportSubject,
  verbSubject,
} from './subjects.ts';

/** `service`: requests go from importer to exporter. `stream`: messages go from exporter to importer. */
export type Crossing = { readonly kind: 'service' | 'stream'; readonly subject: string };

export type AccountShape = {
  readonly kind: 'node' | 'token' | 'program' | 'seat';
  readonly name: string;
  readonly imports: readonly (Crossing & { readonly account: string })[];
  readonly exports: readonly Crossing[];
  /** The user's allow-lists; its inbox is added to `subscribe`. */
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
  /** Whether the user may answer a request it was sent, once each, on whatever reply subject came with it. */
  readonly answers: boolean;
  readonly inbox: string;
};

/** A bucket in which a node has keys `<node>.…`, and whether it writes them itself. */
export type NodeBucket = { readonly bucket: string; readonly writes: boolean };
export type SeatAddress = { readonly seat: PartName; readonly account: string };

/** What MESH lets others import. Each importer takes its own part of these. */
export function meshExports(buckets: readonly string[] = []): readonly Crossing[] {
  return [
    { kind: 'service', subject: 'mesh.enrol.>' },
    { kind: 'service', subject: reportSubject(anyNode) },
    { kind: 'service', subject: lastDeclarationSubject(anyNode) },
    { kind: 'stream', subject: changedSubject(anyNode) },
    ...buckets.flatMap((bucket): readonly Crossing[] => [
      { kind: 'service', subject: putSubject(bucket, '>') },
      { kind: 'service', subject: getSubject(bucket, '>') },
    ]),
  ];
}

/**
 * A node: reads its own declaration, writes its own reports, is told when something of its own moved, reads (and
 * where it says so, writes) its own keys, and asks seats.
 */
export function nodeAccount(
  node: NodeName,
  by: {
    readonly meshAccount: string;
    readonly buckets?: readonly NodeBucket[];
    readonly seats?: readonly SeatAddress[];
  },
): AccountShape {
  const keys = `${node}.>`;
  const requests = [
    reportSubject(node),
    lastDeclarationSubject(node),
    ...(by.buckets ?? []).flatMap(({ bucket, writes }) =>
      writes ? [getSubject(bucket, keys), putSubject(bucket, keys)] : [getSubject(bucket, keys)],
    ),
  ];
  const verbs = (by.seats ?? []).map(({ seat, account }) => ({
    kind: 'service' as const,
    subject: verbSubject(seat, anyVerb),
    account,
  }));
  return {
    kind: 'node',
    name: node,
    imports: [
      ...requests.map((subject) => ({ kind: 'service' as const, subject, account: by.meshAccount })),
      { kind: 'stream', subject: changedSubject(node), account: by.meshAccount },
      ...verbs,
    ],
    exports: [],
    publish: [...requests, ...verbs.map(({ subject }) => subject)],
    subscribe: [changedSubject(node)],
    answers: false,
    inbox: inboxPrefix(node),
  };
}

/** An invitation: publishes an enrolment and an answer, and nothing else (U16). */
export function tokenAccount(token: string, by: { readonly meshAccount: string }): AccountShape {
  const requests = [enrolSubject(token), enrolAnswerSubject(token)];
  return {
    kind: 'token',
    name: token,
    imports: requests.map((subject) => ({ kind: 'service', subject, account: by.meshAccount })),
    exports: [],
    publish: requests,
    subscribe: [],
    answers: false,
    inbox: inboxPrefix(token),
  };
}

/** A program beside a provider (a granter): is told when to look at its directory, and says nothing on the bus. */
export function programAccount(
  program: string,
  by: { readonly meshAccount: string; readonly node: NodeName },
): AccountShape {
  return {
    kind: 'program',
    name: program,
    imports: [{ kind: 'stream', subject: changedSubject(by.node), account: by.meshAccount }],
    exports: [],
    publish: [],
    subscribe: [changedSubject(by.node)],
    answers: false,
    inbox: inboxPrefix(program),
  };
}

/**
 * A seat in a process of its own: exports its verbs; whoever may ask imports them from its account. It answers
 * requests and can publish nothing else, so that a reply subject is all it ever writes to, and that one is the server's.
 */
export function seatAccount(seat: PartName): AccountShape {
  // Its verbs would swallow the mesh's own subjects in every account that imports them.
  if (seat === 'mesh') throw new Error('no seat may be called "mesh"');
  return {
    kind: 'seat',
    name: seat,
    imports: [],
    exports: [{ kind: 'service', subject: verbSubject(seat, anyVerb) }],
    publish: [],
    subscribe: [verbSubject(seat, anyVerb)],
    answers: true,
    inbox: inboxPrefix(seat),
  };
}
