/** Nodes, and the invitations they join by. Public keys only. */
import type { Capability } from '../../domain/report/report.ts';
import type { NodeName } from '../../domain/words/names.ts';

export type NodeState = 'invited' | 'proven' | 'joined';

export type NodeRow = {
  readonly node: NodeName;
  readonly state: NodeState;
  readonly address?: string;
  readonly identityKey?: string;
  readonly sealingFingerprint?: string;
  readonly overlayKey?: string;
  /** Of its provisioner client on the bus. */
  readonly clientKey?: string;
  /** Under which the labels of its routes are names (M23). */
  readonly publicDomain?: string;
  readonly invitedAt: Date;
  readonly joinedAt?: Date;
  /** Absent: never reported. Empty: reported that it has none (M11). */
  readonly capabilities?: readonly Capability[];
  readonly carriedPorts: readonly { readonly protocol: 'tcp' | 'udp'; readonly port: number }[];
};

/** The public halves that a joining node sent, and where other nodes reach it. */
export type Enrolment = {
  readonly identityKey: string;
  readonly sealingKey: Uint8Array;
  readonly sealingFingerprint: string;
  readonly overlayKey?: string;
  readonly clientKey?: string;
  readonly address: string;
};

export type NewInvitation = {
  readonly tokenId: string;
  readonly node: NodeName;
  /** The public key of the bus user whose seed is in the token. */
  readonly userKey: string;
  readonly expiresAt: Date;
};
export type InvitationRow = NewInvitation & {
  readonly createdAt: Date;
  readonly openedAt?: Date;
  readonly enrolment?: Enrolment;
  /** SHA-256 of the value that the node must return opened (U16). */
  readonly challengeHash?: Uint8Array;
  readonly provenAt?: Date;
  readonly admittedAt?: Date;
  readonly closedAt?: Date;
  /** By the store's clock, at the time of reading. */
  readonly expired: boolean;
};

/** Which of its keys an enrolment shares with another node. */
export type ForeignKey = { readonly node: NodeName; readonly key: 'identity' | 'sealing' | 'overlay' | 'client' };

export type NodeReads = {
  nodeRows(nodes?: readonly NodeName[]): Promise<readonly NodeRow[]>;
};
export type KeyHolderReads = {
  /** The node that this public key, of whatever purpose, is recorded for; sealing keys in base64. */
  keyHolder(key: string): Promise<NodeName | undefined>;
};
export type SealingKeyReads = {
  sealingKeys(nodes?: readonly NodeName[]): Promise<ReadonlyMap<NodeName, Uint8Array>>;
};
export type NodeRows = NodeReads & {
  /** False when a node of that name is there. */
  insertNode(node: NodeName): Promise<boolean>;
  /** State and keys at once: a node is proven with the keys that it proved. */
  setNodeProven(node: NodeName, enrolment: Enrolment): Promise<void>;
  setNodeJoined(node: NodeName): Promise<void>;
  keysOfOthers(node: NodeName, enrolment: Enrolment): Promise<readonly ForeignKey[]>;
};
/** Takes a node away with all that is only of it; its pins and secrets go, assignments keep it from going. */
export type NodeRemovalRows = { deleteNode(node: NodeName): Promise<void> };
export type InvitationRows = {
  insertInvitation(invitation: NewInvitation): Promise<void>;
  /** The row, held until the transaction ends. */
  holdInvitation(tokenId: string): Promise<InvitationRow | undefined>;
  openInvitations(node: NodeName): Promise<readonly InvitationRow[]>;
  setInvitationOpened(tokenId: string): Promise<void>;
  setEnrolment(tokenId: string, enrolment: Enrolment, challengeHash: Uint8Array): Promise<void>;
  setInvitationProven(tokenId: string): Promise<void>;
  setInvitationAdmitted(tokenId: string): Promise<void>;
  setInvitationClosed(tokenId: string): Promise<void>;
};
export type InvitationReads = { invitationRow(tokenId: string): Promise<InvitationRow | undefined> };
