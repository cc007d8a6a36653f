/** What the environment says. No other part of the command reads it. */
import os from 'node:os';
import path from 'node:path';

export type Env = Readonly<Record<string, string | undefined>>;

export type Settings = {
  readonly env: Env;
  /** Absolute. */
  readonly stateFolder: string;
  /** Who asks, as acts and events name them. */
  readonly person: string;
};

/** Effective settings: `--state`, then MESH_STATE, then XDG_STATE_HOME/mesh, then ~/.local/state/mesh. */
export function settingsFrom(env: Env, stateOption: string | undefined): Settings {
  return {
    env,
    stateFolder: path.resolve(stateOption ?? filled(env['MESH_STATE']) ?? defaultState(env)),
    person: person(env),
  };
}

function defaultState(env: Env): string {
  const base = filled(env['XDG_STATE_HOME']);
  // The XDG rules: a path there that is not absolute is as good as none.
  const absolute = base !== undefined && path.isAbsolute(base) ? base : undefined;
  return path.join(absolute ?? path.join(filled(env['HOME']) ?? os.homedir(), '.local', 'state'), 'mesh');
}

function person(env: Env): string {
  const given = filled(env['MESH_PERSON']);
  if (given !== undefined) return given;
  return `${userName(env)}@${os.hostname()}`;
}

function userName(env: Env): string {
  try {
    return os.userInfo().username;
  } catch {
    // A user id without an entry in the password file, as in many containers.
    return filled(env['USER']) ?? 'unknown';
  }
}

const filled = (text: string | undefined): string | undefined => (text === undefined || text === '' ? undefined : text);
