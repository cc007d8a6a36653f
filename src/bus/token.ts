/**
 * An invitation as it is printed: one line that a person carries to the new machine (U16). It holds the seed of a user
 * whose account can enrol one node and do nothing else, and it expires.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Refusal } from '../domain/refusal/refusal.ts';
import { nodeName, type NodeName } from '../domain/words/names.ts';
import type { BusCredential } from './connection.ts';
import { Seed } from './seed.ts';
import { clientInbox, inboxPrefix, tokenId } from './subjects.ts';

export type Invitation = {
  readonly node: NodeName;
  readonly tokenId: string;
  readonly servers: readonly string[];
  readonly userJwt: string;
  readonly seed: Seed;
  /** The public key that will sign the node's declarations. */
  readonly declarationKey: string;
  readonly expiresAt: Date;
};

const prefix = 'mesh-';
const printed = z.strictObject({
  v: z.literal(1),
  node: nodeName,
  tokenId,
  servers: z.array(z.string().min(1)).min(1),
  userJwt: z.string().min(1),
  seed: z.string(),
  declarationKey: z.base64(),
  expiresAt: z.iso.datetime(),
});

/** A new token id: 80 random bits. */
export function makeTokenId(): string {
  return randomBytes(10).toString('hex');
}

/** The one line. It is a secret: print it to the person who asked, and nowhere else. */
export function printInvitation(of: Invitation): string {
  const seed = of.seed.reveal((text) => new TextDecoder().decode(text));
  const fields = printed.parse({ v: 1, ...of, servers: [...of.servers], seed, expiresAt: of.expiresAt.toISOString() });
  return prefix + Buffer.from(JSON.stringify(fields)).toString('base64url');
}

/** Reads the line. Refusal `token-invalid`: not a token, cut or changed, or expired at `now`; it quotes nothing of it. */
export function parseInvitation(line: string, now: Date): Invitation | Refusal {
  const text = line.trim();
  if (!text.startsWith(prefix))
    return invalid('this is not an invitation', `an invitation is one line that begins with "${prefix}"`);
  const encoded = text.slice(prefix.length);
  const bytes = Buffer.from(encoded, 'base64url');
  if (bytes.toString('base64url') !== encoded) return damaged();
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    // The parser's message would quote the token.
    return damaged();
  }
  const fields = printed.safeParse(json);
  if (!fields.success) return damaged();
  const { v: _, seed, expiresAt, ...rest } = fields.data;
  try {
    const invitation = { ...rest, seed: new Seed('user', seed), expiresAt: new Date(expiresAt) };
    if (invitation.expiresAt.getTime() > now.getTime()) return invitation;
  } catch {
    // A seed whose checksum does not fit.
    return damaged();
  }
  return invalid(
    `this invitation of ${rest.node} expired at ${expiresAt}`,
    'an invitation is good for a short time and once',
  );
}

/** Who the holder of an invitation is on the bus. */
export function invitationCredential(of: Invitation): BusCredential {
  return { jwt: of.userJwt, seed: of.seed, inbox: inboxPrefix(of.tokenId) };
}

/** Who a node is on the bus, once it was admitted. `identity` is the seed it made and keeps. */
export function nodeCredential(
  of: { readonly node: NodeName; readonly userJwt: string },
  identity: Seed,
): BusCredential {
  return { jwt: of.userJwt, seed: identity, inbox: inboxPrefix(of.node) };
}

/** Who a node's provisioner client is on the bus. `client` is the seed it made beside its identity's. */
export function clientCredential(
  of: { readonly node: NodeName; readonly clientJwt: string },
  client: Seed,
): BusCredential {
  return { jwt: of.clientJwt, seed: client, inbox: clientInbox(of.node) };
}

function damaged(): Refusal {
  return invalid(
    'this invitation cannot be read',
    'it was cut or changed on the way: the whole line counts, in one piece',
  );
}

function invalid(what: string, why: string): Refusal {
  return { kind: 'token-invalid', what, why, next: ['mesh node invite NODE  # on the controller, prints a new one'] };
}
