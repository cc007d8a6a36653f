/**
 * Acts: what could half-apply. Their ids name the thing that one act at a time may change (7-acts), and what goes
 * in and comes out of them: names, ids, digests and counts, never a value, sealed or not (A11).
 */
import { z } from 'zod';
import { pairKey, pairPath, type PairKey } from '../credential/credential.ts';
import { nodeName, provisionName, type NodeName, type ProvisionName } from '../words/names.ts';

/** The task queue of the controller's own acts, and its namespace. */
export const controllerQueue = 'controller';
export const meshNamespace = 'mesh';

/**
 * What a rotation is asked for: some credentials by key, or every one that a provider's node grants of a provision (A1.0) but for
 * those that are named by their paths.
 */
export const rotationSelection = z.discriminatedUnion('of', [
  z.strictObject({ of: z.literal('pairs'), pairs: z.array(pairKey).min(1).max(64) }),
  z.strictObject({
    of: z.literal('provider'),
    node: nodeName,
    provision: provisionName,
    except: z.array(z.string()).min(1).max(64).exactOptional(),
  }),
]);
export type RotationSelection = z.infer<typeof rotationSelection>;

export type RotationRequest = {
  readonly selection: RotationSelection;
  /** Who asked; shown, and written into the events. */
  readonly person: string;
  /** After how long a consumer that was not seen with the new credential is cut off, ms. Absent: never (S11). */
  readonly limitMs?: number;
};

/** What acts come to: written down by one version of the controller, and maybe read by another. */
export const rotationResult = z.object({
  act: z.string(),
  committed: z.boolean(),
  credentials: z.int(),
  /** How many of them had an overlap: old and new both worked until the consumer was seen with the new one. */
  overlapping: z.int(),
  /** Without overlap: for how long at most, ms, only one end had the new credential, by the controller's clock. 0 when all overlapped. */
  windowMs: z.number(),
  /** Sessions that were ended because they outlived the grace (S11). */
  sessionsEnded: z.int(),
  /** Consumers that were withdrawn from although they were not seen with the new one, because the limit passed. */
  cutOff: z.array(z.string()).readonly(),
  /** When both generations of every overlapping credential worked, and when the old ones began to be withdrawn; the controller's clock. */
  overlapFrom: z.iso.datetime().exactOptional(),
  overlapUntil: z.iso.datetime().exactOptional(),
});
export type RotationResult = Readonly<z.infer<typeof rotationResult>>;

export type PushRequest = {
  /** Absent: every node that has joined. */
  readonly nodes?: readonly NodeName[];
  readonly person: string;
};

/** The signal by which whoever joins a push that runs says that something may have been declared since it sent (A16, C89). */
export const pushAskedAgain = 'pushAskedAgain';

export const pushResult = z.object({
  act: z.string(),
  /** Nodes that got a message, and nodes whose last message already said the same (D7). */
  sent: z.int(),
  alreadySent: z.int(),
  applied: z.int(),
  /** Bounded: at most ten of each are named, `…Count` says how many there are. */
  failed: z.array(nodeName).readonly(),
  failedCount: z.int(),
  unresolvable: z.array(nodeName).readonly(),
  unresolvableCount: z.int(),
  secretsMade: z.int(),
});
export type PushResult = Readonly<z.infer<typeof pushResult>>;

export type EnrolRequest = {
  readonly node: NodeName;
  readonly tokenId: string;
  readonly expiresInMs: number;
  readonly person: string;
};
export type EnrolResult = { readonly act: string; readonly node: NodeName; readonly joined: boolean };

export type RemovalRequest = { readonly node: NodeName; readonly person: string };
/** Lists are bounded: at most twenty are named, `…Count` says how many there were. */
export const removalResult = z.object({
  act: z.string(),
  node: nodeName,
  pins: z.array(z.string()).readonly(),
  pinsCount: z.int(),
  credentials: z.array(z.string()).readonly(),
  credentialsCount: z.int(),
});
export type RemovalResult = Readonly<z.infer<typeof removalResult>>;

/** A1: one workflow id per thing rotated, so that two acts over the same one are impossible. */
export function rotationId(selection: RotationSelection, hash: (text: string) => string): string {
  if (selection.of === 'provider') {
    const { node, provision, except } = selection;
    const all = `rotate/${node}/${provision}`;
    // One part more than that has, and one less than a credential's path.
    return except === undefined ? all : `${all}/except-${hash(except.toSorted().join('\n')).slice(0, 32)}`;
  }
  const [only, second] = selection.pairs;
  if (only !== undefined && second === undefined) return `rotate/${pairPath(only)}`;
  return `rotate/selection/${hash(selection.pairs.map(pairPath).toSorted().join('\n')).slice(0, 32)}`;
}

/** A7: named after the list of nodes, so that asking again for the same push attaches to it (A16). */
export function pushId(nodes: readonly NodeName[] | undefined, hash: (text: string) => string): string {
  return nodes === undefined ? 'push/all' : `push/${hash(nodes.toSorted().join('\n')).slice(0, 32)}`;
}

export function enrolId(node: NodeName): string {
  return `enrol/${node}`;
}

export function removalId(node: NodeName): string {
  return `remove/${node}`;
}

const consumerOf = (key: PairKey): string =>
  `${key.consumerModule}@${key.consumerNode}${key.local === undefined ? '' : ` (${key.local})`}`;

/** A12: what a rotation is called where people see it. */
export function rotationSummary(selection: RotationSelection): string {
  if (selection.of === 'provider') {
    const { node, provision, except } = selection;
    const but = except === undefined ? '' : ` but ${except.length === 1 ? except.join('') : except.length}`;
    return `Rotate every ${provision} credential that ${node} grants${but}`;
  }
  const [only, second] = selection.pairs;
  if (only !== undefined && second === undefined) return `Rotate ${only.provision} for ${consumerOf(only)}`;
  return `Rotate ${selection.pairs.length} credentials: ${selection.pairs.slice(0, 3).map(consumerOf).join(', ')}${selection.pairs.length > 3 ? ', …' : ''}`;
}

export function pushSummary(nodes: readonly NodeName[] | undefined): string {
  if (nodes === undefined) return 'Push what is declared to every node';
  const named = nodes.slice(0, 5).join(', ');
  return `Push what is declared to ${named}${nodes.length > 5 ? ` and ${nodes.length - 5} more` : ''}`;
}

export function removalSummary(node: NodeName): string {
  return `Remove ${node} from the mesh`;
}

export function enrolSummary(node: NodeName): string {
  return `Enrol ${node}`;
}

/** Where a rotation's provider nodes and provisions are, for people's filters (A12). */
export function rotationNodes(
  selection: RotationSelection,
): { readonly node: NodeName; readonly provision: ProvisionName } | undefined {
  if (selection.of === 'provider') return selection;
  const [first] = selection.pairs;
  return first === undefined ? undefined : { node: first.consumerNode, provision: first.provision };
}
