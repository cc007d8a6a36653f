/**
 * A module's templates: its files whose text holds placeholders, which each node fills in for itself (P13). Here they are
 * judged as far as the manifest alone can tell, and the credentials that only they hold are read out of them.
 */
import { placementFaults } from '../provisioning/fill.ts';
import { findPlaceholders, nameOf, type Placeholder } from '../provisioning/placeholders.ts';
import { localName, provisionName } from '../words/names.ts';
import { given } from '../words/given.ts';
import type { Fault } from './faults.ts';
import type { FilledCredential, Manifest, ManifestResource } from './manifest.ts';

type FileItem = Extract<ManifestResource, { kind: 'file' }>;
/** The files that were taken from the module's folder. */
type Files = ReadonlyMap<string, { readonly content: string; readonly encoding: 'utf8' | 'base64' }>;

export type Template = {
  readonly item: FileItem;
  /** Where it stands in the manifest: `resources[3].content`. */
  readonly where: string;
  readonly text: string;
  readonly placeholders: readonly Placeholder[];
};

/** The files of the module that hold placeholders; a file of bytes holds none. */
export function templatesOf({ resources }: Manifest, files: Files): readonly Template[] {
  return resources.flatMap((item, index) => {
    if (item.kind !== 'file') return [];
    const text = textOf(item, files);
    if (text === undefined) return [];
    const placeholders = findPlaceholders(text).flatMap(({ found }) => (found.kind === 'placeholder' ? [found] : []));
    const where = `resources[${index}].${item.from === undefined ? 'content' : `from (${item.from})`}`;
    return placeholders.length === 0 ? [] : [{ item, where, text, placeholders }];
  });
}

function textOf(item: FileItem, files: Files): string | undefined {
  if (item.content !== undefined) return item.content;
  const taken = item.from === undefined ? undefined : files.get(item.from);
  return taken?.encoding === 'utf8' ? taken.content : undefined;
}

/** The credential that a placeholder asks for: of a requirement and its local, or one that the module holds itself. */
export type Asked =
  | { readonly kind: 'pair'; readonly requirement: string; readonly local?: string }
  | { readonly kind: 'own'; readonly name: string };

/** Undefined: the placeholder is no `secret`, or names what the module has not. */
export function credentialAsked(manifest: Manifest, placeholder: Placeholder): Asked | undefined {
  const [first = '', local] = placeholder.name;
  if (placeholder.of !== 'secret') return undefined;
  if (manifest.requires.some((name) => name === first))
    return { kind: 'pair', requirement: first, ...given('local', local) };
  if (local === undefined && manifest.holds.some((one) => one.name === first)) return { kind: 'own', name: first };
  return undefined;
}

/** Whether a file is only for the eyes of its owner: a value of a credential is in it. */
export function holdsCredential({ placeholders }: Template): boolean {
  return placeholders.some(({ of, field }) => (of === 'secret' && field !== 'login') || of === 'consumers');
}

/** The manifest with the credentials that only its templates hold (M7): one for each requirement and local that they ask for. */
export function withFilled(manifest: Manifest, files: Files): Manifest {
  const asked = templatesOf(manifest, files).flatMap(({ placeholders }) => placeholders);
  const filled = new Map<string, FilledCredential>();
  for (const placeholder of asked) {
    const credential = credentialAsked(manifest, placeholder);
    if (credential?.kind !== 'pair') continue;
    const { requirement, local } = credential;
    if (manifest.secrets.some((one) => one.requirement === requirement && one.local === local)) continue;
    const path = nameOf(placeholder);
    const carriesLogin = placeholder.field === 'login' || filled.get(path)?.as === 'filled';
    filled.set(path, {
      requirement: provisionName.parse(requirement),
      ...(local === undefined ? {} : { local: localName.parse(local) }),
      as: carriesLogin ? 'filled' : 'filled-password',
    });
  }
  return {
    ...manifest,
    filled: [...filled].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, credential]) => credential),
  };
}

/**
 * What is wrong with the placeholders of a module's files, as far as its manifest tells: malformed ones, names that it does
 * not have, a readable file with a credential in it. Kinds that other modules answer are judged against the catalogue.
 */
export function templateFaults(manifest: Manifest, files: Files): readonly Fault[] {
  const malformed = manifest.resources.flatMap((item, index): readonly Fault[] => {
    const text = item.kind === 'file' ? (textOf(item, files) ?? '') : '';
    return findPlaceholders(text).flatMap(({ found }) =>
      found.kind === 'placeholder-fault' ? [{ path: `resources[${index}]`, says: found.says }] : [],
    );
  });
  const templates = templatesOf(manifest, files).flatMap((template) => [
    ...template.placeholders.flatMap((placeholder) => nameFaults(manifest, template.where, placeholder)),
    ...secrecyFaults(manifest, template),
  ]);
  // Where a placeholder is malformed, where the others stand is looked at next time.
  return malformed.length > 0 ? [...malformed, ...templates] : [...templates, ...misplaced(manifest, files)];
}

function misplaced(manifest: Manifest, files: Files): readonly Fault[] {
  return templatesOf(manifest, files).flatMap(({ item, text, where }) =>
    placementFaults({ file: item.path, text, format: item.format }).map(({ says }) => ({ path: where, says })),
  );
}

function nameFaults(manifest: Manifest, path: string, placeholder: Placeholder): readonly Fault[] {
  const known = namesFor(manifest, placeholder.of);
  const [first = ''] = placeholder.name;
  if (known === undefined || known.names.includes(first)) return [];
  const instead =
    known.names.length === 0
      ? `add it to ${known.in}`
      : `write one of ${known.names.join(', ')}, or add it to ${known.in}`;
  return [{ path, says: `${placeholder.written} names ${first}, which is not among ${known.in}; ${instead}` }];
}

/** What a placeholder of a kind can name in this manifest; undefined where the manifest does not tell. */
function namesFor(
  manifest: Manifest,
  kind: string,
): { readonly in: string; readonly names: readonly string[] } | undefined {
  const of = (where: string, names: readonly string[]) => ({ in: where, names });
  switch (kind) {
    case 'config':
      return of(
        'settings',
        manifest.settings.map(({ name }) => name),
      );
    case 'secret':
      return of('requires and holds', [...manifest.requires, ...manifest.holds.map(({ name }) => name)]);
    case 'bound':
      return of('requires', manifest.requires);
    case 'consumers':
      return of(
        'provides',
        manifest.provides.map(({ name }) => name),
      );
    case 'port':
    case 'access':
      return of(
        'listens',
        manifest.listens.map(({ name }) => name),
      );
    case 'dir':
      return of('directories of resources', directoryNames(manifest));
    default:
      return undefined;
  }
}

/** `${dir:state}` is the directory whose path ends in `state`. */
function directoryNames({ resources }: Manifest): readonly string[] {
  return resources.flatMap((item) =>
    item.kind === 'directory' ? [item.path.slice(item.path.lastIndexOf('/') + 1)] : [],
  );
}

function secrecyFaults(manifest: Manifest, template: Template): readonly Fault[] {
  if (!holdsCredential(template)) return [];
  const { mode, path } = template.item;
  // M10: what an environment holds is shown by every tool that lists containers.
  const taken = manifest.resources.flatMap((item, index) =>
    item.kind === 'container' && item.envFiles.includes(path) ? [`resources[${index}].env-files`] : [],
  );
  return [
    ...(mode === undefined || mode.endsWith('00')
      ? []
      : [
          {
            path: template.where,
            says: `has the mode ${mode} and a credential in it, which its owner alone may read; write "0600", or leave mode out`,
          },
        ]),
    ...taken.map((where) => ({
      path: where,
      says: `${path} holds a secret; mount it and have the program read it`,
    })),
  ];
}
