/** The settings that are in force here, and where each came from. Of secrets only the file that holds one is named. */
import type { Foundation } from '../src/foundation/foundation.ts';
import type { Context } from './context.ts';
import type { Env, Settings } from './settings.ts';

export type Setting = { readonly name: string; readonly value: string; readonly from: string };
const setting = (name: string, value: string, from: string): Setting => ({ name, value, from });

/** All of them; those of the mesh only where one was raised in the state folder. */
export function effectiveSettings({ settings, look }: Context, foundation: Foundation | undefined): readonly Setting[] {
  return [
    setting('state folder', settings.stateFolder, settings.origins.stateFolder),
    setting('person', settings.person, settings.origins.person),
    setting('colours', look.isColoured ? 'on' : 'off', colourOrigin(settings.env)),
    ...fromEnvironment(settings),
    ...(foundation === undefined ? [] : ofFoundation(foundation, settings)),
  ];
}

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
