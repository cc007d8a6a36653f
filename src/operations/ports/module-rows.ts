/** Modules as they were added, and what is intended of them. */
import type { Manifest } from '../../domain/manifest/manifest.ts';
import type { BindingRow, CatalogueModule, Pin, PortRow } from '../../domain/resolution/inventory.ts';
import type { ModuleName, NodeName, PartName, Placed, ProvisionName } from '../../domain/words/names.ts';

/** What a module's resources take from its folder, by the path there. */
export type ModuleFiles = CatalogueModule['files'];

export type NewModule = {
  readonly manifest: Manifest;
  readonly files: ModuleFiles;
  /** Of manifest and files together: the same module added twice is the same digest. */
  readonly digest: string;
};
export type ModuleRow = {
  readonly module: ModuleName;
  readonly version: string;
  readonly digest: string;
  readonly addedAt: Date;
};
export type ModuleReads = {
  moduleRows(): Promise<readonly ModuleRow[]>;
  moduleManifest(
    module: ModuleName,
  ): Promise<(ModuleRow & { readonly manifest: Manifest; readonly files: readonly string[] }) | undefined>;
};
export type ModuleRows = ModuleReads & {
  /** By the name (M15): what is assigned, set and made for it stays where it was. */
  putModule(module: NewModule): Promise<void>;
};

export type ClaimRow = Placed & {
  readonly name: string;
  /** A node's name, or `*` for the whole mesh. */
  readonly place: string;
};
export type SettingRow = Placed & { readonly name: PartName; readonly value: unknown };

export type IntentReads = {
  bindingRows(): Promise<readonly BindingRow[]>;
  claimRows(): Promise<readonly ClaimRow[]>;
  /** Those that modules have. */
  portRows(node?: NodeName): Promise<readonly PortRow[]>;
  /** Those given back that the machine may still use: its last word is not that it runs without that module. */
  releasedPorts(node?: NodeName): Promise<readonly PortRow[]>;
  settingRows(node?: NodeName): Promise<readonly SettingRow[]>;
};
export type IntentRows = IntentReads & {
  /** False when it is assigned already. */
  insertAssignment(placed: Placed): Promise<boolean>;
  deleteAssignment(placed: Placed): Promise<boolean>;
  /** A module that comes back takes what it had given back. */
  insertPorts(ports: readonly PortRow[]): Promise<void>;
  /** Gives them back; those that no machine can still use are free at once. */
  releasePorts(ports: readonly PortRow[]): Promise<void>;
  insertClaims(claims: readonly ClaimRow[]): Promise<void>;
  deleteClaims(claims: readonly ClaimRow[]): Promise<void>;
  /** A binding that is there moves to the provider given. */
  putBindings(bindings: readonly BindingRow[]): Promise<void>;
  deleteBindings(bindings: readonly Pick<BindingRow, 'node' | 'module' | 'provision'>[]): Promise<void>;
  putPin(pin: Pin): Promise<void>;
  deletePin(node: NodeName, provision: ProvisionName): Promise<Pin | undefined>;
  putSetting(setting: SettingRow): Promise<void>;
  deleteSetting(placed: Placed, name: PartName): Promise<boolean>;
};
