/** Asking for a value on a terminal: the question on stderr, and nothing of what is typed on the screen (S12, C94). */
import { problem, Stopped } from './problem.ts';

/**
 * One line as it was typed, in bytes, without its end; it goes on reading past `atMost` bytes, and keeps one more than that. Ends
 * the command when it is interrupted, and when more than one line was pasted. What is answered is the caller's to clear.
 */
export async function askHidden(question: string, atMost: number): Promise<Buffer> {
  const { stdin, stderr } = process;
  // Before the question is there, so that whatever is typed after it is not shown.
  stdin.setRawMode(true);
  stderr.write(question);
  const typed = Buffer.alloc(atMost + 1);
  try {
    const length = await readLine(stdin, typed);
    return typed.subarray(0, length);
  } catch (error) {
    typed.fill(0);
    throw error;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}

/** Fills `typed` until the line ends; answers how much of it. */
function readLine(stdin: NodeJS.ReadStream, typed: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    let length = 0;
    const settle = (how: () => void): void => {
      stdin.off('data', take).off('end', ended).off('error', failed);
      how();
    };
    const failed = (cause: Error): void => settle(() => reject(new Error('the terminal cannot be read', { cause })));
    const ended = (): void => settle(() => reject(interrupted()));
    const take = (chunk: Buffer): void => {
      for (const [at, byte] of chunk.entries()) {
        if (byte === key.enter || byte === key.lineFeed) {
          const isLast = at === chunk.length - 1;
          settle(() => (isLast ? resolve(length) : reject(severalLines())));
          break;
        }
        if (byte === key.interrupt || byte === key.endOfInput) {
          settle(() => reject(interrupted()));
          break;
        }
        length = afterKey(typed, length, byte);
      }
      chunk.fill(0);
    };
    stdin.on('data', take).on('end', ended).on('error', failed);
  });
}

const key = {
  interrupt: 0x03,
  endOfInput: 0x04,
  backspace: 0x08,
  lineFeed: 0x0a,
  enter: 0x0d,
  clear: 0x15,
  delete: 0x7f,
};

/** How much is typed after one more byte. */
function afterKey(typed: Buffer, length: number, byte: number): number {
  if (byte === key.clear) return 0;
  if (byte !== key.backspace && byte !== key.delete) {
    if (length < typed.length) typed[length] = byte;
    return Math.min(length + 1, typed.length);
  }
  let left = Math.max(length - 1, 0);
  // A whole character goes, of however many bytes.
  while (left > 0 && isContinued(typed[left])) left -= 1;
  return left;
}

const isContinued = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

const interrupted = (): Stopped =>
  new Stopped(problem('interrupted', { what: 'you stopped typing', why: 'nothing was handed over', next: [] }));

const severalLines = (): Stopped =>
  new Stopped(
    problem('usage', {
      what: 'more than one line was pasted',
      why: 'a line is all that can be typed here; nothing was handed over',
      next: ['write the value into a file, and give that with --from FILE'],
    }),
  );
