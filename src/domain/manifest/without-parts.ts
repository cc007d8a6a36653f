import type { Manifest } from './manifest.ts';

/**
 * What counts of a module of which no version was ever published: its name, what it can be set, and nothing that a node would
 * run or that others could take (P9). Its assignments stand, and its neighbours are none the worse.
 */
export function withoutParts({ module, version, describes, settings, capabilities }: Manifest): Manifest {
  return {
    module,
    version,
    ...(describes === undefined ? {} : { describes }),
    requires: [],
    provides: [],
    listens: [],
    secrets: [],
    filled: [],
    binds: [],
    holds: [],
    routes: [],
    contributes: [],
    answers: [],
    claims: [],
    seats: [],
    settings,
    capabilities,
    builds: [],
    resources: [],
  };
}
