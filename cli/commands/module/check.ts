import type { Refusal } from '../../../src/domain/refusal/refusal.ts';
import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import { drawChecked } from '../../render/modules.ts';

export const moduleCheck: CommandDefinition = {
  name: 'module check',
  group: 'modules',
  summary: 'read manifests as module add would, and change nothing',
  details:
    'Without DIR: the folders in $MESH_CATALOG (with ":" between them), else this folder. A folder without a manifest stands for the modules in it. Works with nothing configured.',
  arguments: [{ name: 'DIR', says: "a module's folder, or a folder of such folders", optional: true, many: true }],
  examples: ['mesh module check', 'mesh module check examples/notes'],
  async run(given, { settings }) {
    const { moduleFoldersIn, readModuleFolder } = await import('../../module-folder.ts');
    const { isRefusal } = await import('../../../src/domain/refusal/refusal.ts');
    const named = given.many('DIR');
    const catalogue = (settings.env['MESH_CATALOG'] ?? '').split(':').filter((each) => each !== '');
    const asked = named.length > 0 ? named : catalogue.length > 0 ? catalogue : ['.'];
    const folders = (await Promise.all(asked.map(moduleFoldersIn))).flat();
    const read = await Promise.all(folders.map(async (folder) => ({ folder, found: await readModuleFolder(folder) })));
    const refusals = read.flatMap(({ found }) => (isRefusal(found) ? [found] : []));
    if (refusals.length > 0) return together(refusals, read.length);
    const modules = read.flatMap(({ folder, found }) =>
      isRefusal(found) ? [] : [{ module: found.manifest.module, version: found.manifest.version, folder }],
    );
    return answer('mesh.module-check', { modules }, drawChecked);
  },
};

/** All that is wrong in one answer, so that one look is enough. */
function together(refusals: readonly Refusal[], of: number): Refusal {
  const [first, second] = refusals;
  if (first === undefined) throw new Error('nothing was refused');
  if (second === undefined) return first;
  return {
    kind: first.kind,
    what: `${refusals.length} of ${of} modules cannot be added:\n${refusals.map(({ what }) => what).join('\n')}`,
    why: first.why,
    next: [...new Set(refusals.flatMap(({ next }) => next))],
    facts: { kinds: [...new Set(refusals.map(({ kind }) => kind))] },
  };
}
