import type { GranterFault } from '../../domain/act/waiting.ts';
import type { ReportReads } from '../ports/declaration-rows.ts';

type GranterRow = Awaited<ReturnType<ReportReads['granterRows']>>[number];

/** The granters among these that can do nothing at all for now, and since when. */
export function faultsOf(granters: readonly GranterRow[]): readonly GranterFault[] {
  return granters.flatMap(({ node, provision, status: { fault, faultSince } }) =>
    fault === undefined ? [] : [{ provider: node, provision, fault, faultSince }],
  );
}
