/** The streams of one run: answers on stdout, everything else on stderr (U2, U4). */
import type { Answer } from './answer.ts';
import type { Context, Progress } from './context.ts';
import type { ExitCode } from './exit.ts';
import type { Problem } from './problem.ts';
import { lookOn, type Look } from './render/look.ts';
import { drawProblem, problemBody } from './render/problem.ts';
import type { Env, Settings } from './settings.ts';

export type Terminal = {
  context(settings: Settings): Context;
  print(answer: Answer): void;
  printRaw(text: string): void;
  /** Says it in words on stderr, or as JSON on stdout; answers the code to end with. */
  problem(problem: Problem): ExitCode;
};

/** The terminal of this process. */
export function terminal({
  env,
  isJson,
  noColor,
}: {
  readonly env: Env;
  readonly isJson: boolean;
  readonly noColor: boolean;
}): Terminal {
  const lookOf = (stream: NodeJS.WriteStream): Look => lookOn(stream, env, noColor, Date.now());
  const progress = progressOn(process.stderr);
  const printRaw = (text: string): void => {
    progress.clear();
    process.stdout.write(`${text}\n`);
  };
  const print = (answer: Answer): void => {
    if (isJson) return printRaw(JSON.stringify({ schema: answer.schema, version: answer.version, ...answer.body }));
    const text = answer.text(lookOf(process.stdout));
    if (text !== '') printRaw(text);
  };
  const repaint = (answer: Answer): void => {
    progress.clear();
    const lines = answer.text(lookOf(process.stdout)).split('\n');
    // Over what stands there, each line to its end, and what is below cleared: a screen that is cleared first would flicker.
    process.stdout.write(`\u001b[H${lines.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`);
  };
  return {
    print,
    printRaw,
    problem: (problem) => {
      progress.clear();
      if (isJson) {
        if (problem.stack !== undefined) process.stderr.write(`${problem.stack}\n`);
        printRaw(JSON.stringify(problemBody(problem)));
      } else process.stderr.write(`${drawProblem(problem, lookOf(process.stderr))}\n`);
      return problem.exitCode;
    },
    context: (settings) => ({
      settings,
      isJson,
      look: lookOf(process.stdout),
      progressLook: lookOf(process.stderr),
      progress,
      print,
      repaint: isJson || !process.stdout.isTTY || env['TERM'] === 'dumb' ? undefined : repaint,
      printRaw,
      ask: { isInteractive: process.stdin.isTTY && process.stderr.isTTY, line: askOnStderr },
    }),
  };
}

function progressOn(stream: NodeJS.WriteStream): Progress {
  let shown = '';
  const clear = (): void => {
    if (!stream.isTTY || shown === '') return;
    stream.write('\r\u001b[2K');
    shown = '';
  };
  return {
    clear,
    say: (line) => {
      clear();
      stream.write(`${line}\n`);
    },
    step: (line) => {
      if (line === shown) return;
      if (stream.isTTY) {
        clear();
        // Cut to the width: a line that wraps could not be taken away again.
        stream.write(line.slice(0, Math.max(20, stream.columns - 1)));
      } else stream.write(`${line}\n`);
      shown = line;
    },
  };
}

async function askOnStderr(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}
