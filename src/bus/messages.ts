/** Messages are checked at the border on both sides (U17): nothing is sent that does not fit its schema, nothing read unchecked. */
import type { z } from 'zod';

export type Unreadable = { readonly subject: string; readonly reason: string; readonly body: Uint8Array };

/** The bytes of a message. Throws when the value does not fit: a bug on this side, found before it is sent. */
export function write<Schema extends z.ZodType>(schema: Schema, value: z.input<Schema>): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(schema.parse(value)));
}

/** A message as its schema reads it, or why it cannot be read: places and codes, nothing quoted of it. */
export function read<Schema extends z.ZodType>(
  schema: Schema,
  bytes: Uint8Array,
): { readonly value: z.output<Schema> } | { readonly reason: string } {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    // The parser's message quotes what it read.
    return { reason: 'it is not JSON in UTF-8' };
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return { value: parsed.data };
  const places = parsed.error.issues
    .slice(0, 5)
    .map((issue) => `${issue.path.join('.') || 'the whole'} (${issue.code})`);
  return { reason: `it does not fit its schema: ${places.join(', ')}` };
}
