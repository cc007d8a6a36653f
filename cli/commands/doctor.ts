import { answer } from '../answer.ts';
import type { CommandDefinition } from '../definition.ts';
import { exit } from '../exit.ts';
import { drawDoctor } from '../render/doctor.ts';

export const doctor: CommandDefinition = {
  name: 'doctor',
  group: 'what is so',
  summary: "say what is wrong with this machine's set-up, and what to do about it",
  details:
    'Looks at the machine, the settings, the store, the bus, Temporal and who works on each task queue, all within about five seconds, and changes nothing. Needs none of them to be there. Ends with 6 when something is wrong.',
  examples: ['mesh doctor', 'mesh doctor --json', 'mesh --state ./trial doctor'],
  async run(_given, context) {
    const { examine } = await import('../doctor/examine.ts');
    const { isWell } = await import('../../src/domain/doctor/finding.ts');
    const { findings, settings } = await examine(context);
    const well = isWell(findings);
    return answer('mesh.doctor', { well, findings, settings }, drawDoctor, well ? exit.done : exit.unwell);
  },
};
