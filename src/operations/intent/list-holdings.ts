import type { PortRow } from '../../domain/resolution/inventory.ts';
import type { NodeName } from '../../domain/words/names.ts';
import type { ClaimRow, IntentReads } from '../ports/module-rows.ts';
import type { Reads } from '../ports/work.ts';

export type Holdings = {
  readonly claims: readonly ClaimRow[];
  readonly ports: readonly (PortRow & {
    /** leaving: its module was unassigned, and the machine has not answered yet that it runs without it. */
    readonly state: 'held' | 'leaving';
  })[];
};

/** Who holds which claim and which port of a machine, of one node or of all. */
export function listHoldings(store: Reads<IntentReads>, node?: NodeName): Promise<Holdings> {
  return store.read(async (view) => {
    const held = (await view.portRows(node)).map((row) => ({ ...row, state: 'held' as const }));
    const leaving = (await view.releasedPorts(node)).map((row) => ({ ...row, state: 'leaving' as const }));
    const claims = (await view.claimRows()).filter((row) => node === undefined || row.node === node);
    return { claims, ports: [...held, ...leaving] };
  });
}
