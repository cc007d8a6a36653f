/**
 * Composing and sending, as every act does it (D1, D4): one snapshot, one number, a publish that expects the last
 * message it knows of, and the digest recorded after the stream has it, never before.
 */
import { secretsToMake } from '../domain/credential/secrets-to-make.ts';
import { compose, type Composition } from '../domain/declaration/compose.ts';
import type { Refusal } from '../domain/refusal/refusal.ts';
import { resolve, type Resolution } from '../domain/resolution/resolve.ts';
import type { Inventory } from '../domain/resolution/inventory.ts';
import type { NodeName } from '../domain/words/names.ts';
import { eachOf } from './patience.ts';
import type { CredentialRecords, DeclarationBus, DeclarationRecords, Hash, SealNew, Signer } from './ports.ts';
import { endsOf, makeSecrets } from './secrets.ts';

export type SendingPorts = {
  readonly declarations: Pick<
    DeclarationRecords,
    'numbered' | 'snapshot' | 'recordSent' | 'sentTo' | 'reportsOf' | 'granterEntries' | 'sealingKeys'
  >;
  readonly credentials: Pick<CredentialRecords, 'keep'>;
  readonly bus: DeclarationBus;
  readonly sign: Signer;
  readonly hash: Hash;
  readonly sealNew: SealNew;
};

export type Sending = {
  readonly sent: readonly NodeName[];
  /** Their last message already said the same (D7). */
  readonly already: readonly NodeName[];
  readonly unresolvable: ReadonlyMap<NodeName, readonly Refusal[]>;
  readonly secretsMade: number;
};

type Composed = Extract<Composition, { kind: 'composed' }>;

/** How often a send begins anew because secrets had to be made first, or somebody else sent to the same node meanwhile. */
const rounds = 8;
/** Nodes composed and sent at once. */
const atOnce = 16;

/**
 * Sends each node what it should be now, unless it was sent just that; makes the secrets that are missing first, and
 * then sends both ends of each (S3, S4). Safe to repeat: a message that went out without its record is recognised by
 * its digest and recorded. A node that cannot be resolved is not sent anything (D5).
 * @throws when the world kept changing for eight rounds; retried by the act.
 */
export async function sendTo(ports: SendingPorts, act: string, nodes: readonly NodeName[]): Promise<Sending> {
  const answer = {
    sent: new Set<NodeName>(),
    already: new Set<NodeName>(),
    unresolvable: new Map<NodeName, readonly Refusal[]>(),
  };
  /** The stream's own word about a subject's last message, where it differs from our record. */
  const lastSequence = new Map<NodeName, number>();
  let secretsMade = 0;
  let left = new Set(nodes);
  for (let round = 0; left.size > 0; round += 1) {
    if (round === rounds)
      throw new Error(`what ${[...left].slice(0, 5).join(', ')} should be keeps changing; nothing older was sent`);
    const { number, inventory, sent: rows } = await ports.declarations.numbered();
    const resolution = resolve(inventory);
    const made = await makeMissing(ports, act, inventory, resolution, left);
    if (made !== undefined) {
      secretsMade += made.count;
      left = new Set([...left, ...made.ends]);
      continue;
    }
    const again = new Set<NodeName>();
    await eachOf([...left], atOnce, async (node) => {
      const composed = compose({ inventory, resolution, node, hash: ports.hash });
      if (composed.kind === 'unresolvable') {
        answer.unresolvable.set(node, composed.refusals);
        return;
      }
      // Only composing knows that a secret is missing whose need arose within this snapshot: then it is made first.
      if (composed.wouldMake.length > 0) throw new Error(`secrets of ${node} are still to be made`);
      const row = rows.get(node);
      if (row?.digest === composed.digest) {
        if (!answer.sent.has(node)) answer.already.add(node);
        return;
      }
      const lost = await sendOne(ports, {
        node,
        number,
        composed,
        expected: lastSequence.get(node) ?? row?.streamSequence ?? 0,
      });
      if (lost === undefined) answer.sent.add(node);
      else {
        lastSequence.set(node, lost);
        again.add(node);
      }
    });
    left = again;
  }
  return { sent: [...answer.sent], already: [...answer.already], unresolvable: answer.unresolvable, secretsMade };
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

/** Answers the stream's last sequence when somebody else's message is there; undefined when ours is. */
async function sendOne(
  ports: SendingPorts,
  of: { node: NodeName; number: number; composed: Composed; expected: number },
): Promise<number | undefined> {
  const { node, number, composed } = of;
  const published = await ports.bus.publish(ports.sign({ node, number, text: composed.text }), of.expected);
  const last = published === 'conflict' ? await ports.bus.last(node) : undefined;
  if (published === 'conflict' && last?.envelope?.digest !== composed.digest) return last?.sequence ?? 0;
  // Told before it is recorded: a step that is killed in between does both again, and the node is not left to its interval.
  await ports.bus.announceChanged(node);
  const resources = new Map([...composed.resources].map(([id, text]) => [id, `sha256:${ports.hash(text)}`]));
  await ports.declarations.recordSent({
    node,
    digest: composed.digest,
    number: last?.envelope?.number ?? number,
    streamSequence: published === 'conflict' ? (last?.sequence ?? 0) : published.sequence,
    resources,
  });
  return undefined;
}
