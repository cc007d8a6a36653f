/** Circles among modules that need each other on one node: those could never be set up one after the other (M9). */
import type { ModuleName, ProvisionName } from '../words/names.ts';

export type Edges = ReadonlyMap<ModuleName, readonly { readonly to: ModuleName; readonly provision: ProvisionName }[]>;
export type Circle = {
  readonly modules: readonly ModuleName[];
  /** `a requires x of b`, one for each step, the last of them back to the first module. */
  readonly steps: readonly string[];
};

/** Each circle once, found from `modules` in their order. */
export function circlesIn(modules: Iterable<ModuleName>, edges: Edges): readonly Circle[] {
  const done = new Set<ModuleName>();
  const found: Circle[] = [];
  const visit = (module: ModuleName, path: readonly { at: ModuleName; provision: ProvisionName }[]): void => {
    const start = path.findIndex((step) => step.at === module);
    if (start >= 0) {
      found.push(circle(path.slice(start), module));
      return;
    }
    if (done.has(module)) return;
    for (const { to, provision } of edges.get(module) ?? []) visit(to, [...path, { at: module, provision }]);
    done.add(module);
  };
  for (const module of modules) visit(module, []);
  return found;
}

function circle(path: readonly { at: ModuleName; provision: ProvisionName }[], back: ModuleName): Circle {
  return {
    modules: path.map((step) => step.at),
    steps: path.map(({ at, provision }, index) => `${at} requires ${provision} of ${path[index + 1]?.at ?? back}`),
  };
}
