/** What was sent to each node, and what each said since. */
import type { Inventory } from '../../domain/resolution/inventory.ts';
import type { Capability, GranterStatus, Outcome, Report } from '../../domain/report/report.ts';
import type { ModuleName, NodeName, ProvisionName } from '../../domain/words/names.ts';

/** What was last sent; recorded after the send, never before (D4). The body is kept nowhere but on the node's subject. */
export type NewSent = {
  readonly node: NodeName;
  readonly digest: string;
  readonly number: number;
  readonly streamSequence: number;
  /** Resource id → digest of the resource. */
  readonly resources: ReadonlyMap<string, string>;
};
/** Without the resources' digests: they are many, and only a plan asks for them. */
export type SentRow = Omit<NewSent, 'resources'> & { readonly sentAt: Date };
export type LastSent = Omit<NewSent, 'resources'> & {
  /** What the node last said of whatever it was sent; absent: it never spoke. */
  readonly reported?: Pick<ReportRow, 'outcome' | 'digest' | 'number'>;
};

export type SentRows = {
  /** Each only if its number is higher than the one kept; answers the nodes that were recorded. */
  putSent(sent: readonly NewSent[]): Promise<readonly NodeName[]>;
};
export type SentReads = {
  /** Of these nodes, or of all. */
  sentRows(nodes?: readonly NodeName[]): Promise<readonly SentRow[]>;
  /** The same of those of these nodes, or of all, without the time and with the answer: what acts look at again and again. */
  lastSent(nodes?: readonly NodeName[]): Promise<ReadonlyMap<NodeName, LastSent>>;
  /** What each of these nodes was last sent: resource id → digest of the resource. */
  sentResources(nodes: readonly NodeName[]): Promise<ReadonlyMap<NodeName, NewSent['resources']>>;
};

/** The last account of a node (D16, D17). */
export type ReportRow = {
  readonly node: NodeName;
  readonly boot: number;
  readonly sequence: number;
  readonly outcome: Outcome;
  readonly digest?: string;
  readonly number?: number;
  readonly declared: number;
  readonly applied: number;
  readonly failures: readonly {
    readonly resource: string;
    readonly error: string;
    readonly waits?: true | undefined;
  }[];
  readonly refusal?: { readonly kind: string; readonly detail: string };
  readonly drift: readonly string[];
  readonly kept: readonly string[];
  /** The node said that the bus holds no declaration for it any more. */
  readonly declarationGone?: true;
  /** Modules whose files the node left as they are, more than two passes in a row (P10). */
  readonly postponed?: Report['postponed'];
  readonly intervalMs: number;
  readonly stampedAt: string;
  readonly receivedAt: Date;
  /** When the present failure began, and how many reports in a row said the same; absent and 0 when there is none. */
  readonly failingSince?: Date;
  readonly failingReports: number;
};

export type ReportRows = {
  /** The rows that there are, held until the transaction ends, so that two reports of a node are judged one after the other. */
  holdReports(nodes: readonly NodeName[]): Promise<readonly ReportRow[]>;
  /** The highest declaration number that was taken so far, sent or not; 0 when none was. */
  lastNumber(): Promise<number>;
  putReports(rows: readonly ReportRow[]): Promise<void>;
  replaceCapabilities(node: NodeName, capabilities: readonly Capability[]): Promise<void>;
  replaceCarriedPorts(node: NodeName, ports: Report['carriedPorts']): Promise<void>;
  /** The last one of each provision counts. */
  putGranterReports(said: readonly Pick<Report, 'node' | 'granters'>[], receivedAt: Date): Promise<void>;
};
export type ReportReads = {
  reportRows(nodes?: readonly NodeName[]): Promise<readonly ReportRow[]>;
  granterRows(nodes?: readonly NodeName[]): Promise<readonly GranterRow[]>;
};

export type GranterRow = {
  readonly node: NodeName;
  readonly module: ModuleName;
  readonly provision: ProvisionName;
  readonly status: GranterStatus;
  readonly receivedAt: Date;
};
/** All that declarations are composed from. */
export type InventoryReads = { inventory(): Promise<Inventory> };

/** A message that nobody can read (U17). */
export type UnreadableRow = { readonly subject: string; readonly reason: string; readonly body: Uint8Array };
export type UnreadableRows = { insertUnreadable(row: UnreadableRow): Promise<void> };
export type UnreadableReads = {
  unreadableCount(): Promise<{ readonly count: number; readonly subjects: readonly string[] }>;
};
