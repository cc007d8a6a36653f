import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawJoined } from '../../render/nodes.ts';

export const nodeJoin: CommandDefinition = {
  name: 'node join',
  group: 'nodes',
  summary: 'make this machine a node, with the token that node invite printed',
  details:
    'Makes the keys of this machine, whose private halves never leave it, and proves them. Cut off and run again it goes on where it was. Start the host afterwards: mesh host.',
  options: [
    { name: 'token-file', value: 'FILE', says: 'holds the token; else it is read from stdin' },
    {
      name: 'address',
      value: 'ADDRESS',
      says: 'where the other nodes reach this machine; else its first own address that is not loopback',
    },
    {
      name: 'timeout',
      value: 'DURATION',
      kind: 'duration',
      says: 'how long the mesh may take to let it in',
      byDefault: '60s',
    },
  ],
  examples: ['mesh node join --token-file alpha.token', 'mesh node join --address 10.0.0.7 < alpha.token'],
  async run(given, { settings, progress }) {
    const { readSecret } = await import('../../secret-files.ts');
    const { ownAddress } = await import('../../own-address.ts');
    const { nodeStateFolder } = await import('../../node-folders.ts');
    const { sayOn } = await import('../../processes.ts');
    const { joinMesh } = await import('../../../src/host/join.ts');
    const { isRefusal } = await import('../../../src/domain/refusal/refusal.ts');
    const address = given.maybe('address') ?? ownAddress();
    const token = await readSecret(given.maybe('token-file'), 'mesh node join', '--token-file');
    const stateDir = nodeStateFolder(settings.stateFolder);
    const joined = await joinMesh({
      token,
      stateDir,
      address,
      say: sayOn(progress),
      withinMs: given.number('timeout'),
    });
    if (isRefusal(joined)) return joined;
    return answer('mesh.joined', { node: joined.node, address, already: joined.already, state: stateDir }, drawJoined);
  },
};
