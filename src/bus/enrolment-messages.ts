/** What is said when a node joins (U16). The opened value of the challenge never travels: its digest does, signed. */
import { z } from 'zod';
import { nodeName } from '../domain/words/names.ts';
import { tokenId } from './subjects.ts';

/** Keys are optional here so that an absent one can be refused by name. */
export const enrolment = z.object({
  tokenId,
  node: nodeName,
  /** Where other nodes reach it. */
  address: z.string().min(1).max(253),
  identityKey: z.string().max(1024).optional(),
  sealingKey: z.string().max(1024).optional(),
  overlayKey: z.string().max(1024).optional(),
  /** Of the node's provisioner client, which has an account beside the host's; a host of before has none. */
  clientKey: z.string().max(1024).optional(),
});
export type Enrolment = z.infer<typeof enrolment>;

export const challenge = z.object({ sealed: z.base64(), fingerprint: z.string() });
export type Challenge = z.infer<typeof challenge>;

export const answer = z.object({
  tokenId,
  node: nodeName,
  /** SHA-256 of the opened value, lower-case hex. */
  sha256: z.string().max(1024).optional(),
  /** By the identity key, over `answerText`; base64. */
  signature: z.string().max(1024).optional(),
});
export type Answer = z.infer<typeof answer>;

export const admission = z.object({
  node: nodeName,
  userJwt: z.string().min(1),
  /** Of the client's user; absent where no client key was sent. */
  clientJwt: z.string().min(1).optional(),
  servers: z.array(z.string()).min(1),
  /** The public key that the node trusts to sign declarations, from now on (D3). */
  declarationKey: z.string().min(1),
});
export type Admission = z.infer<typeof admission>;

/**
 * Why a node is not admitted. The three about a key say which. `try-later` is a fault on the controller's side: the
 * same again may succeed.
 */
export const enrolmentRefusal = z.object({
  kind: z.enum([
    'key-absent',
    'key-malformed',
    'key-of-another',
    'token-spent',
    'token-expired',
    'another-node',
    'unreadable',
    'try-later',
  ]),
  key: z.enum(['identity', 'sealing', 'overlay', 'client']).optional(),
  detail: z.string(),
});
export type EnrolmentRefusal = z.infer<typeof enrolmentRefusal>;
