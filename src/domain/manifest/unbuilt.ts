import type { Refusal } from '../refusal/refusal.ts';
import type { Manifest, ManifestResource } from './manifest.ts';
import { findPlaceholders, meshKinds, placeholdersIn } from '../provisioning/placeholders.ts';

/** The text of each file that the manifest takes from its folder; left out, only what the manifest itself holds is looked at. */
type Files = ReadonlyMap<string, { readonly content: string; readonly encoding: 'utf8' | 'base64' }>;

/**
 * Names what the manifest asks for and this mesh cannot do yet, never ignored and never written half: `not-built-yet` for
 * parts of it, `placeholder-unfilled` for a `${kind:name}` that nothing fills: outside of files, or of a kind that is neither the
 * mesh's, nor the module's own, nor among `answered`. Without `answered`, kinds are not judged. Undefined: all of it can be done.
 */
export function refuseUnbuilt(
  manifest: Manifest,
  files: Files = new Map(),
  answered?: readonly string[],
): Refusal | undefined {
  const parts = unbuiltParts(manifest);
  const own = manifest.answers.map(({ kind }) => kind);
  const isAnswered = (kind: string): boolean =>
    answered === undefined || [...meshKinds, ...own, ...answered].includes(kind);
  const placeholders = [
    ...manifest.resources.flatMap((item, index) => [
      ...outsideFiles(item).map(({ where, found }) => `resources[${index}].${where}: ${found}`),
      ...inFile(item, files, isAnswered).map(({ where, found }) => `resources[${index}].${where}: ${found}`),
    ]),
    ...manifest.contributes.flatMap(({ item }, index) =>
      placeholdersIn(JSON.stringify(item)).map((found) => `contributes[${index}].item: ${found}`),
    ),
  ];
  if (parts.length === 0 && placeholders.length === 0) return undefined;
  const named = [...parts, ...placeholders.map((one) => `placeholder at ${one}`)];
  return {
    kind: parts.length > 0 ? 'not-built-yet' : 'placeholder-unfilled',
    what: `module ${manifest.module} asks for what this mesh cannot do yet:\n${named.map((one) => `  ${one}`).join('\n')}`,
    why:
      parts.length > 0
        ? 'a part that is not done must not look as if it were'
        : 'only files are filled in, and only with kinds that some module answers; it must not reach a node as it stands',
    next: [
      ...(placeholders.length > 0
        ? ['write a placeholder into a file, and add the module that answers its kind first']
        : []),
      `take ${named.length === 1 ? 'it' : 'them'} out of the manifest of ${manifest.module}, then mesh module add it again`,
    ],
    facts: { module: manifest.module, unbuilt: named },
  };
}

function unbuiltParts(manifest: Manifest): readonly string[] {
  const some = (name: string, what: string, count: number): readonly string[] =>
    count > 0 ? [`${name}: ${what}`] : [];
  return [
    ...some('keeps', 'keeping the export of secrets', manifest.keeps === undefined ? 0 : 1),
    ...some('computed', 'resources worked out by the mesh', manifest.computed === undefined ? 0 : 1),
    ...some('health', 'health checks', manifest.health === undefined ? 0 : 1),
    ...manifest.resources.flatMap((item, index) =>
      item.kind === 'container' || item.kind === 'archive' || item.kind === 'network'
        ? [`resources[${index}]: ${item.kind === 'archive' ? 'an archive' : `a ${item.kind}`}`]
        : [],
    ),
  ];
}

type Found = { readonly where: string; readonly found: string };

function inFile(item: ManifestResource, files: Files, isAnswered: (kind: string) => boolean): readonly Found[] {
  if (item.kind !== 'file') return [];
  const taken = item.from === undefined ? undefined : files.get(item.from);
  const text = item.content ?? (taken?.encoding === 'utf8' ? taken.content : '');
  return findPlaceholders(text)
    .filter(({ found }) => found.kind === 'placeholder' && !isAnswered(found.of))
    .map(({ found }) => ({ where: item.from === undefined ? 'content' : `from (${item.from})`, found: found.written }));
}

function outsideFiles(item: ManifestResource): readonly Found[] {
  if (item.kind !== 'process' && item.kind !== 'container') return [];
  const texts = [
    ...(item.command ?? []).map((text, index) => ({ where: `command[${index}]`, text })),
    ...Object.entries(item.env).map(([name, text]) => ({ where: `env.${name}`, text })),
  ];
  return texts.flatMap(({ where, text }) => placeholdersIn(text).map((found) => ({ where, found })));
}
