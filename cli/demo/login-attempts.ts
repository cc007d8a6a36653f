/** A program beside the demo that logs in again and again, and what came of each try (U14). */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

const attempt = z.object({ at: z.iso.datetime(), login: z.string().nullable(), sqlstate: z.string().nullable() });
export type Attempt = z.infer<typeof attempt>;

const program = fileURLToPath(new URL('../../../examples/login-again.mjs', import.meta.url));

/** Where a consumer's access lies: in one file as an address, or in one with the credential and one with the facts. */
export type AccessFiles = { readonly url: string } | { readonly credential: string; readonly facts: string };

/** Starts logging in with what the files hold at each moment, until stopped; answers every attempt, oldest first. */
export function logInAgainAndAgain(files: AccessFiles): {
  readonly attempts: readonly Attempt[];
  stop(): Promise<readonly Attempt[]>;
} {
  const attempts: Attempt[] = [];
  const named = Object.entries(files).flatMap(([name, file]) => [`--${name}`, file]);
  const child: ChildProcess = spawn(process.execPath, [program, ...named], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const lines = child.stdout === null ? undefined : createInterface({ input: child.stdout });
  lines?.on('line', (line) => attempts.push(attempt.parse(JSON.parse(line))));
  return {
    attempts,
    async stop() {
      child.kill('SIGTERM');
      await ended;
      return attempts;
    },
  };
}

/** How many attempts failed, and between two times, and the longest stretch, ms, from a failed one to the next that worked. */
export function tally(attempts: readonly Attempt[]): { readonly failed: number; readonly windowMs: number } {
  let failedSince: number | undefined;
  let windowMs = 0;
  for (const { at, sqlstate } of attempts) {
    if (sqlstate !== null) failedSince ??= Date.parse(at);
    else if (failedSince !== undefined) {
      windowMs = Math.max(windowMs, Date.parse(at) - failedSince);
      failedSince = undefined;
    }
  }
  return { failed: attempts.filter(({ sqlstate }) => sqlstate !== null).length, windowMs };
}

/** Attempts between two times, RFC 3339; none when a time is missing. */
export function during(attempts: readonly Attempt[], from: string | undefined, until: string | undefined): number {
  if (from === undefined || until === undefined) return 0;
  return attempts.filter(({ at }) => Date.parse(at) >= Date.parse(from) && Date.parse(at) <= Date.parse(until)).length;
}
