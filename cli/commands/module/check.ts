import type { Refusal } from '../../../src/domain/refusal/refusal.ts';
import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawChecked } from '../../render/modules.ts';

export const moduleCheck: CommandDefinition = {
  name: 'module check',
  group: 'modules',
  summary: 'judge a catalogue before any of it is added, and change nothing',
  details:
    'Reads each manifest as module add would. Of all of them together: nothing is described twice (one name, or one image for the same provision and scope), something provides whatever is required, and no modules need each other in a circle on one node. A folder without a manifest stands for the modules in it. Without DIR: the folders in $MESH_CATALOG (with ":" between them), else this folder; with DIR, those of $MESH_CATALOG are the rest of the catalogue. One module alone is judged by itself. Works with nothing configured.',
  arguments: [{ name: 'DIR', says: "a module's folder, or a folder of such folders", optional: true, many: true }],
  examples: ['mesh module check examples', 'MESH_CATALOG=examples mesh module check ./notes'],
  async run(given, { settings }) {
    const { foldersAsked, readCatalogue } = await import('../../catalogue.ts');
    const { judgeCatalogue } = await import('../../../src/domain/resolution/judge-catalogue.ts');
    const asked = await foldersAsked(given.many('DIR'), settings.env['MESH_CATALOG'] ?? '');
    const { read, refusals } = await readCatalogue(asked.folders);
    const wrong = [...refusals, ...(asked.isWhole ? judgeCatalogue(read) : [])];
    if (wrong.length > 0) return together(wrong, { modules: asked.folders.length, unread: refusals.length });
    const modules = read.map(({ manifest, folder }) => ({
      module: manifest.module,
      version: manifest.version,
      folder,
    }));
    return answer('mesh.module-check', { whole: asked.isWhole, modules }, drawChecked);
  },
};

/** All that is wrong in one answer, so that one look is enough. */
function together(
  refusals: readonly Refusal[],
  { modules, unread }: { readonly modules: number; readonly unread: number },
): Refusal {
  const [first, second] = refusals;
  if (first === undefined) throw new Error('nothing was refused');
  if (second === undefined) return first;
  const headings = [
    ...(unread > 0 ? [`${unread} of ${modules} modules cannot be added`] : []),
    ...(refusals.length > unread ? [`${refusals.length - unread} faults of the catalogue as a whole`] : []),
  ];
  return {
    kind: first.kind,
    what: `${headings.join(', and ')}:\n${refusals.map(({ what }) => what).join('\n')}`,
    why: first.why,
    next: [...new Set(refusals.flatMap(({ next }) => next))],
    facts: { kinds: [...new Set(refusals.map(({ kind }) => kind))] },
  };
}
