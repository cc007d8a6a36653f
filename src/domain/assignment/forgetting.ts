/** M16. All that goes with a module when it is forgotten, named thing by thing: what a person must have read before they say yes. */
import type { Refusal } from '../refusal/refusal.ts';
import type { ModuleName } from '../words/names.ts';

/** Each list in the words in which a person would ask for the thing; sorted. */
export type Forgotten = {
  readonly assignments: readonly string[];
  readonly settings: readonly string[];
  readonly labels: readonly string[];
  readonly ownSecrets: readonly string[];
  /** At either end: those it is given, and those it gives others. */
  readonly pairCredentials: readonly string[];
  readonly ports: readonly string[];
  readonly claims: readonly string[];
  readonly bindings: readonly string[];
  readonly pins: readonly string[];
  readonly builds: readonly string[];
};

const spoken: Readonly<Record<keyof Forgotten, string>> = {
  assignments: 'assigned',
  settings: 'set',
  labels: 'label',
  ownSecrets: 'own secret',
  pairCredentials: 'credential',
  ports: 'port',
  claims: 'claim',
  bindings: 'binding',
  pins: 'pin',
  builds: 'build',
};

/**
 * The refusal that lists it all. Nothing starts that could destroy it yet, and the refusal says so. `digest` is of the
 * listing: whoever confirms by it confirms exactly this.
 */
export function refuseToForget(module: ModuleName, gone: Forgotten, digest: string): Refusal {
  const lines = listed(gone);
  const placed = gone.assignments
    .filter((place) => !place.includes(' '))
    .map((place) => `mesh unassign ${place.replace('/', ' ')}`);
  return {
    kind: 'forget-destroys',
    what:
      lines.length === 0
        ? `forgetting ${module} would take it out of the catalogue; it holds nothing else`
        : [`forgetting ${module} would destroy what it holds:`, ...lines].join('\n'),
    why: 'this version of mesh names what would go and destroys none of it: --and-what-it-holds, which does, is not built yet',
    next: placed.length > 0 ? placed : [`mesh module show ${module}`],
    facts: { module, digest, ...gone },
  };
}

/** A line for each thing, by kind. */
function listed(gone: Forgotten): readonly string[] {
  const lines = (list: keyof Forgotten): readonly string[] => gone[list].map((one) => `${spoken[list]} ${one}`);
  return [
    ...lines('assignments'),
    ...lines('settings'),
    ...lines('labels'),
    ...lines('ownSecrets'),
    ...lines('pairCredentials'),
    ...lines('ports'),
    ...lines('claims'),
    ...lines('bindings'),
    ...lines('pins'),
    ...lines('builds'),
  ];
}
