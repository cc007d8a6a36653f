import { answer } from '../answer.ts';
import type { CommandDefinition } from '../definition.ts';
import { drawRaised } from '../render/local.ts';

export const up: CommandDefinition = {
  name: 'up',
  group: 'the mesh',
  summary: 'raise a mesh on this machine: its store, bus, Temporal and controller, and nodes if asked',
  details:
    'Needs no container engine. Everything lives in the state folder and survives down and up. What runs is taken as it is. With --nodes: hosts named alpha, beta, gamma, … each a process with its own state, root and loopback address.',
  options: [
    {
      name: 'nodes',
      value: 'N',
      kind: 'count',
      says: 'how many nodes there are to be on this machine',
      byDefault: '0',
    },
  ],
  examples: ['mesh up', 'mesh up --nodes 3', 'mesh up --state ./trial --nodes 3'],
  async run(given, context) {
    const { raiseMesh } = await import('../local/raise-mesh.ts');
    const { isRefusal } = await import('../../src/domain/refusal/refusal.ts');
    const { problem, Stopped } = await import('../problem.ts');
    const nodes = given.number('nodes');
    if (nodes > 100)
      throw new Stopped(
        problem('usage', {
          what: `one machine does not run ${nodes} nodes`,
          why: '100 is the most',
          next: ['mesh up --help'],
        }),
      );
    let raised: Awaited<ReturnType<typeof raiseMesh>>;
    try {
      raised = await raiseMesh(context, nodes);
    } catch (cause) {
      if (cause instanceof Stopped) throw cause;
      throw new Error('the mesh could not be raised', { cause });
    }
    return isRefusal(raised)
      ? raised
      : answer('mesh.up', { ...raised, nodes: raised.nodes.map((node) => ({ ...node })) }, drawRaised);
  },
};
