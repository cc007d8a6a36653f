/** Holding a seat (P3): one module on one node holds it, and of its processes one serves; the lease is by the store's clock. */
import type { PartName } from '../../domain/words/names.ts';
import type { Holder, LeaseRow, LeaseRows } from '../ports/provisioner-rows.ts';
import { controller, type EventRows, type Writes } from '../ports/work.ts';

/** `held`: it is the asker's, until then at least. `waits`: another process of the same module has it. `refused`: another module. */
export type Holding = {
  readonly state: 'held' | 'waits' | 'refused';
  /** Who has it now. */
  readonly holder: Holder;
  readonly since: Date;
  readonly forMs: number;
};

/**
 * Takes the seat, or goes on with it, or says who has it. A lease that ended is anybody's: its holder is gone, or cannot
 * reach the mesh, and then it has stopped serving by itself.
 */
export function holdSeat(
  store: Writes<LeaseRows & EventRows>,
  seat: PartName,
  asker: Holder,
  leaseMs: number,
): Promise<Holding> {
  return store.write(controller, async (tx) => {
    const lease = await tx.holdLease(seat);
    if (lease !== undefined && lease.leftMs > 0 && !isSame(lease, asker))
      return holdingOf(isOfOneModule(lease, asker) ? 'waits' : 'refused', lease);
    const taken = await tx.putLease(seat, asker, leaseMs);
    if (lease === undefined || !isSame(lease, asker)) {
      const before = lease === undefined ? {} : { before: `${lease.module}@${lease.node}` };
      await tx.event({ kind: 'seat-held', about: seat, detail: { module: asker.module, node: asker.node, ...before } });
    }
    return holdingOf('held', taken);
  });
}

/** Gives the seat up, so that a standby need not wait for the lease to end. Nothing where it is not the asker's. */
export function leaveSeat(store: Writes<LeaseRows & EventRows>, seat: PartName, asker: Holder): Promise<void> {
  return store.write(controller, async (tx) => {
    const lease = await tx.holdLease(seat);
    if (lease === undefined || !isSame(lease, asker)) return;
    await tx.deleteLease(seat);
    await tx.event({ kind: 'seat-left', about: seat, detail: { module: asker.module, node: asker.node } });
  });
}

const isOfOneModule = (one: Holder, other: Holder): boolean => one.module === other.module && one.node === other.node;
const isSame = (one: Holder, other: Holder): boolean => isOfOneModule(one, other) && one.process === other.process;

function holdingOf(state: Holding['state'], { module, node, process, heldSince, leftMs }: LeaseRow): Holding {
  return { state, holder: { module, node, process }, since: heldSince, forMs: Math.max(0, Math.round(leftMs)) };
}
