/** The one place that turns whatever was thrown into what a person, or a program, is told. */
import { errorChain } from '../src/domain/words/error-chain.ts';
import { problem, Stopped, type Problem } from './problem.ts';

/** What to say of something that was thrown: a problem as it is, a fault of the world in its words, a bug with its stack. */
export function problemOf(thrown: unknown): Problem {
  if (thrown instanceof Stopped) return thrown.problem;
  const links = chain(thrown);
  if (links.some(isBug) || !links.some(isOfTheWorld)) return bug(thrown);
  return problem('fault', {
    what: said(links),
    why: hint(links) ?? 'something that mesh stands on did not do what was asked of it',
    next: links.some((link) => codeOf(link) === 'ECONNREFUSED') ? ['mesh up'] : ['mesh doctor'],
  });
}

/** A sentence of each link, in order; what a link repeats of the one before is left out. */
function said(links: readonly unknown[]): string {
  const text = errorChain(links[0]);
  return text === '' ? (codeOf(links.at(-1)) ?? 'an error without words') : text;
}

function chain(thrown: unknown): readonly unknown[] {
  const links: unknown[] = [];
  for (let at = thrown; at !== undefined && links.length < 16; at = at instanceof Error ? at.cause : undefined) {
    links.push(at);
    // Several attempts at one address are one fault: the first says it.
    if (at instanceof AggregateError) links.push(firstOf(at));
  }
  return links;
}

function firstOf({ errors }: AggregateError): unknown {
  return errors[0];
}

const bugNames = new Set(['TypeError', 'ReferenceError', 'RangeError', 'AssertionError', 'ZodError', '$ZodError']);

function isBug(link: unknown): boolean {
  if (!(link instanceof Error)) return true;
  // Node's own errors about addresses and files are TypeErrors with a code; fetch and sockets throw those for the world's faults.
  return bugNames.has(link.name) && codeOf(link) === undefined && link.message !== 'fetch failed';
}

/** A fault says so: by a code (system, SQLSTATE, gRPC), or by a cause that somebody put beneath it with words of his own. */
function isOfTheWorld(link: unknown): boolean {
  return link instanceof Error && (codeOf(link) !== undefined || link.cause !== undefined);
}

function codeOf(link: unknown): string | undefined {
  if (!(link instanceof Error) || !('code' in link)) return undefined;
  if (typeof link.code === 'string') return link.code;
  return typeof link.code === 'number' ? String(link.code) : undefined;
}

const hints: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers at that address; the mesh may be down (mesh up raises it)',
  ENOTFOUND: 'that name has no address here',
  EACCES: 'this user may not do that',
  EPERM: 'this user may not do that',
  ENOSPC: 'the disk is full',
  EADDRINUSE: 'another program has that address and port',
  '28P01': 'the store does not take the password of the state folder; is it the folder of this mesh?',
  '3D000': 'the store has no such database',
  '42P01': 'the store has not the tables of this version; mesh up brings them up to date',
};

function hint(links: readonly unknown[]): string | undefined {
  return links.flatMap((link) => hints[codeOf(link) ?? ''] ?? []).at(0);
}

function bug(thrown: unknown): Problem {
  return {
    ...problem('bug', {
      what: `mesh came upon a case it does not know: ${errorChain(thrown)}`,
      why: 'this is a fault in mesh itself, not in what you asked',
      next: ['report it where you got mesh from, with the lines above and the output of: mesh --version'],
    }),
    ...(thrown instanceof Error && thrown.stack !== undefined ? { stack: thrown.stack } : {}),
  };
}
