/**
 * Where joining nodes are heard (U16): their keys are kept, a random value is sealed to the sealing key, and whoever
 * returns it opened, signed by the identity key, is proven. The act `enrolNode` is told, and admits.
 */
import type { Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { BusConnection } from '../bus/connection.ts';
import { checkAnswer, type CheckedEnrolment } from '../bus/enrolment-checks.ts';
import type { Admission, Answer, Challenge, EnrolmentRefusal } from '../bus/enrolment-messages.ts';
import { serveEnrolment } from '../bus/enrolment.ts';
import { enrolId } from '../domain/act/act.ts';
import { isRefusal, type Refusal } from '../domain/refusal/refusal.ts';
import { given } from '../domain/words/given.ts';
import { present } from '../domain/words/invariant.ts';
import type { NodeName } from '../domain/words/names.ts';
import { busCredentialRecords } from '../operations/act/bus-credential-records.ts';
import { proveNode, recordEnrolment } from '../operations/node/enrol.ts';
import type { InvitationRow } from '../operations/ports/node-rows.ts';
import { recordUnreadable } from '../operations/report/record-report.ts';
import { base64Of, bytesOfBase64 } from '../sealing/base64.ts';
import { fingerprintOf, publicKeyFault, seal } from '../sealing/box.ts';
import { sha256Hex } from '../sealing/digest.ts';
import { makeValue, type RandomBytes } from '../sealing/value.ts';
import type { Store } from '../store/store.ts';
import { enrolmentProven } from '../workflows/messages/enrolment.ts';
import type { Reached } from './points.ts';

export type DeskPorts = {
  readonly store: Store;
  readonly mesh: BusConnection;
  readonly temporal: Client;
  /** What an admitted node is told: where the bus is, and whose signature to trust. */
  readonly servers: readonly string[];
  readonly declarationKey: string;
  /** As in `runController`. */
  readonly random?: RandomBytes | undefined;
  /** As in `runController`; its `of` is the id of the node's act. */
  readonly reached?: Reached | undefined;
  readonly onFault: (fault: unknown) => void;
};

/** How long a node that answered is kept waiting for its admission; it asks again after that. */
const admissionWithinMs = 8_000;
const lookEveryMs = 50;

/** Serves until `stop`. */
export function serveEnrolmentDesk(ports: DeskPorts): { stop(): Promise<void> } {
  return serveEnrolment(ports.mesh, {
    publicKeyFault,
    heldBy: (key) => holderOf(ports.store, key),
    onEnrolment: (enrolment) => challengeFor(ports, enrolment),
    onAnswer: (answer) => admit(ports, answer),
    onUnreadable: (message) => recordUnreadable(ports.store, message),
    onFault: ports.onFault,
  });
}

async function holderOf(store: Store, key: string): Promise<NodeName | undefined> {
  // Fingerprints are what rows are compared by; a key that is none of ours has none.
  const fingerprint = publicKeyFault(key) === undefined ? fingerprintOf(key) : undefined;
  const nodes = await store.read((view) => view.nodeRows());
  return nodes.find(
    (node) =>
      node.identityKey === key ||
      node.overlayKey === key ||
      node.clientKey === key ||
      (fingerprint !== undefined && node.sealingFingerprint === fingerprint),
  )?.node;
}

async function challengeFor(
  { store, random, reached }: Pick<DeskPorts, 'store' | 'random' | 'reached'>,
  enrolment: CheckedEnrolment,
): Promise<Challenge | EnrolmentRefusal> {
  const value = makeValue(random);
  const sealed = seal(value, enrolment.sealingKey);
  // Only its digest is kept: what the node must return cannot be read from the store.
  const hash = Buffer.from(value.reveal(sha256Hex), 'hex');
  await reached?.('desk/enrol/before', enrolId(enrolment.node));
  const answer = await recordEnrolment(
    store,
    enrolment.tokenId,
    {
      identityKey: enrolment.identityKey,
      sealingKey: present(bytesOfBase64(enrolment.sealingKey), 'a key that was checked'),
      sealingFingerprint: sealed.fingerprint,
      overlayKey: enrolment.overlayKey,
      ...(enrolment.clientKey !== undefined && { clientKey: enrolment.clientKey }),
      address: enrolment.address,
    },
    new Uint8Array(hash),
  );
  await reached?.('desk/enrol/after', enrolId(enrolment.node));
  return isRefusal(answer) ? refused(answer) : sealed;
}

async function admit(ports: DeskPorts, answer: Answer): Promise<Admission | EnrolmentRefusal> {
  const invitation = await ports.store.read((view) => view.invitationRow(answer.tokenId));
  const enrolled = invitation === undefined ? undefined : enrolmentIn(invitation);
  if (invitation === undefined || enrolled === undefined)
    return { kind: 'another-node', detail: 'nobody enrolled with this invitation' };
  const fault = checkAnswer(answer, enrolled);
  if (fault !== undefined) return fault;
  const { node } = invitation;
  const valueHash = new Uint8Array(Buffer.from(enrolled.sha256, 'hex'));
  await ports.reached?.('desk/prove/before', enrolId(node));
  const proven = await proveNode(ports.store, { tokenId: answer.tokenId, node, valueHash });
  if (isRefusal(proven)) return refused(proven);
  await ports.reached?.('desk/prove/after', enrolId(node));
  await tellAct(ports.temporal, node);
  await ports.reached?.('desk/tell/after', enrolId(node));
  const admission = await admissionOf(ports, answer.tokenId, node);
  if (admission === undefined) return { kind: 'try-later', detail: 'the node is being admitted; ask again' };
  await ports.reached?.('desk/admit/after', enrolId(node));
  return admission;
}

/** What the node enrolled with, in the words of the bus; undefined before it did. */
function enrolmentIn({
  tokenId,
  node,
  enrolment,
  challengeHash,
}: InvitationRow): { enrolled: CheckedEnrolment; sha256: string } | undefined {
  if (enrolment === undefined || challengeHash === undefined) return undefined;
  const { identityKey, overlayKey = '', clientKey, address } = enrolment;
  const keys = {
    identityKey,
    sealingKey: base64Of(enrolment.sealingKey),
    overlayKey,
    ...given('clientKey', clientKey),
  };
  return {
    enrolled: { tokenId, node, address, ...keys },
    sha256: Buffer.from(challengeHash).toString('hex'),
  };
}

async function tellAct(temporal: Client, node: NodeName): Promise<void> {
  try {
    await temporal.workflow.getHandle(enrolId(node)).signal(enrolmentProven);
  } catch (error) {
    // An act that ended has admitted the node already, or its invitation is closed: the rows say which.
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

async function admissionOf(ports: DeskPorts, tokenId: string, node: NodeName): Promise<Admission | undefined> {
  const until = performance.now() + admissionWithinMs;
  for (;;) {
    const invitation = await ports.store.read((view) => view.invitationRow(tokenId));
    const credential =
      invitation?.admittedAt === undefined ? undefined : await busCredentialRecords(ports.store).liveOf('node', node);
    if (credential !== undefined) {
      const client = await busCredentialRecords(ports.store).liveOf('client', node);
      return {
        node,
        userJwt: credential.userJwt,
        ...(client !== undefined && { clientJwt: client.userJwt }),
        servers: [...ports.servers],
        declarationKey: ports.declarationKey,
      };
    }
    if (performance.now() > until) return undefined;
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}

function refused(refusal: Refusal): EnrolmentRefusal {
  const kind = refusal.kind === 'token-invalid' ? 'token-spent' : 'key-of-another';
  return { kind, detail: `${refusal.what}: ${refusal.why}` };
}
