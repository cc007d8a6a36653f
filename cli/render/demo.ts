import type { Summary } from '../demo/tour.ts';
import type { Look } from './look.ts';

/** How the demo's summary reads. A link to what runs no more would lead nowhere. */
export function drawDemo(body: Summary, look: Look, { isRunning }: { readonly isRunning: boolean }): string {
  const { rotation, passwordForm, hostKilled } = body;
  const mark = (isSo: boolean): string => (isSo ? look.paint.green('yes') : look.paint.red('no'));
  const lines: readonly (readonly [string, string])[] = [
    ['nodes current', `${body.current} of ${body.nodes}`],
    ['rotation committed', mark(rotation.committed)],
    ['old credential refused', mark(rotation.oldRefused)],
    ['new credential works', mark(rotation.newWorks)],
    ['logins during it', `${rotation.attempts}, of them ${rotation.attemptsDuringOverlap} while both worked`],
    ['logins that failed', String(rotation.failedLogins)],
    ['sessions broken off', String(rotation.brokenSessions)],
    [
      'password form',
      `a window of at most ${passwordForm.windowMs} ms, ${passwordForm.failedLogins} of ${passwordForm.attempts} logins failed in it`,
    ],
    [
      'host killed',
      `its processes kept their pids: ${mark(hostKilled.processesKeptTheirPids)}; current again: ${mark(hostKilled.currentAgain)}`,
    ],
    [
      'time',
      `${(body.startedMs / 1000).toFixed(1)} s until three nodes were up, ${(body.totalMs / 1000).toFixed(1)} s in all`,
    ],
    ['memory', `${body.peakMiB} MiB at most`],
    ...(isRunning ? [['Temporal UI', body.temporalUi] as const] : []),
  ];
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n');
}
