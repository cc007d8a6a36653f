/** Joining, as the controller hears it: a node sends its keys, and shows that it holds them (U16). */
import type { Refusal } from '../../domain/refusal/refusal.ts';
import type { NodeName } from '../../domain/words/names.ts';
import type {
  Enrolment,
  ForeignKey,
  InvitationRow,
  InvitationRows,
  KeyHolderReads,
  NodeRows,
} from '../ports/node-rows.ts';
import { controller, type EventRows, type Reads, type Writes } from '../ports/work.ts';

type Tx = NodeRows & InvitationRows & EventRows;
/** What was answered: in `tokenId`, the SHA-256 of the value that was opened. */
export type Proof = { readonly tokenId: string; readonly node: NodeName; readonly valueHash: Uint8Array };
export type Enrolling = { readonly node: NodeName; readonly identityKey: string };

/**
 * Keeps the public keys of a joining node and the hash of what was sealed to it. Idempotent with the same keys, also after they
 * were proven; until then other keys replace them. Refused as `token-invalid` or `enrolment-refused`, naming the key that is
 * somebody else's.
 */
export function recordEnrolment(
  store: Writes<Tx>,
  tokenId: string,
  enrolment: Enrolment,
  challengeHash: Uint8Array,
): Promise<Enrolling | Refusal> {
  return store.write(controller, async (tx) => {
    const invitation = await openInvitation(tx, tokenId);
    if ('kind' in invitation) return invitation;
    const { node } = invitation;
    const [foreign] = await tx.keysOfOthers(node, enrolment);
    if (foreign !== undefined) return keyOfAnother(node, foreign);
    if (invitation.provenAt !== undefined && !sameKeys(invitation.enrolment, enrolment)) return provenWithOthers(node);
    await tx.setEnrolment(tokenId, enrolment, challengeHash);
    return { node, identityKey: enrolment.identityKey };
  });
}

/**
 * The node returned a value: when it is the one that was sealed to its key, the node has proven its keys and they are the node's
 * from now on. The caller has verified the signature over it by the enrolment's identity key. Idempotent.
 */
export function proveNode(store: Writes<Tx>, { tokenId, node, valueHash }: Proof): Promise<Enrolling | Refusal> {
  return store.write(controller, async (tx) => {
    const invitation = await openInvitation(tx, tokenId);
    if ('kind' in invitation) return invitation;
    const { enrolment, challengeHash } = invitation;
    if (invitation.node !== node) return tokenInvalid(`this token is not for ${node}`);
    if (enrolment === undefined || challengeHash === undefined)
      return notProven(node, 'it answered before it enrolled');
    if (!sameBytes(challengeHash, valueHash))
      return notProven(node, 'what it returned is not what was sealed to its sealing key');
    const [foreign] = await tx.keysOfOthers(node, enrolment);
    if (foreign !== undefined) return keyOfAnother(node, foreign);
    if (invitation.provenAt === undefined) {
      await tx.setInvitationProven(tokenId);
      await tx.setNodeProven(node, enrolment);
      await tx.event({
        kind: 'node-proven',
        about: node,
        detail: { sealingFingerprint: enrolment.sealingFingerprint },
      });
    }
    return { node, identityKey: enrolment.identityKey };
  });
}

/** What a token's enrolment is so far: what an answer is checked against. Refused as `token-invalid`. */
export function readEnrolment(store: Writes<InvitationRows>, tokenId: string): Promise<InvitationRow | Refusal> {
  return store.write(controller, (tx) => openInvitation(tx, tokenId));
}

/** The node that a public key is recorded for already, if any; sealing keys in base64. */
export function keyHolder(store: Reads<KeyHolderReads>, key: string): Promise<NodeName | undefined> {
  return store.read((view) => view.keyHolder(key));
}

/** What the act that enrols a node records, step by step. Each function is one transaction, and the first time stands. */
export function enrolmentRecords(store: Writes<Tx>) {
  return {
    /** The bus user whose seed is in the token. */
    tokenUser: (tokenId: string): Promise<string> =>
      store.write(controller, async (tx) => (await held(tx, tokenId)).userKey),

    /** The token's bus credential works: it may be handed out. */
    openToken: (tokenId: string): Promise<void> => store.write(controller, (tx) => tx.setInvitationOpened(tokenId)),

    /** The identity key that the node has proven it holds. @throws when it has proven none. */
    provenIdentity: (tokenId: string): Promise<string> =>
      store.write(controller, async (tx) => {
        const { enrolment, provenAt, node } = await held(tx, tokenId);
        if (enrolment === undefined || provenAt === undefined) throw new Error(`${node} has not proven its keys`);
        return enrolment.identityKey;
      }),

    /** The key of the node's client, proven with the others; undefined where it sent none. */
    provenClient: (tokenId: string): Promise<string | undefined> =>
      store.write(controller, async (tx) => {
        const { enrolment, provenAt } = await held(tx, tokenId);
        return provenAt === undefined ? undefined : enrolment?.clientKey;
      }),

    /** The node has an account of its own: it has joined. */
    admit: (node: NodeName, tokenId: string): Promise<void> =>
      store.write(controller, async (tx) => {
        const { admittedAt } = await held(tx, tokenId);
        if (admittedAt !== undefined) return;
        await tx.setInvitationAdmitted(tokenId);
        await tx.setNodeJoined(node);
        await tx.event({ kind: 'node-joined', about: node });
      }),

    /** The token is good for nothing any more. */
    closeToken: (tokenId: string): Promise<void> =>
      store.write(controller, async (tx) => {
        const { closedAt, node } = await held(tx, tokenId);
        if (closedAt !== undefined) return;
        await tx.setInvitationClosed(tokenId);
        await tx.event({ kind: 'token-closed', about: node, detail: { tokenId } });
      }),
  };
}

async function held(tx: InvitationRows, tokenId: string): Promise<InvitationRow> {
  const invitation = await tx.holdInvitation(tokenId);
  if (invitation === undefined) throw new Error(`there is no invitation ${tokenId}`);
  return invitation;
}

async function openInvitation(tx: InvitationRows, tokenId: string): Promise<InvitationRow | Refusal> {
  const invitation = await tx.holdInvitation(tokenId);
  if (invitation === undefined) return tokenInvalid('no invitation has this token');
  if (invitation.closedAt !== undefined) return tokenInvalid('this token was used');
  if (invitation.expired) return tokenInvalid(`this token expired at ${invitation.expiresAt.toISOString()}`);
  return invitation;
}

function tokenInvalid(what: string): Refusal {
  return {
    kind: 'token-invalid',
    what,
    why: 'a token lets one machine join, once, within its time',
    next: ['mesh node invite NAME'],
  };
}

function enrolmentRefused(node: NodeName, what: string, why: string, facts: Readonly<Record<string, string>>): Refusal {
  return {
    kind: 'enrolment-refused',
    what: `${node} cannot join: ${what}`,
    why,
    next: ['mesh node join --token-file FILE'],
    facts: { node, ...facts },
  };
}
const keyOfAnother = (node: NodeName, { key }: ForeignKey): Refusal =>
  enrolmentRefused(
    node,
    `its ${key} key is another node's`,
    'a key belongs to one machine, which never gives it away',
    { key },
  );
const provenWithOthers = (node: NodeName): Refusal =>
  enrolmentRefused(
    node,
    'this token was answered with other keys',
    'after the proof a token is bound to the keys that were proven',
    {},
  );
const notProven = (node: NodeName, what: string): Refusal =>
  enrolmentRefused(node, what, 'a node shows that it holds its keys before anything is sealed to them', {
    key: 'sealing',
  });

function sameKeys(one: Enrolment | undefined, other: Enrolment): boolean {
  return (
    one !== undefined &&
    one.identityKey === other.identityKey &&
    sameBytes(one.sealingKey, other.sealingKey) &&
    one.overlayKey === other.overlayKey &&
    one.clientKey === other.clientKey
  );
}
function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
