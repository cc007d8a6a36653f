/** M9. A catalogue judged as a whole, before any of it is added: what no module can tell of itself alone. */
import type { Manifest, ManifestResource } from '../manifest/manifest.ts';
import type { Refusal } from '../refusal/refusal.ts';
import { grouped } from '../words/grouped.ts';
import type { ModuleName, ProvisionName } from '../words/names.ts';
import { circlesIn, type Circle, type Edges } from './cycles.ts';
import type { CatalogueModule } from './inventory.ts';
import { factsAsked, tellsFacts, untoldIn } from './told-facts.ts';

/** A manifest of the catalogue, and where it was read from. */
export type Described = CatalogueModule & { readonly folder: string };

/**
 * Everything that is wrong with these modules together, by kind. Refusals: `described-twice` (one name in two folders; one image
 * that provides the same under the same scope in two modules), `no-provider` (nothing in the catalogue provides what a
 * module requires), `facts-untold` (nothing tells the facts that a module's files ask for) and `provider-cycle` (modules that
 * could only be installed on a node for each other).
 */
export function judgeCatalogue(described: readonly Described[]): readonly Refusal[] {
  const manifests = described.map(({ manifest }) => manifest);
  return [
    ...namedTwice(described),
    ...sameThings(described),
    ...unprovided(manifests),
    ...factless(described),
    ...circles(manifests),
  ];
}

function namedTwice(described: readonly Described[]): readonly Refusal[] {
  return [...grouped(described, ({ manifest }) => manifest.module)].flatMap(([module, those]) =>
    those.length < 2
      ? []
      : [
          {
            kind: 'described-twice' as const,
            what: `${module} is described in ${those.map(({ folder }) => folder).join(' and in ')}`,
            why: 'a name belongs to one module: adding the second would change the first',
            next: ['give one of them another name, or take one of the folders away'],
            facts: { module, folders: those.map(({ folder }) => folder) },
          },
        ],
  );
}

/** Modules that run one image to provide one thing under one scope are the same thing twice: which one a node gets would be chance. */
function sameThings(described: readonly Described[]): readonly Refusal[] {
  const things = described.flatMap(({ manifest }) =>
    imagesOf(manifest).flatMap((image) =>
      manifest.provides.map(({ name, scope }) => ({ module: manifest.module, image, name, scope })),
    ),
  );
  const groups = grouped(things, ({ image, name, scope }) => JSON.stringify([image, name, scope]));
  return [...groups.values()].flatMap((same): readonly Refusal[] => {
    const modules = [...new Set(same.map(({ module }) => module))];
    const [first] = same;
    if (first === undefined || modules.length < 2) return [];
    const { image, name, scope } = first;
    return [
      {
        kind: 'described-twice',
        what: `${modules.join(' and ')} both run ${image} and provide ${name} with scope ${scope}`,
        why: 'that is one thing described twice, and which one answers would be left to chance',
        next: ['keep one of them, or have them provide different things'],
        facts: { modules, image, provision: name, scope },
      },
    ];
  });
}

/** Every image that a module's containers run, as one text for one image. */
function imagesOf({ module, resources }: Manifest): readonly string[] {
  return [...new Set(resources.flatMap((item) => (item.kind === 'container' ? [imageOf(module, item)] : [])))];
}

function imageOf(own: ModuleName, { image }: Extract<ManifestResource, { kind: 'container' }>): string {
  if ('artifact' in image) return `the artifact ${image.artifact} of ${image.module ?? own}`;
  return wholeReference(image.reference);
}

/** A reference with the registry, the namespace and the tag that an engine adds to a short one: `postgres` is `docker.io/library/postgres:latest`. */
function wholeReference(reference: string): string {
  const slash = reference.indexOf('/');
  const host = slash < 0 ? '' : reference.slice(0, slash);
  const hasHost = host === 'localhost' || host.includes('.') || host.includes(':');
  const named = hasHost ? reference : `docker.io/${slash < 0 ? 'library/' : ''}${reference}`;
  const last = named.slice(named.lastIndexOf('/') + 1);
  return last.includes(':') || last.includes('@') ? named : `${named}:latest`;
}

function unprovided(manifests: readonly Manifest[]): readonly Refusal[] {
  const provided = new Set(manifests.flatMap(({ provides }) => provides.map(({ name }) => name)));
  return manifests.flatMap(({ module, requires }) =>
    requires
      .filter((provision) => !provided.has(provision))
      .map((provision) => ({
        kind: 'no-provider' as const,
        what: `${module} requires ${provision}, and no module of the catalogue provides it`,
        why: 'it could be assigned to no node',
        next: [
          `add a module that provides ${provision} to the catalogue`,
          `take ${provision} out of requires in the manifest of ${module}`,
        ],
        facts: { module, provision },
      })),
  );
}

/** Files that would wait for ever, whoever of the catalogue their module were bound to. */
function factless(described: readonly Described[]): readonly Refusal[] {
  return described.flatMap((module) =>
    module.manifest.requires.flatMap((provision) => {
      const asked = factsAsked(module).find(({ requirement }) => requirement === provision);
      const providers = described.filter(({ manifest }) => manifest.provides.some(({ name }) => name === provision));
      if (asked === undefined || providers.length === 0) return [];
      if (providers.some(({ manifest }) => tellsFacts(manifest, provision))) return [];
      const named = providers.map(({ manifest }) => manifest.module);
      return [untoldIn(asked.written, module.manifest.module, provision, named)];
    }),
  );
}

/** Only what must be installed counts: where several modules could answer, or a node elsewhere could, a person has a choice. */
function circles(manifests: readonly Manifest[]): readonly Refusal[] {
  const providers = new Map<ProvisionName, Set<ModuleName>>();
  const elsewhere = new Set<ProvisionName>();
  for (const { module, provides } of manifests)
    for (const { name, scope } of provides) {
      providers.set(name, (providers.get(name) ?? new Set()).add(module));
      if (scope === 'mesh') elsewhere.add(name);
    }
  const edges: Edges = new Map(
    manifests.map(({ module, requires }) => [
      module,
      requires.flatMap((provision) => {
        const [only, second] = elsewhere.has(provision) ? [] : (providers.get(provision) ?? []);
        return only === undefined || second !== undefined ? [] : [{ to: only, provision }];
      }),
    ]),
  );
  return circlesIn([...edges.keys()].toSorted(), edges).map(circular);
}

function circular({ modules, steps }: Circle): Refusal {
  return {
    kind: 'provider-cycle',
    what: steps.join(', and '),
    why: 'modules that need each other on one node in a circle have no order in which they could be set up',
    next: [`take one of these requirements out: ${steps.join('; ')}`],
    facts: { modules },
  };
}
