import type { CommandDefinition } from '../../definition.ts';

export const providePostgresCommand: CommandDefinition = {
  name: 'provide postgres',
  group: 'processes',
  summary: 'run the granter of a PostgreSQL: roles and databases as the grant list says, until SIGTERM',
  details:
    'Meant as a process of the module that serves the database. It reads the directory that the manifest names as grants, and writes what it knows into <directory>.status.json, which the host reports. With the account that the host keeps in <directory>.program it tells consumers the readable facts of their bindings on the bus; it grants without that, too.',
  options: [
    { name: 'grants', value: 'DIR', says: 'where the mesh writes the grant list and the credentials' },
    {
      name: 'password-file',
      value: 'FILE',
      says: "holds the superuser's password and nothing else; read at each login",
    },
    { name: 'host', value: 'ADDRESS', says: 'where the server is; else $MESH_ADDRESS' },
    { name: 'port', value: 'PORT', kind: 'count', says: 'else $PORT_SQL' },
    { name: 'status', value: 'FILE', says: 'where it says what it knows, if not beside the directory' },
    {
      name: 'drain',
      value: 'DURATION',
      kind: 'duration',
      says: 'how long open sessions of a replaced login may go on; else as the grant list says',
    },
    {
      name: 'marker',
      value: 'NAME',
      says: 'tells what this granter made from what another one did on the same server',
    },
  ],
  examples: ['mesh provide postgres --grants /var/lib/postgres-grants --password-file /etc/postgres/superuser'],
  async run(given, { settings }) {
    const { required, portFrom } = await import('../../process-settings.ts');
    const { processLog, untilTold } = await import('../../processes.ts');
    const { providePostgres } = await import('../../../src/granters/postgres/provide-postgres.ts');
    const called = 'mesh provide postgres';
    const asked = {
      directory: required(called, '--grants', given.maybe('grants')),
      passwordFile: required(called, '--password-file', given.maybe('password-file')),
      host: required(called, '--host', given.maybe('host') ?? settings.env['MESH_ADDRESS']),
      port: portFrom(called, given.maybeNumber('port'), settings.env['PORT_SQL']),
      statusFile: given.maybe('status'),
      drainMs: given.maybeNumber('drain'),
      marker: given.maybe('marker'),
    };
    try {
      await providePostgres({ ...asked, signal: untilTold(), logger: await processLog('granter') });
    } catch (cause) {
      throw new Error('the granter ended', { cause });
    }
    return undefined;
  },
};
