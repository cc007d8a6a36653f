/** What one field cannot tell: whether the parts of a manifest fit each other. Every fault, not only the first. */
import type { Manifest, ManifestResource } from './manifest.ts';
import { quoted, type Fault } from './faults.ts';
import { mappingClashes, parseMapping } from './mapping.ts';

/** A file's content written in the manifest, or taken from the module's folder: larger is an archive. Bytes of UTF-8. */
export const fileLimitBytes = 256 * 1024;

type ResourceOf<Kind extends ManifestResource['kind']> = Extract<ManifestResource, { kind: Kind }>;

/** The faults of a whole manifest, path clashes aside (`pathClashes`). */
export function check(manifest: Manifest): readonly Fault[] {
  return [
    ...twice('requires', manifest.requires),
    ...twice(
      'provides',
      manifest.provides.map((one) => one.name),
    ),
    ...twice('seats', manifest.seats),
    ...twice(
      'claims',
      manifest.claims.map((one) => `${one.name} (${one.scope})`),
    ),
    ...twice(
      'resources',
      manifest.resources.flatMap((item) => ('name' in item ? [`${item.kind} ${item.name}`] : [])),
    ),
    ...provisions(manifest),
    ...requirements(manifest),
    ...ports(manifest),
    ...manifest.resources.flatMap((item, index) => resourceFaults(manifest, item, `resources[${index}]`)),
  ];
}

function twice(path: string, names: readonly string[]): readonly Fault[] {
  const repeated = names.filter((name, index) => names.indexOf(name) !== index);
  return [...new Set(repeated)].map((name) => ({
    path,
    says: `${JSON.stringify(name)} stands there twice; write it once`,
  }));
}

function provisions(manifest: Manifest): readonly Fault[] {
  return manifest.provides.flatMap((one, index) => {
    const path = `provides[${index}]`;
    return [
      ...unknownPort(manifest, one.listens, `${path}.listens`),
      ...(one.grants !== undefined && one.scope === 'node'
        ? [
            {
              path: `${path}.grants`,
              says: 'found a grants directory on a provision of scope node; only consumers of scope mesh have credentials: write scope: mesh, or leave grants out',
            },
          ]
        : []),
      ...(one.grants !== undefined && one.scope === 'mesh' && one.listens === undefined
        ? [
            {
              path: `${path}.listens`,
              says: 'is missing; whoever is granted access must be told a port: write the name of one of listens',
            },
          ]
        : []),
    ];
  });
}

function requirements(manifest: Manifest): readonly Fault[] {
  const required = new Set<string>(manifest.requires);
  const notRequired = (path: string, name: string): readonly Fault[] =>
    required.has(name)
      ? []
      : [{ path: `${path}.${name}`, says: `${name} is not required; add it to requires, or leave this out` }];
  // S14: a local names one file of the module, so two requirements cannot both have it.
  const holders = new Map<string, string>();
  const shared = manifest.secrets.flatMap(({ local, requirement }) => {
    if (local === undefined) return [];
    const holder = holders.get(local);
    holders.set(local, requirement);
    return holder === undefined || holder === requirement
      ? []
      : [
          {
            path: `secrets.${requirement}.${local}`,
            says: `the local name ${local} is taken by ${holder}; write another one`,
          },
        ];
  });
  return [
    ...[...new Set(manifest.secrets.map((one) => one.requirement))].flatMap((name) => notRequired('secrets', name)),
    ...manifest.binds.flatMap((one) => notRequired('binds', one.requirement)),
    ...shared,
  ];
}

function ports(manifest: Manifest): readonly Fault[] {
  const fixed = manifest.listens
    .filter((one) => one.fixed)
    .flatMap((one) =>
      (one.protocol === 'both' ? ['tcp', 'udp'] : [one.protocol]).map((protocol) => `${protocol} ${one.port}`),
    );
  return [
    ...twice('listens', fixed),
    ...manifest.routes.flatMap((route, index) => [
      ...unknownPort(manifest, route.listens, `routes[${index}].listens`),
      ...((route.label === undefined) === (route.name === undefined)
        ? [{ path: `routes[${index}]`, says: 'write either a label or a full name' }]
        : []),
    ]),
    ...unknownPort(manifest, manifest.health?.listens, 'health.listens'),
  ];
}

function unknownPort(manifest: Manifest, name: string | undefined, path: string): readonly Fault[] {
  if (name === undefined || manifest.listens.some((one) => one.name === name)) return [];
  const known = manifest.listens.map((one) => one.name).join(', ');
  return [
    {
      path,
      says: `found ${quoted(name)}, which is not one of listens; ${known === '' ? 'add it to listens' : `write one of ${known}`}`,
    },
  ];
}

function resourceFaults(manifest: Manifest, item: ManifestResource, path: string): readonly Fault[] {
  switch (item.kind) {
    case 'file':
      return fileFaults(item, path);
    case 'process':
      return [
        ...(item.ready !== undefined && 'port' in item.ready
          ? unknownPort(manifest, item.ready.port, `${path}.ready.port`)
          : []),
        ...item.restartOn.flatMap((file, index) => notDeclared(manifest, file, `${path}.restart-on[${index}]`)),
      ];
    case 'container':
      return containerFaults(manifest, item, path);
    case 'directory':
    case 'archive':
    case 'network':
      return [];
  }
}

function fileFaults(item: ResourceOf<'file'>, path: string): readonly Fault[] {
  if ((item.content === undefined) === (item.from === undefined))
    return [
      {
        path,
        says: `${item.content === undefined ? 'has no content' : 'has both content and from'}; write either content or from`,
      },
    ];
  if (item.content !== undefined && new TextEncoder().encode(item.content).length > fileLimitBytes)
    return [{ path: `${path}.content`, says: 'is larger than 256 KiB; write an archive' }];
  return [];
}

function containerFaults(manifest: Manifest, item: ResourceOf<'container'>, path: string): readonly Fault[] {
  const mappings = item.publish.flatMap((one) => ('mapping' in one ? [parseMapping(one.mapping)] : []));
  const taken = mappings.flatMap((parsed) => (parsed.kind === 'mapping' ? parsed.ports : []));
  return [
    ...mappings.flatMap((parsed) => (parsed.kind === 'fault' ? [{ path: `${path}.publish`, says: parsed.says }] : [])),
    ...mappingClashes(taken).map((port) => ({
      path: `${path}.publish`,
      says: `${port} of the machine is taken twice; write another port`,
    })),
    // M10: what an environment holds is shown by every tool that lists containers.
    ...item.envFiles.flatMap((file, index) =>
      holdsSecret(manifest, file)
        ? [
            {
              path: `${path}.env-files[${index}]`,
              says: `${file} holds a secret; mount it and have the program read it`,
            },
          ]
        : [],
    ),
    ...twice(
      `${path}.mounts`,
      item.mounts.map((mount) => mount.to),
    ),
    ...item.restartOn.flatMap((file, index) => notDeclared(manifest, file, `${path}.restart-on[${index}]`)),
  ];
}

/** Whether what stands at this path on a node is a credential: the module's own, one it is given, or one that it gives others. */
function holdsSecret({ secrets, holds, provides, keeps }: Manifest, file: string): boolean {
  const isInside = (folder: string | undefined): boolean => folder !== undefined && file.startsWith(`${folder}/`);
  return (
    [...secrets, ...holds].some((one) => one.file === file) ||
    provides.some((one) => isInside(one.grants)) ||
    keeps?.export === file
  );
}

/** A restart can only hang on what the mesh writes: a file the module declares, or one inside a directory it declares. */
function notDeclared(manifest: Manifest, file: string, path: string): readonly Fault[] {
  const declared = declaredPaths(manifest);
  const inside = (folder: string): boolean => file === folder || file.startsWith(`${folder}/`);
  if (declared.some((one) => (one.folder ? inside(one.at) : one.at === file))) return [];
  return [
    { path, says: `found ${quoted(file)}, which this module does not declare; write the path of one of its files` },
  ];
}

type DeclaredPath = { readonly at: string; readonly folder: boolean; readonly by: string };

/** Every path that the module has on a node, and what stands there. */
export function declaredPaths(manifest: Manifest): readonly DeclaredPath[] {
  return [
    ...manifest.resources.flatMap((item, index) =>
      'path' in item ? [{ at: item.path, folder: item.kind !== 'file', by: `resources[${index}]` }] : [],
    ),
    ...manifest.secrets.map((one) => ({
      at: one.file,
      folder: false,
      by: `secrets.${one.requirement}${one.local === undefined ? '' : `.${one.local}`}`,
    })),
    ...manifest.binds.map((one) => ({ at: one.file, folder: false, by: `binds.${one.requirement}` })),
    ...manifest.holds.map((one) => ({ at: one.file, folder: false, by: `holds.${one.name}` })),
    ...manifest.provides.flatMap((one, index) =>
      one.grants === undefined ? [] : [{ at: one.grants, folder: true, by: `provides[${index}].grants` }],
    ),
    ...(manifest.keeps === undefined ? [] : [{ at: manifest.keeps.export, folder: false, by: 'keeps.export' }]),
  ];
}

/** Two things at one path, or a file where something else needs a directory: each named with both. */
export function pathClashes(paths: readonly DeclaredPath[]): readonly string[] {
  const first = new Map<string, DeclaredPath>();
  const clashes: string[] = [];
  for (const one of paths) {
    const other = first.get(one.at);
    if (other === undefined) first.set(one.at, one);
    else clashes.push(`${one.at} is declared by ${other.by} and by ${one.by}`);
  }
  for (const one of paths)
    for (let cut = one.at.lastIndexOf('/'); cut > 0; cut = one.at.lastIndexOf('/', cut - 1)) {
      const above = first.get(one.at.slice(0, cut));
      if (above !== undefined && !above.folder)
        clashes.push(`${above.at} is a file of ${above.by}, and ${one.by} needs a directory there for ${one.at}`);
    }
  return clashes;
}
