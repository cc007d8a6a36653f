/** Ports of a machine: assigned once, kept while the module is assigned, derived everywhere and written nowhere twice (M17, M18). */
import type { Listens } from '../manifest/manifest.ts';
import type { Refusal } from '../refusal/refusal.ts';
import type { NodeFacts, PortRow, Protocol } from '../resolution/inventory.ts';
import type { Placed } from '../words/names.ts';

/** Both ends included. */
export const assignedRange = { from: 20_000, to: 29_999 } as const;

export type Allocation = {
  readonly kind: 'allocated';
  /** All that the module has now: kept ones and new ones. */
  readonly rows: readonly PortRow[];
  readonly added: readonly PortRow[];
  /** Rows of the module that no longer belong to it: its manifest changed. */
  readonly dropped: readonly PortRow[];
};

type Facts = {
  readonly placed: Placed;
  readonly listens: readonly Listens[];
  /** Every row of the node, this module's included. */
  readonly taken: readonly PortRow[];
  readonly carried: NodeFacts['carriedPorts'];
  readonly range?: { readonly from: number; readonly to: number };
};

/**
 * The ports of one module on one node. What it has is kept (M18); a fixed one is claimed on each of its protocols (M19); others
 * get the lowest number that is free on all of theirs and that the node does not carry (M21). Refusals: `port-held` and
 * `port-carried` for a fixed one, `ports-exhausted`. Nothing is half allocated.
 */
export function allocatePorts(facts: Facts): Allocation | Refusal {
  const { placed, listens, taken, carried } = facts;
  const mine = taken.filter((row) => isOf(row, placed));
  const others = new Map(taken.filter((row) => !isOf(row, placed)).map((row) => [keyOf(row), row]));
  const carriedKeys = new Set(carried.map(keyOf));
  const used = new Set([...others.keys(), ...carriedKeys]);
  const rows: PortRow[] = [];
  const take = (wanted: Listens, port: number): void => {
    for (const protocol of protocolsOf(wanted)) {
      used.add(keyOf({ protocol, port }));
      rows.push({ ...placed, listens: wanted.name, protocol, port, fixed: wanted.fixed });
    }
  };
  const open: Listens[] = [];
  // Fixed ones, then what is there already: a number that is free for anybody must not be given away before them.
  for (const wanted of listens.filter((one) => one.fixed)) {
    const clash = protocolsOf(wanted).map((protocol) => keyOf({ protocol, port: wanted.port }));
    if (clash.some((key) => carriedKeys.has(key))) return portCarried(placed, wanted);
    const holder = clash.map((key) => others.get(key)).find((row) => row !== undefined);
    if (holder !== undefined) return portHeld(placed, wanted, holder);
    take(wanted, wanted.port);
  }
  const assigned = new Map(mine.flatMap((row) => (row.fixed ? [] : [[row.listens, row.port] as const])));
  for (const wanted of listens.filter((one) => !one.fixed)) {
    const kept = assigned.get(wanted.name);
    if (kept !== undefined && isFree(used, wanted, kept)) take(wanted, kept);
    else open.push(wanted);
  }
  const range = facts.range ?? assignedRange;
  for (const wanted of open) {
    const port = lowestFree(used, wanted, range);
    if (port === undefined) return exhausted(facts, range);
    take(wanted, port);
  }
  const [had, has] = [new Set(mine.map(wholly)), new Set(rows.map(wholly))];
  return {
    kind: 'allocated',
    rows,
    added: rows.filter((row) => !had.has(wholly(row))),
    dropped: mine.filter((row) => !has.has(wholly(row))),
  };
}

const isOf = (row: PortRow, { node, module }: Placed): boolean => row.node === node && row.module === module;
const keyOf = ({ protocol, port }: { readonly protocol: Protocol; readonly port: number }): string =>
  `${protocol} ${port}`;
const wholly = (row: PortRow): string => `${keyOf(row)} ${row.listens} ${row.fixed}`;
const protocolsOf = ({ protocol }: Listens): readonly Protocol[] => (protocol === 'both' ? ['tcp', 'udp'] : [protocol]);
const isFree = (used: ReadonlySet<string>, wanted: Listens, port: number): boolean =>
  protocolsOf(wanted).every((protocol) => !used.has(keyOf({ protocol, port })));

function lowestFree(
  used: ReadonlySet<string>,
  wanted: Listens,
  { from, to }: { from: number; to: number },
): number | undefined {
  for (let port = from; port <= to; port += 1) if (isFree(used, wanted, port)) return port;
  return undefined;
}

/** A fixed port that another module holds: refused naming the holder, also after a lost race (M22). */
export function portHeld({ node, module }: Placed, { name, port }: Listens, holder: PortRow): Refusal {
  return {
    kind: 'port-held',
    what: `${module} listens as ${name} on port ${port} of ${node}, which ${holder.module} holds as ${holder.listens}`,
    why: 'a port of a machine has one holder for each protocol',
    next: [`mesh unassign ${node} ${holder.module}`, `mesh assign <another node> ${module}`],
    facts: { node, module, port, protocol: holder.protocol, holder: holder.module },
  };
}

function portCarried({ node, module }: Placed, { name, port }: Listens): Refusal {
  return {
    kind: 'port-carried',
    what: `${module} listens as ${name} on port ${port} of ${node}, which the node itself carries`,
    why: 'what a node raised by itself was there first, and no declaration touches it',
    next: [`mesh assign <another node> ${module}`],
    facts: { node, module, port },
  };
}

function exhausted({ placed, taken, carried }: Facts, { from, to }: { from: number; to: number }): Refusal {
  const inRange = (port: number): boolean => port >= from && port <= to;
  const counts = new Map<string, number>();
  for (const row of taken) if (inRange(row.port)) counts.set(row.module, (counts.get(row.module) ?? 0) + 1);
  const carriedCount = carried.filter(({ port }) => inRange(port)).length;
  const holders = [...counts]
    .toSorted(([a, many], [b, few]) => few - many || (a < b ? -1 : 1))
    .map(([module, count]) => `${module} ${count}`);
  return {
    kind: 'ports-exhausted',
    what: `no port from ${from} to ${to} of ${placed.node} is free for ${placed.module}; held by ${[...holders, ...(carriedCount > 0 ? [`the node itself ${carriedCount}`] : [])].join(', ')}`,
    why: 'the mesh assigns from this range alone, so that what it opens can be told from everything else',
    next: [`mesh assign <another node> ${placed.module}`, `mesh unassign ${placed.node} <module>`],
    facts: { node: placed.node, module: placed.module, holders },
  };
}
