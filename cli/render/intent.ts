import type { Json } from '../answer.ts';
import type { BindingBody, PortBody } from '../bodies/placement.ts';
import type { Look } from './look.ts';
import { nextLines } from './problem.ts';
import { indent, table } from './table.ts';

type Placed = { readonly node: string; readonly module: string };

/** `mesh assign`. */
export function drawAssigned(
  of: Placed & {
    readonly change: string;
    readonly broughtAlong: readonly string[];
    readonly ports: readonly PortBody[];
    readonly bindings: readonly BindingBody[];
  },
  look: Look,
): string {
  const name = look.paint.bold(`${of.module} on ${of.node}`);
  if (of.change === 'same') return `${name} was assigned already.`;
  const lines = [
    ...of.broughtAlong.map((module) => `${module} comes along: it is required there`),
    ...of.ports.map(portLine),
    ...of.bindings.map(({ module, provision, provider }) => `${module} takes ${provision} from ${provider}`),
  ];
  return [
    `${name} is assigned.`,
    ...(lines.length === 0 ? [] : [indent(lines.join('\n'))]),
    ...nextLines([`mesh plan ${of.node}`, `mesh push ${of.node}`], look),
  ].join('\n');
}

/** `mesh unassign`. */
export function drawUnassigned(
  of: Placed & {
    readonly left: readonly string[];
    readonly releasedPorts: readonly PortBody[];
    readonly releasedClaims: readonly string[];
  },
  look: Look,
): string {
  const along = of.left.filter((module) => module !== of.module);
  const stays = of.left.includes(of.module)
    ? []
    : [`${of.module} stays on ${of.node}: another module there requires it`];
  const lines = [
    ...stays,
    ...along.map((module) => `${module} goes along: nothing else there requires it`),
    ...of.releasedPorts.map((port) => `given back: ${portLine(port)}`),
    ...of.releasedClaims.map((claim) => `given back: ${claim}`),
  ];
  const said = `${look.paint.bold(`${of.module} on ${of.node}`)} is not assigned any more.`;
  return [said, ...(lines.length === 0 ? [] : [indent(lines.join('\n'))]), ...nextLines(['mesh push'], look)].join(
    '\n',
  );
}

/** `mesh pin`. */
export function drawPinned(
  of: {
    readonly node: string;
    readonly provision: string;
    readonly provider: string;
    readonly change: string;
    readonly moved: readonly BindingBody[];
  },
  look: Look,
): string {
  const said = `${look.paint.bold(of.node)} takes ${of.provision} from ${of.provider}${of.change === 'same' ? ' already' : ''}.`;
  const moved = of.moved.map(
    ({ module, provider }) => `${module} goes to ${provider} from now on; its data does not move along`,
  );
  return [
    said,
    ...(moved.length === 0 ? [] : [indent(moved.join('\n'))]),
    ...(of.change === 'same' ? [] : nextLines(['mesh plan', 'mesh push'], look)),
  ].join('\n');
}

/** `mesh unpin`. */
export function drawUnpinned(of: {
  readonly node: string;
  readonly provision: string;
  readonly provider: string;
}): string {
  return `${of.node} is not pinned to ${of.provider} for ${of.provision} any more. Bindings stay where they are.`;
}

/** `mesh set`. */
export function drawSet(of: Placed & { readonly name: string; readonly value: Json | undefined }, look: Look): string {
  return [
    `${of.name} of ${of.module} on ${of.node} is ${shown(of.value)}.`,
    ...nextLines([`mesh push ${of.node}`], look),
  ].join('\n');
}

/** `mesh set --unset`. */
export function drawUnset(of: Placed & { readonly name: string }, look: Look): string {
  return [
    `${of.name} of ${of.module} on ${of.node} is as its manifest says again.`,
    ...nextLines([`mesh push ${of.node}`], look),
  ].join('\n');
}

/** `mesh settings`. */
export function drawSettings(
  of: {
    readonly settings: readonly (Placed & { readonly name: string; readonly value: Json | undefined })[];
    readonly labels: readonly LabelBody[];
  },
  look: Look,
): string {
  const settings = of.settings.map(({ node, module, name, value }) => [node, module, name, shown(value)]);
  const labels = of.labels.map(({ node, module, listens, label }) => [node, module, listens, label]);
  const tables = [
    ...(settings.length === 0 ? [] : [table(['node', 'module', 'setting', 'value'], settings, look)]),
    ...(labels.length === 0 ? [] : [table(['node', 'module', 'route', 'label'], labels, look)]),
  ];
  return tables.length === 0 ? 'Nothing is set: every module is told what its manifest says.' : tables.join('\n\n');
}

type LabelBody = Placed & { readonly listens: string; readonly label: string };

/** `mesh set --label`. */
export function drawLabelSet({ node, module, listens, label }: LabelBody, look: Look): string {
  return [
    `The route of ${module} on ${node} to ${listens} has the label ${look.paint.bold(label)}.`,
    ...nextLines([`mesh why ${node}/${module}`], look),
  ].join('\n');
}

/** `mesh set --label --unset`. */
export function drawLabelUnset({ node, module, listens }: Omit<LabelBody, 'label'>, look: Look): string {
  return [
    `The route of ${module} on ${node} to ${listens} has the label that its manifest says again.`,
    ...nextLines([`mesh why ${node}/${module}`], look),
  ].join('\n');
}

const portLine = ({ module, listens, protocol, port, fixed }: PortBody): string =>
  `port ${port}/${protocol} for ${module} (${listens})${fixed ? ', fixed' : ''}`;
const shown = (value: Json | undefined): string =>
  typeof value === 'string' ? JSON.stringify(value) : value === undefined ? 'nothing' : JSON.stringify(value);
