/**
 * D3. A declaration travels in a signed envelope: for whom, which one, how new. Whether its number is too low is the
 * host's to say, who alone knows what it last applied.
 */
import type { z } from 'zod';
import {
  declaration as declarationSchema,
  declarationLimitBytes,
  envelope as envelopeSchema,
  signedText,
  type Declaration,
  type Envelope,
} from '../domain/declaration/declaration.ts';
import type { NodeName } from '../domain/words/names.ts';
import { digestOf } from './digest.ts';
import { sign, verify, type DeclarationKey } from './signing.ts';

/** Signs what is to be sent: `text` is the canonical JSON of one declaration. */
export async function signEnvelope(of: {
  readonly node: NodeName;
  readonly number: number;
  readonly text: string;
  readonly key: DeclarationKey;
}): Promise<Envelope> {
  const named = { node: of.node, digest: digestOf(of.text), number: of.number };
  const signature = await sign(signedText(named), of.key);
  return { schema: 'mesh.envelope', version: 1, ...named, signature, body: of.text };
}

/** Why an envelope is not believed. `detail` is a sentence for the report; it quotes nothing of the body. */
export type EnvelopeRefusal = {
  readonly kind: 'unreadable' | 'wrong-signature' | 'another-node' | 'digest-mismatch' | 'not-a-declaration';
  readonly detail: string;
};

/**
 * Believes an envelope only if the trusted key signed it for this node and its body is what was signed.
 * Refusals: `unreadable` (not an envelope at all, or over the limit), `wrong-signature`, `another-node`,
 * `digest-mismatch` (the body is not the one signed), `not-a-declaration` (signed, but no declaration of this node).
 */
export function verifyEnvelope(
  value: unknown,
  by: { readonly node: NodeName; readonly trustedKey: string },
): { readonly envelope: Envelope; readonly declaration: Declaration } | EnvelopeRefusal {
  const read = envelopeSchema.safeParse(value);
  if (!read.success) return { kind: 'unreadable', detail: `what came is not an envelope: ${placesOf(read.error)}` };
  const envelope = read.data;
  // Half a surrogate pair is written in UTF-8 as the replacement character, so two bodies would share one digest.
  if (/\p{Surrogate}/u.test(envelope.body)) return { kind: 'unreadable', detail: 'the body is not well-formed text' };
  const bytes = Buffer.byteLength(envelope.body);
  if (bytes > declarationLimitBytes)
    return { kind: 'unreadable', detail: `the body has ${bytes} bytes, more than ${declarationLimitBytes}` };
  // The signature first: nothing else in it is worth a word before we know whose word it is.
  if (!verify(signedText(envelope), envelope.signature, by.trustedKey)) {
    return {
      kind: 'wrong-signature',
      detail: 'the envelope is not signed by the key this node was given when it joined',
    };
  }
  if (envelope.node !== by.node)
    return { kind: 'another-node', detail: `the envelope is for ${envelope.node}, this node is ${by.node}` };
  const digest = digestOf(envelope.body);
  if (digest !== envelope.digest)
    return { kind: 'digest-mismatch', detail: `the body is ${digest}, but ${envelope.digest} was signed` };
  return declarationOf(envelope);
}

function declarationOf(
  envelope: Envelope,
): { readonly envelope: Envelope; readonly declaration: Declaration } | EnvelopeRefusal {
  let value: unknown;
  try {
    value = JSON.parse(envelope.body);
  } catch {
    // The parser's message quotes the text, so only the fact is passed on.
    return { kind: 'not-a-declaration', detail: 'the body is not JSON' };
  }
  const read = declarationSchema.safeParse(value);
  if (!read.success)
    return { kind: 'not-a-declaration', detail: `the body is not a declaration: ${placesOf(read.error)}` };
  if (read.data.node !== envelope.node) {
    return {
      kind: 'not-a-declaration',
      detail: `the body speaks of ${read.data.node}, the envelope of ${envelope.node}`,
    };
  }
  return { envelope, declaration: read.data };
}

/** Where a value breaks its schema, and how: paths and codes only, since a message may quote what it found. */
function placesOf(error: z.ZodError): string {
  const shown = error.issues.slice(0, 5).map((issue) => `${issue.path.join('.') || 'the whole'} (${issue.code})`);
  return shown.join(', ');
}
