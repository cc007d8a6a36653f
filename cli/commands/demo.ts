import { answer } from '../answer.ts';
import type { CommandDefinition } from '../definition.ts';
import { exit } from '../exit.ts';
import type { Summary } from '../demo/tour.ts';
import { drawDemo } from '../render/demo.ts';
import type { Look } from '../render/look.ts';

export const demo: CommandDefinition = {
  name: 'demo',
  group: 'the mesh',
  summary: 'a tour on a mesh of its own: three nodes, a real database, a rotation without a failed login',
  details:
    'Raises a mesh in a folder of its own, runs the modules in examples/, rotates two credentials while a separate program logs in all the time, kills a host, and says what it measured. All of it is taken down again, unless --keep.',
  options: [{ name: 'keep', says: 'leave the mesh running, and say how to look at it and how to take it down' }],
  examples: ['mesh demo', 'mesh demo --keep', 'mesh demo --json'],
  async run(given) {
    const { runDemo } = await import('../demo/run-demo.ts');
    const keep = given.flag('keep');
    const summary = await runDemo({ keep });
    const draw = (body: Summary, look: Look): string => drawDemo(body, look, { isRunning: keep });
    return answer('mesh.demo', summary, draw, isWell(summary) ? exit.done : exit.failed);
  },
};

/** Whether all that the tour claims was so. */
function isWell({ nodes, current, rotation, hostKilled }: Summary): boolean {
  const rotated = rotation.committed && rotation.oldRefused && rotation.newWorks && rotation.failedLogins === 0;
  return nodes === current && rotated && hostKilled.processesKeptTheirPids && hostKilled.currentAgain;
}
