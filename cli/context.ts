/** What a command has besides its command line: the settings, and the two streams that it speaks on. */
import type { Answer } from './answer.ts';
import { problem, Stopped } from './problem.ts';
import type { Look } from './render/look.ts';
import type { Settings } from './settings.ts';

export type Context = {
  readonly settings: Settings;
  readonly isJson: boolean;
  /** Of stdout, and of stderr. */
  readonly look: Look;
  readonly progressLook: Look;
  /** A line of progress, on stderr. Steps on a terminal replace each other; elsewhere each is a line of its own (U2). */
  readonly progress: Progress;
  /** Prints an answer at once: for commands that go on (a stream of events). */
  readonly print: (answer: Answer) => void;
  /** Puts an answer in the place of all that stands on the terminal; undefined where there is none to paint on. */
  readonly repaint: ((answer: Answer) => void) | undefined;
  /** Text for a program that reads stdout: a token, a schema. */
  readonly printRaw: (text: string) => void;
  readonly ask: Ask;
};

export type Progress = {
  /** Something that happened: a line that stays. */
  readonly say: (line: string) => void;
  /** What is being waited for: replaces the last such line on a terminal. */
  readonly step: (line: string) => void;
  /** Takes the step's line away, before something else is printed. */
  readonly clear: () => void;
};

export type Ask = {
  /** Both ends of the conversation are a terminal. */
  readonly isInteractive: boolean;
  line(question: string): Promise<string>;
};

/** U3: y/N for what restarts or destroys, unless the flag was given. Not interactive and no flag: refused, naming the flag. */
export async function confirmed(context: Context, isGiven: boolean, question: string, what: string): Promise<void> {
  if (isGiven) return;
  if (!context.ask.isInteractive) {
    throw new Stopped(
      problem('confirmation-needed', {
        what: `${what} needs a yes, and there is nobody to ask`,
        why: 'it takes something away or restarts it, and this is not a terminal',
        next: ['the same command again with --yes (-y)'],
        facts: { flag: '--yes' },
      }),
    );
  }
  const said = (await context.ask.line(`${question} [y/N] `)).trim().toLowerCase();
  if (said === 'y' || said === 'yes') return;
  throw new Stopped(
    problem('declined', { what: `${what} was not confirmed`, why: 'you said no; nothing was changed', next: [] }),
  );
}

/** U3: the listing and the typed name for what destroys. Another name, or nobody to ask and no `--confirm`: refused. */
export async function confirmedByName(
  context: Context,
  of: {
    readonly given: string | undefined;
    readonly name: string;
    readonly what: string;
    readonly listing: readonly string[];
  },
): Promise<void> {
  const { given, name, what, listing } = of;
  if (given === name) return;
  if (given === undefined && context.ask.isInteractive) {
    for (const line of listing) context.progress.say(line);
    if ((await context.ask.line(`Type ${name} to go on: `)).trim() === name) return;
    throw new Stopped(
      problem('declined', {
        what: `${what} was not confirmed`,
        why: 'what you typed is not its name; nothing was changed',
        next: [],
      }),
    );
  }
  throw new Stopped(
    problem('confirmation-needed', {
      what: `${what} needs its name once more`,
      why: listing.join('; '),
      next: [`the same command again with --confirm ${name}`],
      facts: { flag: '--confirm' },
    }),
  );
}
