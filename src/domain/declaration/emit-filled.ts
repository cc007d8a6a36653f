/** A module's templates: files that the node fills in, with the generations of the credentials that go into them (P13). */
import { currentPair } from '../credential/secrets-to-make.ts';
import { credentialAsked, holdsCredential, type Template } from '../manifest/templates.ts';
import type { CatalogueModule } from '../resolution/inventory.ts';
import type { ResolvedNode } from '../resolution/resolve.ts';
import { given } from '../words/given.ts';
import type { FileResource } from './declaration.ts';
import type { Emitting } from './emit-credentials.ts';
import { emitted, resourceId, templatesIn, type Emitted } from './emit-module.ts';

/** The module's templates on one node. A credential that is not made yet has no generation: the declaration cannot be sent then (S3). */
export function emitFilled(emitting: Emitting, node: ResolvedNode, module: CatalogueModule): readonly Emitted[] {
  return templatesIn(module).map((template) => {
    const { item } = template;
    const taken = item.from === undefined ? undefined : module.files.get(item.from);
    const name = module.manifest.module;
    return emitted({
      kind: 'file',
      id: resourceId(name, 'file', item.path),
      module: name,
      path: item.path,
      mode: holdsCredential(template) ? (item.mode ?? '0600') : (item.mode ?? taken?.mode ?? '0644'),
      ...given('owner', item.owner),
      content: template.text,
      encoding: 'utf8',
      fill: { format: item.format, ...credentialsIn(emitting, node, module, template) },
    });
  });
}

function credentialsIn(
  { index, hash }: Emitting,
  node: ResolvedNode,
  { manifest }: CatalogueModule,
  { placeholders }: Template,
): Pick<NonNullable<FileResource['fill']>, 'generations' | 'own'> {
  const generations: Record<string, number> = {};
  const own: Record<string, string> = {};
  for (const placeholder of placeholders) {
    const asked = credentialAsked(manifest, placeholder);
    if (asked?.kind === 'own') {
      const hold = node.holds.find(({ key }) => key.module === manifest.module && key.name === asked.name);
      const secret = hold && index.own(hold.key);
      if (secret !== undefined) own[asked.name] = hash(secret.node.sealed).slice(0, 16);
    }
    if (asked?.kind !== 'pair') continue;
    const need = node.needs.find(
      ({ key }) =>
        key.consumerModule === manifest.module && key.provision === asked.requirement && key.local === asked.local,
    );
    const current = need && currentPair(index, need.key);
    if (current !== undefined)
      generations[[asked.requirement, ...(asked.local === undefined ? [] : [asked.local])].join('.')] =
        current.generation;
  }
  return { generations, own };
}
