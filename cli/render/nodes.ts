import type { CapabilitiesBody, NodeBody } from '../bodies/node.ts';
import type { Look } from './look.ts';
import { nextLines } from './problem.ts';
import { facts, indent, table, type Cell } from './table.ts';
import { time } from './time.ts';

/** `mesh node invite --out`. */
export function drawInvited(
  of: { readonly node: string; readonly file: string; readonly expiresAt: string },
  look: Look,
): string {
  return [
    `One token for ${look.paint.bold(of.node)} is in ${of.file}. It is good ${time(of.expiresAt, look)} at most, and once.`,
    ...nextLines(
      [
        `mesh node join --token-file ${of.file}   # on that machine`,
        'mesh host                             # there, afterwards',
      ],
      look,
    ),
  ].join('\n');
}

/** `mesh node join`. */
export function drawJoined(
  { node, address, already }: { readonly node: string; readonly address: string; readonly already: boolean },
  look: Look,
): string {
  const said = already
    ? `This machine was ${node} already.`
    : `This machine is ${look.paint.bold(node)} now, reached at ${address}.`;
  return [said, ...nextLines(['mesh host'], look)].join('\n');
}

/** `mesh node list`. */
export function drawNodes({ nodes }: { readonly nodes: readonly NodeBody[] }, look: Look): string {
  if (nodes.length === 0) return ['There are no nodes yet.', ...nextLines(['mesh node invite NAME'], look)].join('\n');
  const rows = nodes.map((node): readonly Cell[] => [
    node.node,
    stateCell(node, look),
    node.address ?? '-',
    node.joinedAt === undefined ? '-' : time(node.joinedAt, look),
  ]);
  return table(['node', 'state', 'address', 'joined'], rows, look);
}

function stateCell({ state }: NodeBody, { paint }: Look): Cell {
  return state === 'joined' ? { text: state, paint: paint.green } : { text: state, paint: paint.yellow };
}

/** `mesh node set`. */
export function drawNodeSet(
  { node, publicDomain }: { readonly node: string; readonly publicDomain?: string },
  look: Look,
): string {
  const said =
    publicDomain === undefined
      ? `${look.paint.bold(node)} has no public domain any more: labels of routes on it are no names.`
      : `Labels of routes on ${look.paint.bold(node)} are names under ${publicDomain}.`;
  return [said, ...nextLines([`mesh plan ${node}`], look)].join('\n');
}

export type ShownNode = NodeBody & {
  readonly capabilities: CapabilitiesBody;
  readonly modules: readonly string[];
  readonly pins: readonly { readonly provision: string; readonly provider: string }[];
  readonly ports: readonly ShownPort[];
  /** Given back, and not free before the machine has answered that it runs without them. */
  readonly leavingPorts: readonly ShownPort[];
};
type ShownPort = {
  readonly module: string;
  readonly listens: string;
  readonly protocol: string;
  readonly port: number;
};

/** `mesh node show`. */
export function drawNode(node: ShownNode, look: Look): string {
  const { paint } = look;
  const section = (title: string, lines: readonly string[], none: string): string =>
    `${paint.bold(title)}\n${indent(lines.length === 0 ? none : lines.join('\n'))}`;
  return [
    facts(
      [
        ['node', { text: node.node, paint: paint.bold }],
        ['state', stateCell(node, look)],
        ['address', node.address],
        ['public domain', node.publicDomain],
        ['sealing key', node.sealingFingerprint],
        ['invited', time(node.invitedAt, look)],
        ['joined', node.joinedAt === undefined ? undefined : time(node.joinedAt, look)],
      ],
      look,
    ),
    section('modules', node.modules, 'none'),
    section(
      'pins',
      node.pins.map(({ provision, provider }) => `${provision}  ${provider}`),
      'none',
    ),
    section(
      'ports',
      [
        ...node.ports.map((one) => `${one.port}/${one.protocol}  ${one.module} (${one.listens})`),
        ...node.leavingPorts.map((one) =>
          paint.yellow(
            `${one.port}/${one.protocol}  ${one.module}, being removed: ${node.node} has not confirmed that it is gone`,
          ),
        ),
      ],
      'none',
    ),
    section(
      'capabilities',
      node.capabilities.list.map((one) =>
        one.present ? `${one.name}  ${detailText(one.detail)}` : `${one.name}  ${paint.dim(`no: ${one.reason ?? ''}`)}`,
      ),
      node.capabilities.reported ? 'it reported that it has none' : 'it has never reported any',
    ),
  ].join('\n\n');
}

function detailText(detail: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(detail ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

/** What goes with a node, a line each, before it is confirmed. */
export function removalListing(of: {
  readonly node: string;
  readonly pins: readonly string[];
  readonly credentials: readonly string[];
}): readonly string[] {
  const secrets = of.credentials.map((path) => `destroys the secret ${path}`);
  const pins = of.pins.map((pin) => `drops the pin: ${pin}`);
  return [`this takes ${of.node} out of the mesh`, ...secrets, ...pins];
}

/** `mesh node remove`. */
export function drawRemoved(
  of: {
    readonly node: string;
    readonly pins: readonly string[];
    readonly pinsCount: number;
    readonly credentials: readonly string[];
    readonly credentialsCount: number;
  },
  look: Look,
): string {
  const lines = [
    ...of.pins.map((pin) => `dropped the pin: ${pin}`),
    ...(of.pinsCount > of.pins.length ? [`and ${of.pinsCount - of.pins.length} more pins`] : []),
    ...of.credentials.map((path) => `destroyed the secret ${path}`),
    ...(of.credentialsCount > of.credentials.length
      ? [`and ${of.credentialsCount - of.credentials.length} more secrets`]
      : []),
  ];
  const told = look.paint.green(`${of.node} is removed, and its account on the bus is closed.`);
  return lines.length === 0 ? told : `${told}\n${indent(lines.join('\n'))}`;
}
