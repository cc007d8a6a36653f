import type { Refusal } from '../refusal/refusal.ts';
import type { Manifest, ManifestResource } from './manifest.ts';
import { placeholdersIn } from '../provisioning/placeholders.ts';

/** The text of each file that the manifest takes from its folder; left out, only what the manifest itself holds is looked at. */
type Files = ReadonlyMap<string, { readonly content: string; readonly encoding: 'utf8' | 'base64' }>;

/**
 * Names what the manifest asks for and this mesh cannot do yet, never ignored and never written half: `not-built-yet` for
 * parts of it, `placeholder-unfilled` for a `${kind:name}` that nothing fills. Undefined: all of it can be done.
 */
export function refuseUnbuilt(manifest: Manifest, files: Files = new Map()): Refusal | undefined {
  const parts = unbuiltParts(manifest);
  const placeholders = manifest.resources.flatMap((item, index) =>
    textsOf(item, files).flatMap(({ where, text }) =>
      placeholdersIn(text).map((found) => `resources[${index}].${where}: ${found}`),
    ),
  );
  if (parts.length === 0 && placeholders.length === 0) return undefined;
  const named = [...parts, ...placeholders.map((one) => `placeholder at ${one}`)];
  return {
    kind: parts.length > 0 ? 'not-built-yet' : 'placeholder-unfilled',
    what: `module ${manifest.module} asks for what this mesh cannot do yet:\n${named.map((one) => `  ${one}`).join('\n')}`,
    why:
      parts.length > 0
        ? 'a part that is not done must not look as if it were'
        : 'nothing fills a placeholder of that kind, and it must not reach a node as it stands',
    next: [
      `take ${named.length === 1 ? 'it' : 'them'} out of the manifest of ${manifest.module}, then mesh module add it again`,
    ],
    facts: { module: manifest.module, unbuilt: named },
  };
}

function unbuiltParts(manifest: Manifest): readonly string[] {
  const some = (name: string, what: string, count: number): readonly string[] =>
    count > 0 ? [`${name}: ${what}`] : [];
  return [
    ...some('routes', 'routed names', manifest.routes.length),
    ...some('contributes', 'contributions to collections', manifest.contributes.length),
    ...some('answers', 'answering placeholders', manifest.answers.length),
    ...some('keeps', 'keeping the export of secrets', manifest.keeps === undefined ? 0 : 1),
    ...some('computed', 'resources worked out by the mesh', manifest.computed === undefined ? 0 : 1),
    ...some('health', 'health checks', manifest.health === undefined ? 0 : 1),
    ...some('builds', 'building artifacts', manifest.builds.length),
    ...manifest.resources.flatMap((item, index) =>
      item.kind === 'container' || item.kind === 'archive' || item.kind === 'network'
        ? [`resources[${index}]: ${item.kind === 'archive' ? 'an archive' : `a ${item.kind}`}`]
        : [],
    ),
  ];
}

function textsOf(item: ManifestResource, files: Files): readonly { readonly where: string; readonly text: string }[] {
  if (item.kind === 'file') {
    if (item.content !== undefined) return [{ where: 'content', text: item.content }];
    const taken = item.from === undefined ? undefined : files.get(item.from);
    return taken?.encoding === 'utf8' ? [{ where: `from (${item.from})`, text: taken.content }] : [];
  }
  if (item.kind !== 'process' && item.kind !== 'container') return [];
  return [
    ...(item.command ?? []).map((text, index) => ({ where: `command[${index}]`, text })),
    ...Object.entries(item.env).map(([name, text]) => ({ where: `env.${name}`, text })),
  ];
}
