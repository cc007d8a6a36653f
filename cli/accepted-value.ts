/** Where a value comes from that a person hands over: a file, a pipe, or the keyboard; never an argument (S12). */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';

import { Plaintext } from '../src/sealing/plaintext.ts';
import type { Ask } from './context.ts';
import { problem, Stopped } from './problem.ts';

/**
 * The value byte for byte, or one byte more than `atMost` of what is longer. `from`: a file, `-` for standard input; without it
 * the keyboard is asked. Ends the command as `usage` where there is no terminal to ask on.
 */
export async function valueFrom(
  from: string | undefined,
  of: { readonly ask: Pick<Ask, 'isInteractive'>; readonly question: string; readonly atMost: number },
): Promise<Plaintext> {
  const { ask, question, atMost } = of;
  if (from !== undefined && !(from === '-' && process.stdin.isTTY)) return streamed(from, atMost);
  if (!ask.isInteractive) throw nobodyToAsk();
  const { askHidden } = await import('./hidden-line.ts');
  return cleared(await askHidden(question, atMost));
}

async function streamed(from: string, atMost: number): Promise<Plaintext> {
  try {
    return await firstBytes(from === '-' ? process.stdin : createReadStream(from), atMost + 1);
  } catch (cause) {
    throw new Error(`${from === '-' ? 'standard input' : from} cannot be read`, { cause });
  }
}

/** At most so many bytes of a stream, whose chunks are cleared. */
export async function firstBytes(stream: Readable, count: number): Promise<Plaintext> {
  const kept = Buffer.alloc(count);
  let length = 0;
  for await (const chunk of stream) {
    if (!Buffer.isBuffer(chunk)) throw new Error('the stream is not one of bytes');
    length += chunk.copy(kept, length);
    chunk.fill(0);
    if (length === count) break;
  }
  const value = new Plaintext(kept.subarray(0, length));
  kept.fill(0);
  return value;
}

function cleared(typed: Buffer): Plaintext {
  const value = new Plaintext(typed);
  typed.fill(0);
  return value;
}

const nobodyToAsk = (): Stopped =>
  new Stopped(
    problem('usage', {
      what: 'mesh secret accept needs --from FILE, or --from - for what is piped in',
      why: 'there is no terminal to ask on, and a value in an argument is seen by everybody on the machine',
      next: ['mesh secret accept NODE/MODULE SECRET --from FILE', '… | mesh secret accept NODE/MODULE SECRET --from -'],
    }),
  );
