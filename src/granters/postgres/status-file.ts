/** The status that the granter leaves beside its directory, for the host to carry in its reports (S8). */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { granterStatus, type GranterStatus } from '../../domain/report/report.ts';

export type StatusFile = {
  /** What stood in it when the granter started; undefined when nothing readable did. */
  readonly before: GranterStatus | undefined;
  /** Writes it whole, when it says something else than before. A change of counts and times alone waits for `now`. */
  write(status: GranterStatus, nowMs: number): void;
};

// Logins that go on and on are no news: what only says so is written once in a while.
const countsEveryMs = 1_000;

/** Opens a status file for writing; the folder it is in must be there. */
export function statusFile(file: string): StatusFile {
  const before = readStatus(file);
  let written = before === undefined ? '' : JSON.stringify(before);
  let facts = before === undefined ? '' : factsOf(before);
  let writtenMs = -Infinity;
  return {
    before,
    write(status, nowMs) {
      const text = JSON.stringify(status);
      if (text === written) return;
      const factsNow = factsOf(status);
      if (factsNow === facts && nowMs - writtenMs < countsEveryMs) return;
      replace(file, `${JSON.stringify(status, undefined, 2)}\n`);
      written = text;
      facts = factsNow;
      writtenMs = nowMs;
    },
  };
}

/** The status without what changes at every login, but with whether there was one. */
function factsOf(status: GranterStatus): string {
  return JSON.stringify({
    ...status,
    entries: status.entries.map((entry) => ({ ...entry, seen: entry.seen > 0, lastSeenAt: undefined })),
  });
}

function readStatus(file: string): GranterStatus | undefined {
  try {
    return granterStatus.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    // Absent or not ours to understand: it is written anew from what the server says.
    return undefined;
  }
}

function replace(file: string, text: string): void {
  const next = `${file}.next`;
  const handle = openSync(next, 'w', 0o644);
  try {
    writeSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  renameSync(next, file);
}
