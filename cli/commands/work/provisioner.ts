import type { CommandDefinition } from '../../definition.ts';

export const workProvisioner: CommandDefinition = {
  name: 'work provisioner',
  group: 'processes',
  summary: 'run the provisioner: the registry of placeholder kinds, and the verbs of its seat',
  details:
    'Runs until SIGTERM. One process holds the seat mesh-provisioner; another of the same module and node stands by and takes over when it is gone. mesh up starts one; its log is one JSON object a line on stdout.',
  options: [
    { name: 'module', value: 'MODULE', says: 'which module holds the seat', byDefault: 'mesh-provisioner' },
    { name: 'node', value: 'NODE', says: 'on which node', byDefault: 'controller' },
    {
      name: 'lease',
      value: 'DURATION',
      kind: 'duration',
      says: 'how long the seat stays its own without a word from it',
      byDefault: '10s',
    },
    { name: 'ready-file', value: 'FILE', says: 'written, with the process id in it, once it serves or stands by' },
  ],
  examples: ['mesh work provisioner'],
  async run(given, { settings }) {
    const { foundationAt } = await import('../../controller.ts');
    const { processLog, untilTold } = await import('../../processes.ts');
    const { asModule } = await import('../../names.ts');
    await foundationAt(settings.stateFolder);
    const { runProvisioner } = await import('../../../src/workers/provisioner.ts');
    const { writeFileSync } = await import('node:fs');
    const readyFile = given.maybe('ready-file');
    try {
      return await runProvisioner({
        stateDir: settings.stateFolder,
        logger: await processLog('provisioner'),
        signal: untilTold(),
        module: asModule(given.maybe('module') ?? 'mesh-provisioner'),
        node: given.maybe('node') ?? 'controller',
        leaseMs: given.maybeNumber('lease') ?? 10_000,
        onReady: () => {
          if (readyFile !== undefined) writeFileSync(readyFile, `${process.pid}\n`);
        },
      });
    } catch (cause) {
      throw new Error('the provisioner ended', { cause });
    }
  },
};
