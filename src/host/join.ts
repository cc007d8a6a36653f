/**
 * Joining a mesh (U16): the node makes its keys, sends the public halves, opens the challenge that was sealed to it, and
 * keeps the admission. Interrupted anywhere and run again it goes on with the same keys, and is admitted once.
 */
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { connectBus, reconnectDelayMs, type BusConnection } from '../bus/connection.ts';
import { makeAnswer } from '../bus/enrolment-checks.ts';
import type { Admission, EnrolmentRefusal } from '../bus/enrolment-messages.ts';
import { answerChallenge, requestEnrolment } from '../bus/enrolment.ts';
import { BusFault } from '../bus/faults.ts';
import { invitationCredential, parseInvitation, type Invitation } from '../bus/token.ts';
import { isRefusal, type Refusal } from '../domain/refusal/refusal.ts';
import type { NodeName } from '../domain/words/names.ts';
import { open } from '../sealing/box.ts';
import { keysAt, type NodeKeys } from './keys.ts';
import type { Say } from './log.ts';
import { makeStateFolder, readNode, statePaths, writeState } from './state.ts';

export type Joining = {
  /** The line that `mesh node invite` printed. */
  readonly token: string;
  readonly stateDir: string;
  /** Where other nodes reach this one. */
  readonly address: string;
  readonly say: Say;
  /** How long the controller may take to let the token in, ms. */
  readonly withinMs?: number;
};
export type Joined = { readonly kind: 'joined'; readonly node: NodeName; readonly already: boolean };

/**
 * Joins the mesh of an invitation. Refusals: `token-invalid` (cut, changed, expired), `enrolment-refused` (the folder
 * belongs to another node, or the controller says no: which key, and why). Throws when the bus cannot be reached in time.
 */
export async function joinMesh({
  token,
  stateDir,
  address,
  say,
  withinMs = 60_000,
}: Joining): Promise<Joined | Refusal> {
  const invitation = parseInvitation(token, new Date());
  if (isRefusal(invitation)) return invitation;
  await makeStateFolder(stateDir);
  const before = await readNode(stateDir);
  if (before !== undefined) {
    if (before.name === invitation.node) return { kind: 'joined', node: before.name, already: true };
    return refused(
      `${stateDir} is the state folder of the node ${before.name}`,
      `the invitation is for ${invitation.node}`,
    );
  }
  const keys = await keysAt(stateDir);
  const admission = await enrol(invitation, keys, { address, say, deadline: performance.now() + withinMs });
  if (isRefusal(admission)) return admission;
  // The invitation came by a person's hand: what the bus says must fit it, not the other way round.
  if (admission.node !== invitation.node || admission.declarationKey !== invitation.declarationKey) {
    return refused(
      'the controller admitted another node, or names another key than the invitation',
      'a node trusts the key it was invited with',
    );
  }
  await writeState(stateDir, statePaths.node, {
    schema: 'mesh.host-node',
    version: 1,
    name: admission.node,
    address,
    servers: admission.servers,
    verifyKey: admission.declarationKey,
    userJwt: admission.userJwt,
    ...(admission.clientJwt !== undefined && { clientJwt: admission.clientJwt }),
  });
  return { kind: 'joined', node: admission.node, already: false };
}

type Trying = { readonly address: string; readonly say: Say; readonly deadline: number };

async function enrol(invitation: Invitation, keys: NodeKeys, trying: Trying): Promise<Admission | Refusal> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await attemptEnrolment(invitation, keys, trying.address);
    if (outcome.kind === 'settled') return outcome.answer;
    if (performance.now() > trying.deadline) {
      throw new Error(`the mesh did not let ${invitation.node} in (tried ${attempt} times)`, { cause: outcome.fault });
    }
    trying.say.info({ node: invitation.node, attempt }, 'the mesh is not ready to let this node in: trying again');
    // A controller may be about to open the token's account; a thousand nodes must not ask at once either.
    await pause(Math.min(reconnectDelayMs(attempt), 1_000));
  }
}

type Attempt =
  | { readonly kind: 'settled'; readonly answer: Admission | Refusal }
  | { readonly kind: 'again'; readonly fault: unknown };

async function attemptEnrolment(invitation: Invitation, keys: NodeKeys, address: string): Promise<Attempt> {
  let bus: BusConnection | undefined;
  try {
    bus = await connectBus({
      servers: invitation.servers,
      name: `join ${invitation.node}`,
      credential: invitationCredential(invitation),
    });
    const said = await exchange(bus, invitation, keys, address);
    if (!('kind' in said)) return { kind: 'settled', answer: said };
    if (said.kind === 'try-later') return { kind: 'again', fault: new Error(said.detail) };
    return { kind: 'settled', answer: refused(`${invitation.node} is not admitted`, said.detail) };
  } catch (error) {
    // What the controller itself answered is not asked for again; that nobody answered is.
    if (error instanceof BusFault && error.reason === 'unreadable') throw error;
    return { kind: 'again', fault: error };
  } finally {
    await bus?.close();
  }
}

async function exchange(
  bus: BusConnection,
  { tokenId, node }: Invitation,
  { identity, client, sealing, overlay }: NodeKeys,
  address: string,
): Promise<Admission | EnrolmentRefusal> {
  const keys = {
    identityKey: identity.publicKey,
    sealingKey: sealing.publicKey,
    overlayKey: overlay.publicKey,
    clientKey: client.publicKey,
  };
  const enrolment = { tokenId, node, address, ...keys };
  const challenge = await requestEnrolment(bus, enrolment);
  if ('kind' in challenge) return challenge;
  const sha256 = open(challenge.sealed, sealing).reveal((value) => createHash('sha256').update(value).digest('hex'));
  return answerChallenge(bus, makeAnswer(enrolment, sha256, identity));
}

function refused(what: string, why: string): Refusal {
  return {
    kind: 'enrolment-refused',
    what,
    why,
    next: ['mesh node invite NODE  # on the controller, prints a new one'],
  };
}
