/**
 * Composing and sending, as every act does it (D1, D4): one snapshot, one number, a publish that expects the last
 * message it knows of, and the digest recorded after the stream has it, never before.
 */
import { arrivalOf, type Arrival } from '../domain/act/waiting.ts';
import { secretsToMake } from '../domain/credential/secrets-to-make.ts';
import { compose, type Composition } from '../domain/declaration/compose.ts';
import type { Refusal } from '../domain/refusal/refusal.ts';
import { resolve, type Resolution } from '../domain/resolution/resolve.ts';
import type { Inventory } from '../domain/resolution/inventory.ts';
import type { NodeName } from '../domain/words/names.ts';
import type { NewSent } from '../operations/ports/declaration-rows.ts';
import { eachOf } from './patience.ts';
import type { CredentialRecords, DeclarationBus, DeclarationRecords, Hash, SealNew, Signer } from './ports.ts';
import { endsOf, makeSecrets } from './secrets.ts';

export type SendingPorts = {
  readonly declarations: Pick<DeclarationRecords, 'numbered' | 'snapshot' | 'recordSent' | 'arrivals' | 'sealingKeys'>;
  readonly credentials: Pick<CredentialRecords, 'keep' | 'ends'>;
  readonly bus: DeclarationBus;
  readonly sign: Signer;
  readonly hash: Hash;
  readonly sealNew: SealNew;
};

export type Sending = {
  readonly sent: readonly NodeName[];
  /** Their last message already said the same (D7); and what had come of it by then. */
  readonly already: ReadonlyMap<NodeName, Arrival>;
  readonly unresolvable: ReadonlyMap<NodeName, readonly Refusal[]>;
  readonly secretsMade: number;
};

type Composed = Extract<Composition, { kind: 'composed' }>;

/** How often a send begins anew because secrets had to be made first, or somebody else sent to the same node meanwhile. */
const rounds = 8;
/** Nodes composed, published in a row and recorded together; while some are on their way the next are composed. */
const together = 64;
const atOnce = 2;

/**
 * Sends each node what it should be now, unless it was sent just that; makes the secrets that are missing first, and
 * then sends both ends of each (S3, S4). Safe to repeat: a message that went out without its record is recognised by
 * its digest and recorded; one that the bus has lost since is sent again (C76). A node that cannot be resolved is not
 * sent anything (D5).
 * @throws when the world kept changing for eight rounds; retried by the act.
 */
export async function sendTo(ports: SendingPorts, act: string, nodes: readonly NodeName[]): Promise<Sending> {
  const answer = {
    sent: new Set<NodeName>(),
    already: new Map<NodeName, Arrival>(),
    unresolvable: new Map<NodeName, readonly Refusal[]>(),
  };
  /** The stream's own word about a subject's last message, where it differs from our record. */
  const lastSequence = new Map<NodeName, number>();
  let secretsMade = 0;
  let left = new Set(nodes);
  for (let round = 0; left.size > 0; round += 1) {
    if (round === rounds)
      throw new Error(`what ${[...left].slice(0, 5).join(', ')} should be keeps changing; nothing older was sent`);
    const [{ number, inventory, sent }, held] = await Promise.all([
      ports.declarations.numbered(),
      ports.bus.held([...left]),
    ]);
    const resolution = resolve(inventory);
    const made = await makeMissing(ports, act, inventory, resolution, left);
    if (made !== undefined) {
      secretsMade += made.count;
      left = new Set([...left, ...made.ends]);
      continue;
    }
    // "Already sent" is said of nothing else than what the bus still holds for the node (D7).
    const rows = new Map([...sent].filter(([node]) => held.has(node)));
    const again = new Set<NodeName>();
    const digestOf = digestsOnce(ports.hash);
    const recording: Promise<void>[] = [];
    const publishing = eachOf(inGroups([...left], together), atOnce, async (group) => {
      const toSend: ToSend[] = [];
      for (const node of group) {
        const composed = compose({ inventory, resolution, node, hash: ports.hash });
        if (composed.kind === 'unresolvable') {
          answer.unresolvable.set(node, composed.refusals);
          continue;
        }
        // Only composing knows that a secret is missing whose need arose within this snapshot: then it is made first.
        if (composed.wouldMake.length > 0) throw new Error(`secrets of ${node} are still to be made`);
        const row = rows.get(node);
        if (row?.digest !== composed.digest)
          toSend.push({ node, number, composed, expected: lastSequence.get(node) ?? row?.streamSequence ?? 0 });
        else if (!answer.sent.has(node)) answer.already.set(node, arrivalOf(row, row.reported));
      }
      const { outcomes, records } = await publishGroup(ports, toSend, digestOf);
      // Recorded while the next are on their way; whether it was is asked below.
      const recorded = records.length === 0 ? Promise.resolve() : ports.declarations.recordSent(...records);
      recorded.catch(() => undefined);
      recording.push(recorded);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') throw outcome.reason;
        const { node, lost } = outcome.value;
        if (lost === undefined) answer.sent.add(node);
        else {
          lastSequence.set(node, lost);
          again.add(node);
        }
      }
    });
    // What one could not send, the others are, and that is recorded before it is said.
    const [published] = await Promise.allSettled([publishing]);
    await Promise.all(recording);
    if (published.status === 'rejected') throw published.reason;
    left = again;
  }
  return { sent: [...answer.sent], already: answer.already, unresolvable: answer.unresolvable, secretsMade };
}

/** Makes what is missing at either end of these nodes. Undefined: nothing was. What cannot be made leaves its node unresolvable. */
async function makeMissing(
  ports: SendingPorts,
  act: string,
  inventory: Inventory,
  resolution: Resolution,
  nodes: ReadonlySet<NodeName>,
): Promise<{ count: number; ends: readonly NodeName[] } | undefined> {
  const { needs } = secretsToMake(inventory, resolution, nodes);
  if (needs.length === 0) return undefined;
  const ends = endsOf(needs);
  const keys = await ports.declarations.sealingKeys(ends);
  const { pairs, own } = makeSecrets({ keys, sealNew: ports.sealNew }, needs);
  return { count: await ports.credentials.keep(act, pairs, own), ends };
}

type ToSend = {
  readonly node: NodeName;
  readonly number: number;
  readonly composed: Composed;
  readonly expected: number;
};
/** `lost`: the stream's last sequence, when somebody else's message is there instead of ours. */
type Sent = { readonly node: NodeName; readonly lost?: number };
type Published = {
  readonly outcomes: readonly PromiseSettledResult<Sent>[];
  /** What the stream has now. */
  readonly records: readonly NewSent[];
};

/** Publishes all of them in a row. */
async function publishGroup(
  ports: SendingPorts,
  group: readonly ToSend[],
  digestOf: (text: string) => string,
): Promise<Published> {
  const records: NewSent[] = [];
  const outcomes = await Promise.allSettled(
    group.map(async (one): Promise<Sent> => {
      const published = await publishOne(ports, one);
      if (!('number' in published)) return { node: one.node, lost: published.lost };
      const resources = new Map([...one.composed.resources].map(([id, text]) => [id, digestOf(text)]));
      records.push({ ...published, resources });
      return { node: one.node };
    }),
  );
  return { outcomes, records };
}

async function publishOne(
  ports: SendingPorts,
  { node, number, composed, expected }: ToSend,
): Promise<Omit<NewSent, 'resources'> | { readonly lost: number }> {
  const { digest } = composed;
  const envelope = await ports.sign({ node, number, text: composed.text });
  const published = await ports.bus.publish(envelope, expected);
  const last = published === 'conflict' ? await ports.bus.last(node) : undefined;
  if (published === 'conflict' && last?.envelope?.digest !== digest) return { lost: last?.sequence ?? 0 };
  // Told before it is recorded: a step that is killed in between does both again, and the node is not left to its interval.
  await ports.bus.announceChanged(node);
  return {
    node,
    digest,
    number: last?.envelope?.number ?? number,
    streamSequence: published === 'conflict' ? (last?.sequence ?? 0) : published.sequence,
  };
}

/** Most nodes share most of their resources: each text is digested once. */
function digestsOnce(hash: Hash): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    const found = known.get(text) ?? `sha256:${hash(text)}`;
    known.set(text, found);
    return found;
  };
}

function inGroups<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
