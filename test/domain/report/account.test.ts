import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import {
  accountOf,
  hearing,
  isStuck,
  isWhole,
  standing,
  unreachableSince,
  type Account,
  type Sent,
  type Standing,
} from '../../../src/domain/report/account.ts';
import { report as reportSchema, type Report } from '../../../src/domain/report/report.ts';

const cases = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../cases');
const json = <Value>(file: string, schema: z.ZodType<Value>): Value =>
  schema.parse(JSON.parse(readFileSync(path.join(cases, file), 'utf8')));

const base = {
  schema: 'mesh.report',
  version: 1,
  node: 'alpha',
  boot: 1,
  sequence: 1,
  outcome: 'applied',
  declared: 2,
  applied: 2,
  failures: [],
  drift: [],
  kept: [],
  capabilities: [],
  carriedPorts: [],
  granters: [],
  intervalMs: 10,
  stampedAt: '2026-01-01T00:00:00Z',
} as const;
const say = (part: { [Field in keyof Report]?: unknown } = {}): Report => reportSchema.parse({ ...base, ...part });
const failed = (sequence: number, resource = 'a', error = 'exit 1') =>
  say({ sequence, outcome: 'failed', applied: 1, failures: [{ resource, error }] });
/** The row after these reports, each received at its place in the list times 100. */
function after(reports: readonly Report[], from?: Account): Account {
  let row = from;
  for (const [index, one] of reports.entries()) {
    const judged = accountOf(row, one, (index + 1) * 100);
    if (judged.kind === 'stored') row = judged.account;
  }
  if (row === undefined) throw new Error('nothing was stored');
  return row;
}

describe('one row a node', () => {
  test('[D16] it says outcome, digest, how many of how many, and each failed resource with its error', () => {
    const row = after([
      say({ digest: 'd', number: 7, outcome: 'failed', applied: 1, failures: [{ resource: 'a', error: 'disk full' }] }),
    ]);
    expect(row).toMatchObject({
      outcome: 'failed',
      digest: 'd',
      number: 7,
      declared: 2,
      applied: 1,
      failures: [{ resource: 'a', error: 'disk full' }],
      receivedAt: 100,
    });
  });

  test('[D17] the same failure keeps its start and is counted, whatever its text says', () => {
    const row = after([failed(1, 'a', 'after 3 s'), failed(2, 'a', 'after 5 s'), failed(3, 'a', 'after 9 s')]);
    expect([row.failingSince, row.failingReports]).toEqual([100, 3]);
  });

  test.each<[string, Report]>([
    ['another resource', failed(3, 'b')],
    ['another outcome', say({ sequence: 3, outcome: 'refused', refusal: { kind: 'signature', detail: '' } })],
  ])('[D17] %s starts again', (_what, next) => {
    const row = after([failed(1), failed(2), next]);
    expect([row.failingSince, row.failingReports]).toEqual([300, 1]);
  });

  test('[D17] another refusal starts again, and a clean apply clears', () => {
    const refusedFor = (sequence: number, kind: string) =>
      say({ sequence, outcome: 'refused', refusal: { kind, detail: String(sequence) } });
    expect(after([refusedFor(1, 'schema'), refusedFor(2, 'signature')]).failingReports).toBe(1);
    expect(after([refusedFor(1, 'schema'), refusedFor(2, 'schema')]).failingReports).toBe(2);
    expect(after([failed(1), say({ sequence: 2 })])).toMatchObject({ failingReports: 0 });
    expect(after([failed(1), say({ sequence: 2 })])).not.toHaveProperty('failingSince');
  });

  test('[D18] three in a row are stuck; a row without a start is never', () => {
    expect(isStuck(after([failed(1), failed(2)]))).toBe(false);
    expect(isStuck(after([failed(1), failed(2), failed(3)]))).toBe(true);
    const { failingSince: _, ...old } = after([failed(1), failed(2), failed(3)]);
    const on = accountOf(old, failed(4), 400);
    expect(on.kind === 'stored' && [on.account.failingReports, isStuck(on.account)]).toEqual([4, false]);
  });

  test('[D19] what is not applied, or speaks of fewer than declared, is no account of what a machine holds', () => {
    expect(isWhole(say())).toBe(true);
    expect(isWhole(say({ applied: 1 }))).toBe(false);
    expect(isWhole(failed(1))).toBe(false);
    expect(isWhole(say({ outcome: 'refused' }))).toBe(false);
    expect(isWhole(say({ outcome: 'idle', declared: 0, applied: 0 }))).toBe(true);
  });

  test('[D20] whatever the order of arrival, the row is of the highest counter that arrived', () => {
    const counter = fc.record({ boot: fc.integer({ min: 1, max: 3 }), sequence: fc.integer({ min: 1, max: 5 }) });
    fc.assert(
      fc.property(fc.array(counter, { minLength: 1 }), (counters) => {
        const row = after(counters.map((one) => say(one)));
        const highest = counters.toSorted((a, b) => b.boot - a.boot || b.sequence - a.sequence)[0];
        expect([row.boot, row.sequence]).toEqual([highest?.boot, highest?.sequence]);
      }),
    );
  });
});

describe('three facts', () => {
  const sent: Sent = { digest: 'new', number: 2 };
  const row = (part: { [Field in keyof Report]?: unknown }) => after([say({ digest: 'new', number: 2, ...part })]);

  test.each<[string, Parameters<typeof standing>[0], Standing]>([
    [
      'all is well only when same, current and applied',
      { wouldSend: 'new', sent, account: row({}) },
      { told: 'same', report: 'current', outcome: 'applied', well: true },
    ],
    [
      'behind',
      { wouldSend: 'newer', sent, account: row({}) },
      { told: 'behind', report: 'current', outcome: 'applied', well: false },
    ],
    [
      'unresolvable is not behind',
      { wouldSend: undefined, sent, account: row({}) },
      { told: 'unresolvable', report: 'current', outcome: 'applied', well: false },
    ],
    [
      'never told, and so no report can be about it',
      { wouldSend: 'new', account: row({ outcome: 'idle', digest: undefined, number: undefined }) },
      { told: 'never told', outcome: 'idle', well: false },
    ],
    ['never spoke', { wouldSend: 'new', sent }, { told: 'same', report: 'waiting', well: false }],
    [
      'an old digest',
      { wouldSend: 'new', sent, account: row({ digest: 'old', number: 1 }) },
      { told: 'same', report: 'waiting', outcome: 'applied', well: false },
    ],
    [
      'no digest',
      { wouldSend: 'new', sent, account: row({ digest: undefined, number: undefined }) },
      { told: 'same', report: 'waiting', outcome: 'applied', well: false },
    ],
    [
      'an older sending of the same content',
      { wouldSend: 'new', sent, account: row({ number: 1 }) },
      { told: 'same', report: 'waiting', outcome: 'applied', well: false },
    ],
    [
      'failed',
      { wouldSend: 'new', sent, account: row({ outcome: 'failed', applied: 1 }) },
      { told: 'same', report: 'current', outcome: 'failed', well: false },
    ],
    [
      'applied in part',
      { wouldSend: 'new', sent, account: row({ applied: 1 }) },
      { told: 'same', report: 'current', outcome: 'applied', well: false },
    ],
  ])('[D23] %s', (_what, of, expected) => expect(standing(of)).toEqual(expected));

  test('[D21] quiet after three of its own intervals, silent when it never spoke', () => {
    expect(hearing(undefined, 0)).toBe('silent');
    expect(hearing({ receivedAt: 100, intervalMs: 10 }, 130)).toBe('heard');
    expect(hearing({ receivedAt: 100, intervalMs: 10 }, 131)).toBe('quiet');
  });

  test('[C50] [D22] a quiet node is not reachable since its next report was due; any other has no such time', () => {
    expect(unreachableSince({ receivedAt: 100, intervalMs: 10 }, 131)).toBe(110);
    expect(unreachableSince({ receivedAt: 100, intervalMs: 10 }, 130)).toBeUndefined();
    expect(unreachableSince(undefined, 131)).toBeUndefined();
  });

  test('[C76] what the bus has lost is not well, until a report no longer says so', () => {
    const gone = after([say({ digest: 'd', number: 2, declarationGone: true })]);
    const of = (account: Account) => standing({ wouldSend: 'd', sent: { digest: 'd', number: 2 }, account });
    expect(of(gone)).toEqual({ told: 'same', report: 'current', outcome: 'applied', well: false });
    expect(of(after([say({ sequence: 2, digest: 'd', number: 2 })], gone)).well).toBe(true);
  });
});

// Step 24 is shown as far as this host goes: it never goes back to an older declaration by itself, so a row has one outcome.
test('[D20] [D23] [C52] a report for an older declaration is never taken for the present one', () => {
  const steps = json(
    'C52-report-for-an-older-declaration/scenario.json',
    z.array(
      z.object({
        n: z.number(),
        do: z.string(),
        decl: z.number().optional(),
        digest: z.string().optional(),
        seq: z.number().optional(),
        state: z.string().optional(),
      }),
    ),
  );
  const expected = json('C52-report-for-an-older-declaration/expected.json', z.record(z.string(), z.string()));
  let sent: Sent | undefined;
  let row: Account | undefined;
  const asked: Record<string, string> = {};
  for (const step of steps) {
    // D7: content that was sent already is not sent again, so it gets no new number.
    if (step.do === 'declare' && step.digest !== undefined && step.digest !== sent?.digest)
      sent = { digest: step.digest, number: step.decl ?? 0 };
    if (step.do === 'report') {
      // What the case calls declaration 3 was never a sending of its own here: it is number 2 still.
      const number = step.decl === 3 ? 2 : step.decl;
      const judged = accountOf(
        row,
        say({
          sequence: step.seq,
          number,
          digest: step.digest,
          outcome: step.state === 'failed' ? 'failed' : 'applied',
          applied: step.state === 'failed' ? 1 : 2,
          failures: step.state === 'failed' ? [{ resource: 'app', error: 'exit 1' }] : [],
        }),
        step.n,
        sent,
      );
      if (judged.kind === 'stored') row = judged.account;
      else asked[`${step.n} ignored`] = judged.why;
    }
    if (step.do === 'ask') {
      const { report, well } = standing({ wouldSend: sent?.digest, sent, account: row });
      asked[String(step.n)] = well ? 'in step' : (report ?? 'never told');
    }
  }
  for (const [n, must] of Object.entries(expected)) {
    if (must.startsWith('in step') || must.includes('or in step')) expect([n, asked[n]]).toEqual([n, 'in step']);
    else expect([n, asked[n]]).toEqual([n, 'waiting']);
  }
  expect(asked['13 ignored']).toContain('not newer');
  expect(asked['19 ignored']).toContain('declaration 9, which was never sent');
});

test('[D20] [D21] [C53] clocks that disagree decide nothing', () => {
  const reports = json(
    'C53-clocks-that-disagree/reports.json',
    z.array(
      z.object({ arrives: z.number(), node: z.string(), seq: z.number(), stamped: z.number(), state: z.string() }),
    ),
  );
  const rows = new Map<string, Account>();
  for (const one of reports) {
    const stampedAt = new Date((1_700_000_000 + one.stamped) * 1000).toISOString();
    const judged = accountOf(
      rows.get(one.node),
      say({
        node: one.node,
        sequence: one.seq,
        stampedAt,
        outcome: one.state === 'running' ? 'applied' : 'failed',
        intervalMs: 20_000,
        drift: [one.state],
      }),
      one.arrives * 1000,
    );
    if (judged.kind === 'stored') rows.set(one.node, judged.account);
  }
  const shown = (name: string, now: number) => {
    const row = rows.get(name);
    return [row?.drift[0], hearing(row, now * 1000), (row?.receivedAt ?? 0) / 1000];
  };
  expect(['n1', 'n2', 'n3'].map((name) => shown(name, 40))).toEqual([
    ['stopped', 'heard', 20],
    ['running', 'heard', 31],
    ['failed', 'heard', 30],
  ]);
  expect(['n1', 'n2', 'n3'].map((name) => shown(name, 120)[1])).toEqual(['quiet', 'quiet', 'quiet']);
});
