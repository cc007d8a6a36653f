/**
 * Who may do what on the bus (U15). Each node, token, program and seat has an account of its own, so that a reply
 * subject it chooses is looked up among its own imports and reaches nothing of anybody else's; the allow-lists of its
 * user only make the denial loud. Pure descriptions; `tokens.ts` writes them as JWTs.
 *
 * MESH exports, the others import just their own part; MESH imports from seats alone, never from a node, so that an
 * enrolment touches one account. Exports are public: only the controller can sign an account, so only it can import.
 */
import { boundBucket, buckets } from '../domain/provisioning/values.ts';
import { partName, type ModuleName, type NodeName, type PartName } from '../domain/words/names.ts';
import {
  anyNode,
  anyVerb,
  askedSubject,
  changedSubject,
  clientInbox,
  enrolAnswerSubject,
  enrolSubject,
  getOwnSubject,
  getSubject,
  inboxPrefix,
  programInbox,
  lastDeclarationSubject,
  putSubject,
  readBucketSubject,
  reportSubject,
  verbSubject,
  type Caller,
} from './subjects.ts';

/**
 * `service`: requests go from importer to exporter. `stream`: messages go from exporter to importer. `many`: a request of
 * this service is answered by several messages.
 */
export type Crossing = { readonly kind: 'service' | 'stream'; readonly subject: string; readonly many?: true };
/** `as`: the importer's own name for it, `$1` standing for what the first wildcard of `subject` was; the same when left out. */
export type Import = Crossing & { readonly account: string; readonly as?: string };

export type AccountKind = 'node' | 'client' | 'token' | 'program' | 'seat';
export type AccountShape = {
  readonly kind: AccountKind;
  readonly name: string;
  readonly imports: readonly Import[];
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
/** A seat in a process of its own: its account's public key. */
export type SeatAddress = { readonly seat: PartName; readonly account: string };

/** The seat that the controller itself serves, inside MESH. */
export const controllerSeat = partName.parse('the-controller');
export const provisionerSeat = partName.parse('mesh-provisioner');

/** Buckets that the provisioner's seat reads as a whole: it answers for all of the mesh. */
const provisionerReads = [buckets.registry, buckets.compositions, buckets.needs, buckets.applied, buckets.collect];
/** What a node's client writes, each under its own node alone (P2). */
const clientWrites = [buckets.needs, buckets.applied, buckets.collect, buckets.health];
/** What a node's client reads of the mesh besides its own keys, each by its key. */
const clientReads = [buckets.registry, buckets.compositions];

/** What MESH lets others import. Each importer takes its own part of these. */
export function meshExports(): readonly Crossing[] {
  return [
    { kind: 'service', subject: 'mesh.enrol.>' },
    { kind: 'service', subject: reportSubject(anyNode) },
    { kind: 'service', subject: lastDeclarationSubject(anyNode) },
    { kind: 'stream', subject: changedSubject(anyNode) },
    { kind: 'service', subject: askedSubject(controllerSeat, anyVerb, 'anybody') },
    { kind: 'service', subject: putSubject('*', '>') },
    { kind: 'service', subject: `$JS.API.DIRECT.GET.*.${putSubject('*', '>')}` },
    ...provisionerReads.map((bucket) => ({
      kind: 'service' as const,
      subject: readBucketSubject(bucket),
      many: true as const,
    })),
  ];
}

/** A node's host: reads its own declaration, writes its own reports, and is told when something of its own moved. */
export function nodeAccount(
  node: NodeName,
  by: { readonly meshAccount: string; readonly buckets?: readonly NodeBucket[] },
): AccountShape {
  const keys = `${node}.>`;
  const requests = [
    reportSubject(node),
    lastDeclarationSubject(node),
    ...(by.buckets ?? []).flatMap(({ bucket, writes }) =>
      writes ? [getSubject(bucket, keys), putSubject(bucket, keys)] : [getSubject(bucket, keys)],
    ),
  ];
  return {
    kind: 'node',
    name: node,
    imports: [...fromMesh(by.meshAccount, requests), told(node, by.meshAccount)],
    exports: [],
    publish: requests,
    subscribe: [changedSubject(node)],
    answers: false,
    inbox: inboxPrefix(node),
  };
}

/**
 * A node's provisioner client (P2): reads what is its node's in any bucket, the registry, the compositions and what is collected over the mesh; writes the keys of its
 * node in four buckets, is told when something of its node moved, and asks the verbs of seats in its node's name.
 */
export function clientAccount(
  node: NodeName,
  by: { readonly meshAccount: string; readonly seats?: readonly SeatAddress[] },
): AccountShape {
  const asking = asks({ kind: 'client', name: node }, [
    { seat: controllerSeat, account: by.meshAccount },
    ...(by.seats ?? []),
  ]);
  const requests = [
    getOwnSubject(node),
    getSubject(buckets.assignments, node),
    ...clientReads.map((bucket) => getSubject(bucket, '>')),
    ...clientWrites.map((bucket) => putSubject(bucket, `${node}.>`)),
  ];
  return {
    kind: 'client',
    name: node,
    imports: [
      ...fromMesh(by.meshAccount, requests),
      ...wholes(by.meshAccount, [buckets.collect]),
      told(node, by.meshAccount),
      ...asking.imports,
    ],
    exports: [],
    publish: [...requests, readBucketSubject(buckets.collect), ...asking.publish],
    subscribe: [changedSubject(node)],
    answers: false,
    inbox: clientInbox(node),
  };
}

const fromMesh = (account: string, subjects: readonly string[]): readonly Import[] =>
  subjects.map((subject) => ({ kind: 'service', subject, account }));
/** Buckets that are read as a whole, or by a pattern of keys. */
const wholes = (account: string, names: readonly string[]): readonly Import[] =>
  names.map((bucket) => ({ kind: 'service', subject: readBucketSubject(bucket), account, many: true }));
const told = (node: NodeName, account: string): Import => ({ kind: 'stream', subject: changedSubject(node), account });

/** The verbs of seats, under their short names: who asks is in the import, and so nobody asks in another's name. */
function asks(
  by: Caller,
  seats: readonly SeatAddress[],
): { readonly imports: readonly Import[]; readonly publish: readonly string[] } {
  return {
    imports: seats.map(({ seat, account }) => ({
      kind: 'service',
      subject: askedSubject(seat, anyVerb, by),
      as: verbSubject(seat, '$1'),
      account,
    })),
    publish: seats.map(({ seat }) => verbSubject(seat, anyVerb)),
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

/** A provider's program on a node: whose facts it may write, by the keys of its own consumers. */
export type ProgramBinding = { readonly provider: ModuleName; readonly keys: readonly string[] };

/**
 * A program beside a provider (a granter): is told when to look at its directory, reads what is needed of its provider, and
 * writes the readable facts of its own consumers' bindings, each key by name (P2).
 */
export function programAccount(
  program: string,
  by: { readonly meshAccount: string; readonly node: NodeName; readonly binds?: ProgramBinding },
): AccountShape {
  const { binds } = by;
  const bound = (binds?.keys ?? []).flatMap((key) => {
    const bucket = boundBucket(binds?.provider ?? '');
    return [putSubject(bucket, key), getSubject(bucket, key)];
  });
  const requests = binds === undefined ? [] : [getSubject(buckets.needs, '>'), ...bound];
  // Its user may name any key of its bucket, so that a new consumer needs no new credential; the account lets its own through.
  const wide = binds === undefined ? '' : boundBucket(binds.provider);
  const publish =
    binds === undefined ? [] : [getSubject(buckets.needs, '>'), putSubject(wide, '>'), getSubject(wide, '>')];
  return {
    kind: 'program',
    name: program,
    imports: [...fromMesh(by.meshAccount, requests), told(by.node, by.meshAccount)],
    exports: [],
    publish,
    subscribe: [changedSubject(by.node)],
    answers: false,
    inbox: programInbox(program),
  };
}

/**
 * A seat in a process of its own: exports its verbs; whoever may ask imports them from its account. It answers
 * requests and can publish nothing else, so that a reply subject is all it ever writes to, and that one is the server's.
 */
export function seatAccount(seat: PartName): AccountShape {
  // Its verbs would swallow the mesh's own subjects in every account that imports them.
  if (seat === 'mesh') throw new Error('no seat may be called "mesh"');
  const asked = askedSubject(seat, anyVerb, 'anybody');
  return {
    kind: 'seat',
    name: seat,
    imports: [],
    exports: [{ kind: 'service', subject: asked }],
    publish: [],
    subscribe: [asked],
    answers: true,
    inbox: inboxPrefix(seat),
  };
}

/** The provisioner's seat (P2): besides its verbs it writes the registry and nothing else, reads what it answers for, and asks the controller. */
export function provisionerAccount(by: { readonly meshAccount: string }): AccountShape {
  const asking = asks({ kind: 'seat', name: provisionerSeat }, [{ seat: controllerSeat, account: by.meshAccount }]);
  const requests = [getSubject(buckets.registry, '>'), putSubject(buckets.registry, '>')];
  return {
    ...seatAccount(provisionerSeat),
    imports: [...fromMesh(by.meshAccount, requests), ...wholes(by.meshAccount, provisionerReads), ...asking.imports],
    publish: [...requests, ...provisionerReads.map(readBucketSubject), ...asking.publish],
  };
}
