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
