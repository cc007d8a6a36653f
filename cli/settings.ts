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
  /** Where each of these came from, in words: an option, a variable, or what is so without any. */
  readonly origins: { readonly stateFolder: string; readonly person: string };
};
type From<T> = { readonly is: T; readonly from: string };

/** Effective settings: `--state`, then MESH_STATE, then XDG_STATE_HOME/mesh, then ~/.local/state/mesh. */
export function settingsFrom(env: Env, stateOption: string | undefined): Settings {
  const [state, asking] = [stateFrom(env, stateOption), personFrom(env)];
  return {
    env,
    stateFolder: path.resolve(state.is),
    person: asking.is,
    origins: { stateFolder: state.from, person: asking.from },
  };
}

function stateFrom(env: Env, stateOption: string | undefined): From<string> {
  if (stateOption !== undefined) return { is: stateOption, from: '--state' };
  const named = filled(env['MESH_STATE']);
  if (named !== undefined) return { is: named, from: 'MESH_STATE' };
  const base = filled(env['XDG_STATE_HOME']);
  // The XDG rules: a path there that is not absolute is as good as none.
  if (base !== undefined && path.isAbsolute(base)) return { is: path.join(base, 'mesh'), from: 'XDG_STATE_HOME' };
  const home = filled(env['HOME']) ?? os.homedir();
  return { is: path.join(home, '.local', 'state', 'mesh'), from: "the user's state folder" };
}

function personFrom(env: Env): From<string> {
  const given = filled(env['MESH_PERSON']);
  if (given !== undefined) return { is: given, from: 'MESH_PERSON' };
  return { is: `${userName(env)}@${os.hostname()}`, from: "the machine's user and name" };
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
