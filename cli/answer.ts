/** What a command answers: one body, from which both the text and the JSON are made (U6, D21). */
import { exit, type ExitCode } from './exit.ts';
import type { Look } from './render/look.ts';

/** Names, numbers, texts, and lists and records of them. No null: what is not so is not there. */
export type Json = string | number | boolean | readonly Json[] | { readonly [name: string]: Json | undefined };
export type Body = { readonly [name: string]: Json | undefined };

export type Answer = {
  readonly schema: `mesh.${string}`;
  readonly version: number;
  readonly body: Body;
  readonly text: (look: Look) => string;
  readonly exitCode: ExitCode;
};

/** An answer whose text is drawn from its body and nothing else. Times in a body are RFC 3339 UTC. */
export function answer<B extends Body>(
  schema: `mesh.${string}`,
  body: B,
  draw: (body: B, look: Look) => string,
  exitCode: ExitCode = exit.done,
): Answer {
  return { schema, version: 1, body, text: (look) => draw(body, look), exitCode };
}

/** A detail as it may stand in an answer: what JSON has no place for, and null, is left out. */
export function jsonOf(value: unknown): Json | undefined {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.flatMap((one) => jsonOf(one) ?? []);
  if (typeof value !== 'object' || value === null) return undefined;
  const fields: Record<string, Json> = {};
  for (const [name, each] of Object.entries(value)) {
    const json = jsonOf(each);
    if (json !== undefined) fields[name] = json;
  }
  return fields;
}
