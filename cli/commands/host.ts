import type { CommandDefinition } from '../definition.ts';
import { problem, Stopped } from '../problem.ts';

export const host: CommandDefinition = {
  name: 'host',
  group: 'processes',
  summary: 'run the host of this machine: apply what it is declared to be, and report',
  details:
    'Runs until SIGTERM and leaves the processes it started running; the next host takes them on. The machine must have joined (mesh node join). Its log is one JSON object a line on stdout.',
  options: [
    { name: 'root', value: 'DIR', says: "what the node's / is on this machine", byDefault: '/' },
    { name: 'interval', value: 'DURATION', kind: 'duration', says: 'how often it looks for drift', byDefault: '60s' },
  ],
  examples: ['mesh host', 'mesh host --state /srv/alpha --root /srv/alpha/root --interval 10s'],
  async run(given, { settings }) {
    const { nodeStateFolder } = await import('../node-folders.ts');
    const { meshProgramFolder, processLog, untilTold } = await import('../processes.ts');
    const { readNode } = await import('../../src/host/state.ts');
    const stateDir = nodeStateFolder(settings.stateFolder);
    if ((await readNode(stateDir)) === undefined) {
      throw new Stopped(
        problem('no-node-here', {
          what: `${settings.stateFolder} holds no node that has joined a mesh`,
          why: 'a host runs what is declared to its node, and only a node that joined is told anything',
          next: ['mesh node join --token-file FILE', 'mesh --state DIR host   # for a node that is kept elsewhere'],
          facts: { state: settings.stateFolder },
        }),
      );
    }
    const { runHost } = await import('../../src/host/loop.ts');
    try {
      await runHost({
        stateDir,
        root: given.text('root'),
        intervalMs: given.number('interval'),
        bin: meshProgramFolder,
        say: await processLog('host'),
        signal: untilTold(),
      });
    } catch (cause) {
      throw new Error('the host ended', { cause });
    }
    return undefined;
  },
};
