/**
 * The inventory: all that a declaration is composed from, read in one snapshot. A value: no clock, no store.
 */
import type { Manifest } from '../manifest/manifest.ts';
import type { Capability } from '../report/report.ts';
import type { ModuleName, NodeName, PartName, Placed, ProvisionName } from '../words/names.ts';
import type { OwnSecret, PairSecret } from '../credential/credential.ts';

export type NodeFacts = {
  readonly name: NodeName;
  /** Where other nodes reach it. */
  readonly address: string;
  /** Fingerprint of its sealing key; absent until it has joined. */
  readonly sealingFingerprint?: string;
  /** Absent: it never reported any. An empty list: it reported that it has none (M11). */
  readonly capabilities?: readonly Capability[];
  /** Ports its carried resources declare (M21). */
  readonly carriedPorts: readonly { readonly protocol: Protocol; readonly port: number }[];
};
export type Protocol = 'tcp' | 'udp';

/**
 * A module as it was added: the manifest, and the content of each file that its resources take `from` its folder. Its newest
 * published version; `next` is the one that was added since and waits for its artifacts to be built (P9).
 */
export type CatalogueModule = {
  readonly next?: { readonly version: string; readonly artifacts: readonly PartName[] };
  readonly manifest: Manifest;
  readonly files: ReadonlyMap<
    string,
    { readonly content: string; readonly encoding: 'utf8' | 'base64'; readonly mode: string }
  >;
};

/** A port the mesh assigned on a machine, or a fixed one that is claimed (M17–M19). */
export type PortRow = Placed & {
  readonly listens: PartName;
  readonly protocol: Protocol;
  readonly port: number;
  readonly fixed: boolean;
};

export type Pin = {
  readonly node: NodeName;
  readonly provision: ProvisionName;
  readonly provider: { readonly node: NodeName; readonly module?: ModuleName };
};

/** A binding that was made: it moves only by a pin (M4). */
export type BindingRow = Placed & { readonly provision: ProvisionName; readonly provider: Placed };

export type Inventory = {
  readonly nodes: readonly NodeFacts[];
  readonly modules: readonly CatalogueModule[];
  readonly assignments: readonly Placed[];
  readonly pins: readonly Pin[];
  readonly bindings: readonly BindingRow[];
  readonly ports: readonly PortRow[];
  readonly ownSecrets: readonly OwnSecret[];
  /** All generations that are not withdrawn. */
  readonly pairSecrets: readonly PairSecret[];
};
