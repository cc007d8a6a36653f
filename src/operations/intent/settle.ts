/**
 * Settling: what the mesh gives and takes back when an intent changes: ports, claims and recorded bindings, for the module that
 * was named and for all that its requirements bring along (M2). Worked out as values first, so that a refusal has written nothing.
 */
import { allocatePorts } from '../../domain/assignment/allocate-ports.ts';
import { claimHeld, claimsOf } from '../../domain/assignment/claims.ts';
import { wantedPorts } from '../../domain/assignment/wanted-ports.ts';
import type { Listens } from '../../domain/manifest/manifest.ts';
import { isRefusal, type Refusal } from '../../domain/refusal/refusal.ts';
import { indexOf, type InventoryIndex } from '../../domain/resolution/inventory-index.ts';
import type { BindingRow, Inventory, PortRow } from '../../domain/resolution/inventory.ts';
import type { Binding, Resolution } from '../../domain/resolution/resolve.ts';
import { walk } from '../../domain/resolution/walk.ts';
import { grouped } from '../../domain/words/grouped.ts';
import type { ModuleName, NodeName } from '../../domain/words/names.ts';
import type { ClaimRow, IntentReads, IntentRows } from '../ports/module-rows.ts';

type Changes<Row> = { readonly added: readonly Row[]; readonly dropped: readonly Row[] };
export type Settlement = {
  readonly ports: Changes<PortRow>;
  readonly claims: Changes<ClaimRow>;
  /** `added` holds moved ones too: a binding moves by a pin alone (M4), which the resolution has seen to. */
  readonly bindings: Changes<BindingRow>;
};

export type Intended = {
  /** The inventory as it will be, and its resolution. */
  readonly inventory: Inventory;
  readonly resolution: Resolution;
  /** Claims as they are, and ports that were given back and may still be in use. */
  readonly claims: readonly ClaimRow[];
  readonly released: readonly PortRow[];
  /** Whose modules have changed. */
  readonly nodes: readonly NodeName[];
};

/** Refusals: `claim-held`, `port-held`, `port-carried`, `ports-exhausted`, each naming the holder (M13, M17, M19, M21). */
export function settle(intended: Intended): Settlement | Refusal {
  const ports = settlePorts(intended);
  if (isRefusal(ports)) return ports;
  const claims = settleClaims(intended);
  if (isRefusal(claims)) return claims;
  return { ports, claims, bindings: settleBindings(intended) };
}

/** What is held now: claims, and ports that were given back and may still be in use. */
export async function heldIn(tx: IntentReads): Promise<Pick<Intended, 'claims' | 'released'>> {
  return { claims: await tx.claimRows(), released: await tx.releasedPorts() };
}

/** Writes a settlement; what is given back goes first, so that it can be given away again. */
export async function record(tx: IntentRows, { ports, claims, bindings }: Settlement): Promise<void> {
  if (ports.dropped.length > 0) await tx.releasePorts(ports.dropped);
  if (claims.dropped.length > 0) await tx.deleteClaims(claims.dropped);
  if (bindings.dropped.length > 0) await tx.deleteBindings(bindings.dropped);
  if (ports.added.length > 0) await tx.insertPorts(ports.added);
  if (claims.added.length > 0) await tx.insertClaims(claims.added);
  if (bindings.added.length > 0) await tx.putBindings(bindings.added);
}

/** All modules that end up on a node, sorted. */
export function modulesOn(inventory: Inventory, node: NodeName): readonly ModuleName[] {
  return walk(indexOf(inventory), node).modules.map(({ module }) => module);
}

function settlePorts(intended: Intended): Changes<PortRow> | Refusal {
  const added: PortRow[] = [];
  const dropped: PortRow[] = [];
  const ports = grouped(intended.inventory.ports, (row) => row.node);
  for (const node of intended.nodes) {
    const settled = portsOfNode(intended, node, ports.get(node) ?? []);
    if (isRefusal(settled)) return settled;
    added.push(...settled.added);
    dropped.push(...settled.dropped);
  }
  return { added, dropped };
}

/** `rows`: the ports that the node's modules have now. */
function portsOfNode(
  { inventory, released }: Intended,
  node: NodeName,
  rows: readonly PortRow[],
): Changes<PortRow> | Refusal {
  const index = indexOf(inventory);
  const modules = new Set(modulesOn(inventory, node));
  const givenBack = released.filter((row) => row.node === node);
  const added: PortRow[] = [];
  const dropped = rows.filter(({ module }) => !modules.has(module));
  // What leaves now is in use on the machine until it has answered, like what left before.
  let taken = [...rows, ...givenBack];
  const ordered = [...modules].toSorted((a, b) => Number(hasFixed(index, b)) - Number(hasFixed(index, a)));
  for (const module of ordered) {
    const listens = portsOf(index, module);
    const carried = index.nodes.get(node)?.carriedPorts ?? [];
    const allocated = allocatePorts({ placed: { node, module }, listens, taken, carried });
    if (isRefusal(allocated)) return beingRemoved(allocated, node, [...dropped, ...givenBack]);
    added.push(...allocated.added, ...allocated.rows.filter((row) => givenBack.some((one) => isSamePort(one, row))));
    dropped.push(...allocated.dropped.filter((row) => rows.includes(row)));
    taken = [...taken.filter((row) => row.module !== module), ...allocated.rows];
  }
  return { added, dropped };
}

function isSamePort(one: PortRow, other: PortRow): boolean {
  return one.node === other.node && one.protocol === other.protocol && one.port === other.port;
}

/** A holder that was unassigned is still the holder, until its node has answered. */
function beingRemoved(refusal: Refusal, node: NodeName, leaving: readonly PortRow[]): Refusal {
  const holder = leaving.find(({ module }) => module === refusal.facts?.['holder'])?.module;
  if (refusal.kind !== 'port-held' || holder === undefined) return refusal;
  return {
    ...refusal,
    what: `${refusal.what}: ${holder}, being removed`,
    why: `${node} has not answered yet that it runs without it, and its port is in use until then`,
    next: [`mesh push ${node}`, `mesh status`],
  };
}

/** Fixed numbers are given out before any number that could be another. */
const hasFixed = (index: InventoryIndex, module: ModuleName): boolean =>
  portsOf(index, module).some(({ fixed }) => fixed);

function portsOf(index: InventoryIndex, module: ModuleName): readonly Listens[] {
  const known = index.modules.get(module);
  return known === undefined ? [] : wantedPorts(known.manifest);
}

function settleClaims({ inventory, nodes, claims }: Intended): Changes<ClaimRow> | Refusal {
  const wanted = nodes.flatMap((node) => claimsOnNode(inventory, node));
  const wantedKeys = new Set(wanted.map(holdingKey));
  const settled = new Set(nodes);
  const dropped = claims.filter((row) => settled.has(row.node) && !wantedKeys.has(holdingKey(row)));
  const gone = new Set(dropped.map(claimKey));
  const held = new Map(claims.filter((row) => !gone.has(claimKey(row))).map((row) => [claimKey(row), row]));
  const added: ClaimRow[] = [];
  for (const claim of wanted) {
    const holder = held.get(claimKey(claim));
    if (holder === undefined) {
      added.push(claim);
      held.set(claimKey(claim), claim);
    } else if (holdingKey(holder) !== holdingKey(claim)) return claimHeld(claim, claim, holder);
  }
  return { added, dropped };
}

function claimsOnNode(inventory: Inventory, node: NodeName): readonly ClaimRow[] {
  return modulesOn(inventory, node).flatMap((module) => {
    const known = indexOf(inventory).modules.get(module);
    return known === undefined ? [] : claimsOf(known.manifest, node).map((claim) => ({ ...claim, node, module }));
  });
}

const claimKey = ({ name, place }: ClaimRow): string => `${place}/${name}`;
const holdingKey = (row: ClaimRow): string => `${claimKey(row)} ${row.node}/${row.module}`;

/**
 * Every binding that the resolution makes is recorded, whichever node's it is: one that is made use of without a row could be
 * taken for a free choice later. Rows of the settled nodes that nothing requires any more go.
 */
function settleBindings({ inventory, resolution, nodes }: Intended): Changes<BindingRow> {
  const made = [...resolution.nodes.values()].flatMap((node) => node.bindings.map(rowOf));
  const there = new Map(inventory.bindings.map((row) => [bindingKey(row), row]));
  const required = new Set(nodes.flatMap((node) => requirementsOn(inventory, node)));
  const settled = new Set(nodes);
  return {
    added: made.filter((row) => !isSame(there.get(bindingKey(row)), row)),
    dropped: inventory.bindings.filter((row) => settled.has(row.node) && !required.has(bindingKey(row))),
  };
}

/** What the modules of a node ask of the mesh. */
function requirementsOn(inventory: Inventory, node: NodeName): readonly string[] {
  return walk(indexOf(inventory), node).asks.map(({ module, provision }) => bindingKey({ node, module, provision }));
}

const rowOf = ({ consumer, provision, provider }: Binding): BindingRow => ({ ...consumer, provision, provider });
const bindingKey = ({ node, module, provision }: Pick<BindingRow, 'node' | 'module' | 'provision'>): string =>
  `${node}/${module}/${provision}`;

function isSame(one: BindingRow | undefined, other: BindingRow): boolean {
  return one?.provider.node === other.provider.node && one.provider.module === other.provider.module;
}
