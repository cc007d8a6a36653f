import type { Look } from './look.ts';
import { nextLines } from './problem.ts';
import { facts, table } from './table.ts';

export type RaisedBody = {
  readonly state: string;
  readonly postgres: string;
  readonly nats: string;
  readonly temporal: string;
  readonly temporalUi: string;
  readonly nodes: readonly { readonly node: string; readonly address: string; readonly root: string }[];
};

/** `mesh up`. */
export function drawRaised(of: RaisedBody, look: Look): string {
  const { paint } = look;
  const [first] = of.nodes;
  return [
    paint.green('The mesh is up.'),
    '',
    facts(
      [
        ['state', of.state],
        ['PostgreSQL', of.postgres],
        ['NATS', of.nats],
        ['Temporal', of.temporal],
        ['Temporal UI', { text: of.temporalUi, paint: paint.cyan }],
      ],
      look,
    ),
    ...(first === undefined
      ? []
      : [
          '',
          table(
            ['node', 'address', 'root'],
            of.nodes.map(({ node, address, root }) => [node, address, root]),
            look,
          ),
        ]),
    ...nextLines(
      first === undefined
        ? ['mesh node invite NAME', 'mesh module add DIR']
        : ['mesh status', 'mesh module add DIR', `mesh assign ${first.node} MODULE`, 'mesh push'],
      look,
    ),
  ].join('\n');
}

/** `mesh down`. */
export function drawLowered(
  { state, stopped }: { readonly state: string; readonly stopped: readonly string[] },
  look: Look,
): string {
  const said = stopped.length === 0 ? 'Nothing was running.' : `Stopped: ${stopped.join(', ')}.`;
  return [`${said} All is kept in ${state}.`, ...nextLines(['mesh up'], look)].join('\n');
}
