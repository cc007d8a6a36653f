import type { Foundation } from '../../../src/foundation/foundation.ts';
import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawConfig } from '../../render/config.ts';
import type { Env, Settings } from '../../settings.ts';

export const configShow: CommandDefinition = {
  name: 'config show',
  group: 'what is so',
  summary: 'show the effective settings of the command here, and where each came from',
  details: 'Works with nothing configured and without a mesh. Of secrets only the file that holds one is named.',
  examples: ['mesh config show', 'MESH_STATE=./trial mesh config show --json'],
  async run(_given, { settings, look }) {
    const { readFoundation } = await import('../../../src/foundation/foundation.ts');
    const foundation = await readFoundation(settings.stateFolder);
    const own = [
      setting('state folder', settings.stateFolder, settings.origins.stateFolder),
      setting('person', settings.person, settings.origins.person),
      setting('colours', look.isColoured ? 'on' : 'off', colourOrigin(settings.env)),
      ...fromEnvironment(settings),
    ];
    const settled = foundation === undefined ? [] : ofFoundation(foundation, settings);
    return answer('mesh.config', { raised: foundation !== undefined, settings: [...own, ...settled] }, drawConfig);
  },
};

type Setting = { readonly name: string; readonly value: string; readonly from: string };
const setting = (name: string, value: string, from: string): Setting => ({ name, value, from });

function colourOrigin(env: Env): string {
  const set = (name: string): boolean => (env[name] ?? '') !== '';
  if (set('FORCE_COLOR')) return 'FORCE_COLOR';
  if (set('NO_COLOR')) return 'NO_COLOR';
  return env['TERM'] === 'dumb' ? 'TERM' : 'whether this is a terminal';
}

/** Those that are only looked at where they are set, or else are searched for. */
function fromEnvironment({ env }: Settings): readonly Setting[] {
  const asked = [
    ['catalogue', 'MESH_CATALOG'],
    ['nats-server', 'MESH_NATS_SERVER'],
    ['temporal', 'MESH_TEMPORAL'],
  ] as const;
  return asked.flatMap(([name, variable]) => {
    const value = env[variable] ?? '';
    return value === '' ? [] : [setting(name, value, variable)];
  });
}

function ofFoundation({ postgres, nats, temporal }: Foundation, { stateFolder }: Settings): readonly Setting[] {
  const from = `${stateFolder}/foundation.json`;
  return [
    setting('postgres', `${postgres.host}:${postgres.port}/${postgres.database}`, from),
    setting('postgres role', postgres.user, from),
    setting('postgres password file', postgres.passwordFile, from),
    setting('bus', nats.url, from),
    setting('temporal address', temporal.address, from),
    setting('temporal namespace', temporal.namespace, from),
    setting('temporal ui', temporal.uiUrl, from),
  ];
}
