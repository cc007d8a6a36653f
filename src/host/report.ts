/** The report of a node, made of what its last pass came to (D16, D19, D20). Pure. */
import type { Capability, Report } from '../domain/report/report.ts';
import type { NodeName } from '../domain/words/names.ts';
import type { Applied } from './apply/apply.ts';
import type { Refused } from './verify.ts';

/** What a pass came to. What was refused is spoken of alone: its counts never mix with those of what the node still has. */
export type Pass =
  | { readonly kind: 'idle' }
  | ({ readonly kind: 'applied'; readonly digest: string; readonly number: number; readonly applied: Applied } & Gone)
  | ({ readonly kind: 'refused'; readonly refused: Refused; readonly reconciled?: Applied } & Gone);
/** The bus holds no declaration for the node, which accepted one and goes on with it (C76). */
type Gone = { readonly gone?: true };

export type Reported = {
  readonly node: NodeName;
  readonly boot: number;
  readonly sequence: number;
  readonly intervalMs: number;
  readonly capabilities: readonly Capability[];
  readonly granters: Report['granters'];
  readonly stampedAt: string;
};

/** The report of one pass. Outcome `applied` only when every declared resource is as declared and nothing failed (D19). */
export function composeReport(pass: Pass, about: Reported): Report {
  return {
    schema: 'mesh.report',
    version: 1,
    node: about.node,
    boot: about.boot,
    sequence: about.sequence,
    ...whatCameOf(pass),
    ...postponedIn(pass),
    ...(pass.kind !== 'idle' && pass.gone === true ? { declarationGone: true } : {}),
    capabilities: [...about.capabilities],
    carriedPorts: [],
    granters: about.granters,
    intervalMs: about.intervalMs,
    stampedAt: about.stampedAt,
  };
}

function postponedIn(pass: Pass): Pick<Report, 'postponed'> {
  const applied = pass.kind === 'applied' ? pass.applied : pass.kind === 'refused' ? pass.reconciled : undefined;
  return applied?.postponed === undefined ? {} : { postponed: [...applied.postponed] };
}

type Account = Pick<
  Report,
  'outcome' | 'digest' | 'number' | 'declared' | 'applied' | 'failures' | 'refusal' | 'drift' | 'kept'
>;

function whatCameOf(pass: Pass): Account {
  const nothing = { declared: 0, applied: 0, failures: [], drift: [], kept: [] };
  switch (pass.kind) {
    case 'idle':
      return { outcome: 'idle', ...nothing };
    case 'applied': {
      const { declared, applied, failures, drift, kept } = pass.applied;
      const isWhole = failures.length === 0 && applied === declared;
      return {
        outcome: isWhole ? 'applied' : 'failed',
        digest: pass.digest,
        number: pass.number,
        declared,
        applied,
        failures: [...failures],
        drift: [...drift],
        kept: [...kept],
      };
    }
    case 'refused': {
      const { refusal, digest, number, declared } = pass.refused;
      return {
        outcome: 'refused',
        ...nothing,
        ...(digest === undefined ? {} : { digest }),
        ...(number === undefined ? {} : { number }),
        declared,
        refusal,
        drift: [...(pass.reconciled?.drift ?? [])],
        kept: [...(pass.reconciled?.kept ?? [])],
      };
    }
    default:
      return pass satisfies never;
  }
}

/**
 * The report, made to fit (C81): each step takes away what is needed least, and says how much. Outcome, digest, counts
 * and the name of each failed resource stay as long as there is any room at all.
 */
export function fitReport(report: Report, limitBytes: number): Report {
  const steps: readonly ((long: Report) => Report)[] = [
    (long) => ({
      ...long,
      failures: cutErrors(long.failures, 500),
      drift: firstOf(long.drift, 100),
      kept: firstOf(long.kept, 100),
    }),
    (long) => ({
      ...long,
      failures: cutErrors(long.failures, 100),
      drift: firstOf(long.drift, 5),
      kept: firstOf(long.kept, 5),
    }),
    (long) => ({ ...long, granters: long.granters.map(withoutWithdrawn) }),
    (long) => ({ ...long, failures: long.failures.slice(0, 200) }),
    (long) => ({ ...long, granters: [] }),
  ];
  return steps.reduce((fits, step) => (bytesOf(fits) <= limitBytes ? fits : step(fits)), report);
}

function bytesOf(report: Report): number {
  return Buffer.byteLength(JSON.stringify(report));
}

function cutErrors(failures: Report['failures'], length: number): Report['failures'] {
  return failures.map(({ error, ...rest }) => ({
    ...rest,
    error: error.length <= length ? error : `${error.slice(0, length)}…`,
  }));
}

function firstOf(sentences: readonly string[], count: number): string[] {
  const more = sentences.length - count;
  return more <= 0 ? [...sentences] : [...sentences.slice(0, count), `and ${more} more`];
}

function withoutWithdrawn(carried: Report['granters'][number]): Report['granters'][number] {
  return {
    ...carried,
    status: { ...carried.status, entries: carried.status.entries.filter(({ state }) => state !== 'withdrawn') },
  };
}
