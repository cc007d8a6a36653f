/**
 * The rules of joining (U16), pure: a key that is absent, malformed, or somebody else's is refused, each saying which.
 */
import type { Answer, Enrolment, EnrolmentRefusal } from './enrolment-messages.ts';
import { isSignedBy, userKeyFault, type Seed } from './seed.ts';

/** An enrolment with all its keys, each well formed and nobody else's. */
export type CheckedEnrolment = Omit<Enrolment, EnrolmentKey> & { readonly [Key in EnrolmentKey]: string };
type EnrolmentKey = 'identityKey' | 'sealingKey' | 'overlayKey';
type KeyWord = NonNullable<EnrolmentRefusal['key']>;

export type KeyRules = {
  /** What is wrong with a text as an x25519 public key, or undefined: sealing's to say. */
  readonly publicKeyFault: (key: string) => string | undefined;
  /** The node that a key is recorded for already, if any. */
  readonly heldBy: (key: string) => Promise<string | undefined>;
};

/** Looks at each key in turn: absent, malformed, or recorded for another node already. */
export async function checkEnrolment(of: Enrolment, rules: KeyRules): Promise<CheckedEnrolment | EnrolmentRefusal> {
  const { identityKey, sealingKey, overlayKey, clientKey } = of;
  if (identityKey === undefined) return absent('identity');
  if (sealingKey === undefined) return absent('sealing');
  if (overlayKey === undefined) return absent('overlay');
  // One key for two purposes: whoever got hold of one would have the other.
  if (sealingKey === overlayKey) return refuse('key-malformed', 'overlay', 'it is the sealing key as well');
  if (clientKey === identityKey) return refuse('key-malformed', 'client', 'it is the identity key as well');
  const each = [
    ['identity', identityKey, userKeyFault],
    ['sealing', sealingKey, rules.publicKeyFault],
    ['overlay', overlayKey, rules.publicKeyFault],
    ...(clientKey === undefined ? [] : [['client', clientKey, userKeyFault] as const]),
  ] as const;
  for (const [word, key, faultOf] of each) {
    const fault = faultOf(key);
    if (fault !== undefined) return refuse('key-malformed', word, fault);
    const holder = await rules.heldBy(key);
    if (holder !== undefined && holder !== of.node)
      return refuse('key-of-another', word, `it is the key of the node ${holder}`);
  }
  return { ...of, identityKey, sealingKey, overlayKey };
}

/** The exact text that a node signs: that it opened this challenge, as this node, by this invitation, with these keys. */
export function answerText(of: CheckedEnrolment, sha256: string): string {
  const client = of.clientKey === undefined ? '' : `\n${of.clientKey}`;
  return `mesh.enrol.v1\n${of.node}\n${of.tokenId}\n${of.identityKey}\n${of.sealingKey}\n${of.overlayKey}\n${sha256}${client}`;
}

/** The node's answer: `sha256` (hex) of the value it opened, signed by its identity key. */
export function makeAnswer(of: CheckedEnrolment, sha256: string, identity: Seed): Answer {
  return { tokenId: of.tokenId, node: of.node, sha256, signature: identity.sign(answerText(of, sha256)) };
}

/**
 * Whether the node proved its identity and its sealing key: undefined when it did. `sha256` is the digest of the value
 * that was sealed to it.
 */
export function checkAnswer(
  said: Answer,
  to: { readonly enrolled: CheckedEnrolment; readonly sha256: string },
): EnrolmentRefusal | undefined {
  const { enrolled } = to;
  if (said.node !== enrolled.node || said.tokenId !== enrolled.tokenId) {
    return {
      kind: 'another-node',
      detail: `the answer is of ${said.node}, the invitation was used by ${enrolled.node}`,
    };
  }
  if (said.sha256 === undefined) return refuse('key-absent', 'sealing', 'nothing shows that the challenge was opened');
  if (!/^[0-9a-f]{64}$/.test(said.sha256))
    return refuse('key-malformed', 'sealing', 'its proof is not a SHA-256 in hex');
  if (said.signature === undefined) return refuse('key-absent', 'identity', 'the answer is not signed');
  if (!/^[A-Za-z0-9+/]{86}==$/.test(said.signature))
    return refuse('key-malformed', 'identity', 'its signature is not base64 of 64 bytes');
  if (!isSignedBy(enrolled.identityKey, answerText(enrolled, said.sha256), said.signature)) {
    return refuse('key-of-another', 'identity', 'whoever answered does not hold it');
  }
  if (said.sha256 !== to.sha256)
    return refuse('key-of-another', 'sealing', 'whoever answered could not open what was sealed to it');
  return undefined;
}

function absent(key: KeyWord): EnrolmentRefusal {
  return refuse('key-absent', key, 'it was not sent');
}

function refuse(kind: EnrolmentRefusal['kind'], key: KeyWord, detail: string): EnrolmentRefusal {
  return { kind, key, detail: `the ${key} key: ${detail}` };
}
