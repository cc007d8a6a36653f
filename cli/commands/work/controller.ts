import type { CommandDefinition } from '../../definition.ts';

export const workController: CommandDefinition = {
  name: 'work controller',
  group: 'processes',
  summary: 'run the controller: its acts, the reports of nodes, and the desk where nodes join',
  details:
    'Runs until SIGTERM. Several may run at once. mesh up starts one; its log is one JSON object a line on stdout.',
  options: [
    { name: 'ready-file', value: 'FILE', says: 'written, with the process id in it, once everything is served' },
  ],
  examples: ['mesh work controller'],
  async run(given, { settings }) {
    const { foundationAt } = await import('../../controller.ts');
    const { processLog, untilTold } = await import('../../processes.ts');
    await foundationAt(settings.stateFolder);
    const { runController } = await import('../../../src/workers/controller.ts');
    const { writeFileSync } = await import('node:fs');
    const readyFile = given.maybe('ready-file');
    try {
      await runController({
        stateDir: settings.stateFolder,
        logger: await processLog('controller'),
        signal: untilTold(),
        onReady: () => {
          if (readyFile !== undefined) writeFileSync(readyFile, `${process.pid}\n`);
        },
      });
    } catch (cause) {
      throw new Error('the controller ended', { cause });
    }
    return undefined;
  },
};
