import type { CommandDefinition } from '../../definition.ts';

export const servePostgresCommand: CommandDefinition = {
  name: 'serve postgres',
  group: 'processes',
  summary: 'run a real PostgreSQL for a module, until SIGTERM',
  details: 'Meant as a process of a module: the host gives it the address and the port of the node.',
  options: [
    { name: 'data', value: 'DIR', says: 'where the server keeps its folder' },
    { name: 'password-file', value: 'FILE', says: "holds the superuser's password and nothing else" },
    { name: 'address', value: 'ADDRESS', says: 'what it listens on; else $MESH_ADDRESS' },
    { name: 'port', value: 'PORT', kind: 'count', says: 'else $PORT_SQL' },
  ],
  examples: ['mesh serve postgres --data /var/lib/postgres --password-file /etc/postgres/superuser'],
  async run(given, { settings, progress }) {
    const { required, portFrom } = await import('../../process-settings.ts');
    const { untilTold } = await import('../../processes.ts');
    const { servePostgres } = await import('../../../src/granters/serve-postgres.ts');
    const asked = {
      dataDir: required('mesh serve postgres', '--data', given.maybe('data')),
      passwordFile: required('mesh serve postgres', '--password-file', given.maybe('password-file')),
      address: required('mesh serve postgres', '--address', given.maybe('address') ?? settings.env['MESH_ADDRESS']),
      port: portFrom('mesh serve postgres', given.maybeNumber('port'), settings.env['PORT_SQL']),
    };
    try {
      const ended = await servePostgres({ ...asked, env: settings.env, signal: untilTold(), say: progress.say });
      if (typeof ended !== 'number') return ended;
      if (ended !== 0) throw new Error(`PostgreSQL ended with ${ended}`, { cause: new Error('its own log says why') });
    } catch (cause) {
      throw new Error('PostgreSQL is not served any more', { cause });
    }
    return undefined;
  },
};
