/**
 * What a process is started with. Pure: the node's root is put before the declared paths in its command and its
 * environment, and it gets a clean environment: nothing of the host's own.
 */
import { declaredPaths, liesUnder, processKey } from '../plan.ts';
import type { Declaration, ProcessResource } from '../../domain/declaration/declaration.ts';
import { digestOfValue } from '../digest.ts';
import { rooted } from '../folder.ts';

export type Ready =
  { readonly port: number; readonly address: string } | { readonly file: string } | { readonly log: string };

export type LaunchSpec = {
  /** `<module>.<name>`. */
  readonly key: string;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** The user it runs as; absent: the host's own. */
  readonly user?: string;
  /** Digest of what it is: when that changes it is started anew. Where the host's own programs lie is no part of it. */
  readonly definition: string;
  /** Path → digest of the content of each file whose change starts it anew (D11). */
  readonly restartOn: Readonly<Record<string, string>>;
  readonly stop: { readonly signal: ProcessResource['stop']['signal']; readonly waitMs: number };
  readonly ready?: Ready;
};

/** What the host itself adds: the node's root, and the folders in which `mesh` and `node` lie. */
export type Surroundings = { readonly root: string; readonly bin: string; readonly nodeFolder: string };

const standardPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** The specification of one process of a declaration. Throws when it is to be ready at a port that it does not have. */
export function launchSpec(
  declaration: Declaration,
  resource: ProcessResource,
  given: {
    readonly restartOn: Readonly<Record<string, string>>;
    readonly home: string;
    readonly surroundings: Surroundings;
  },
): LaunchSpec {
  const { root, bin, nodeFolder } = given.surroundings;
  const paths = declaredPaths(declaration);
  const within = (text: string): string => rootedText(root, paths, text);
  const command = resource.command.map(within);
  const ownEnv = Object.fromEntries(Object.entries(resource.env).map(([name, value]) => [name, within(value)]));
  const cwd = resource.cwd === undefined ? root : rooted(root, resource.cwd);
  const ports = Object.fromEntries(
    Object.entries(resource.ports).map(([name, port]) => [portVariable(name), String(port)]),
  );
  const ready = resource.ready === undefined ? undefined : readyOf(declaration, resource, root);
  const fixed = { MESH_ROOT: root, MESH_ADDRESS: declaration.address, ...ports };
  return {
    key: processKey(resource),
    command,
    cwd,
    env: {
      PATH: `${bin}:${nodeFolder}:${standardPath}`,
      HOME: given.home,
      LANG: 'C.UTF-8',
      ...ownEnv,
      ...fixed,
    },
    definition: digestOfValue({ command, cwd, user: resource.user ?? '', env: ownEnv, fixed }),
    restartOn: given.restartOn,
    stop: resource.stop,
    ...(resource.user === undefined ? {} : { user: resource.user }),
    ...(ready === undefined ? {} : { ready }),
  };
}

/** `PORT_<NAME>`: upper case, and an underscore for each hyphen. */
export function portVariable(listens: string): string {
  return `PORT_${listens.toUpperCase().replaceAll('-', '_')}`;
}

/**
 * Puts the root before a text that is a declared path or lies under one, or whose part after the first `=` is or does.
 * Anything else is left as it is: `/usr/bin/env` is the machine's, not the node's.
 */
export function rootedText(root: string, declared: ReadonlySet<string>, text: string): string {
  const isDeclared = (path: string) =>
    path.startsWith('/') && (declared.has(path) || [...declared].some((one) => liesUnder(path, one)));
  if (isDeclared(text)) return rooted(root, text);
  const equals = text.indexOf('=');
  const after = text.slice(equals + 1);
  return equals !== -1 && isDeclared(after) ? `${text.slice(0, equals + 1)}${rooted(root, after)}` : text;
}

function readyOf(declaration: Declaration, resource: ProcessResource, root: string): Ready {
  const { ready } = resource;
  if (ready === undefined) throw new Error(`${resource.id} does not say when it is ready`);
  if ('log' in ready) return ready;
  if ('file' in ready) return { file: rooted(root, ready.file) };
  const port = resource.ports[ready.port];
  if (port === undefined) throw new Error(`it is to be ready at its port ${ready.port}, and it has none of that name`);
  return { port, address: declaration.address };
}
