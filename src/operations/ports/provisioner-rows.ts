/** Rows of the provisioner: who holds a seat, what was built, and which events the bus is still to hear of. */
import type { ModuleName, PartName } from '../../domain/words/names.ts';

/** One process of one module on one node. A node's name, or where the controller itself is. */
export type Holder = { readonly module: ModuleName; readonly node: string; readonly process: string };
export type LeaseRow = Holder & {
  readonly seat: PartName;
  readonly heldSince: Date;
  /** How long it goes on, by the store's clock at the time of reading; none or less: it has ended. */
  readonly leftMs: number;
};
export type LeaseReads = { leaseRow(seat: PartName): Promise<LeaseRow | undefined> };
export type LeaseRows = LeaseReads & {
  /** The seat's row, held until the transaction ends; whoever comes second waits, also where there is no row yet. */
  holdLease(seat: PartName): Promise<LeaseRow | undefined>;
  /** From now on, for so long. The same process goes on since when it began. */
  putLease(seat: PartName, holder: Holder, leaseMs: number): Promise<LeaseRow>;
  deleteLease(seat: PartName): Promise<void>;
};

/** An artifact of a module's version that was built. */
export type BuildRow = {
  readonly module: ModuleName;
  readonly version: string;
  readonly artifact: PartName;
  readonly digest: string;
  readonly recordedAt: Date;
};
export type BuildReads = { buildRows(): Promise<readonly BuildRow[]> };
export type BuildRows = BuildReads & {
  /** The first digest of an artifact of a version stands. */
  insertBuild(build: Omit<BuildRow, 'recordedAt'>): Promise<boolean>;
};

/** An event that the bus has not heard of yet. */
export type UnrelayedRow = { readonly id: number; readonly kind: string };
export type RelayReads = { unrelayedEvents(): Promise<readonly UnrelayedRow[]> };
export type RelayRows = { setRelayed(ids: readonly number[]): Promise<void> };
