import { pairPath } from '../../src/domain/credential/credential.ts';
import type { Inventory } from '../../src/domain/resolution/inventory.ts';
import type { Context } from '../context.ts';
import type { NameKind } from './completions.ts';

/**
 * What the mesh has of a kind, for a shell that waits: no mesh, one that is down, or one that takes longer than a person would wait,
 * and there is nothing to offer. `words` may say which mesh (`--state`).
 */
export async function namesOfMesh(
  kind: NameKind,
  words: readonly string[],
  context: Context,
): Promise<readonly string[]> {
  const { settingsFrom } = await import('../settings.ts');
  const { withController } = await import('../controller.ts');
  const at = words.indexOf('--state');
  const settings = at < 0 ? context.settings : settingsFrom(context.settings.env, words[at + 1]);
  try {
    return await withController({ ...context, settings }, ({ store }) =>
      store.read(async (view) => {
        if (kind === 'act') return (await view.actRows({ limit: 50 })).map(({ workflowId }) => workflowId);
        const inventory = await view.inventory();
        if (kind !== 'thing') return namesIn(inventory, kind);
        const { routesOf } = await import('../../src/domain/provisioning/mesh-routes.ts');
        const [publicDomains, labels] = [await view.publicDomains(), await view.routeLabels()];
        const { routes } = routesOf({ inventory, publicDomains, labels });
        return [...namesIn(inventory, kind), ...routes.map(({ name }) => name)];
      }),
    );
  } catch {
    // Whatever it is, the command that is being written will say it; a shell has no place for it.
    return [];
  }
}

function namesIn(
  { nodes, modules, assignments, pairSecrets }: Inventory,
  kind: Exclude<NameKind, 'act'>,
): readonly string[] {
  const nodeNames = nodes.map(({ name }) => name);
  const placed = assignments.map(({ node, module }) => `${node}/${module}`);
  switch (kind) {
    case 'node':
      return nodeNames;
    case 'module':
      return modules.map(({ manifest }) => manifest.module);
    case 'placed':
      return placed;
    case 'thing':
      return [...nodeNames, ...modules.map(({ manifest }) => manifest.module), ...placed];
    case 'provider':
      return [...nodeNames, ...placed];
    // What modules call the secrets that they ask for, and credentials by the paths that `secret list` names them by.
    case 'secret':
      return modules.flatMap(({ manifest: { secrets, filled, holds } }) => [
        ...[...secrets, ...filled].map(({ requirement }) => requirement),
        ...holds.map(({ name }) => name),
      ]);
    case 'credential':
      return pairSecrets.map(({ key }) => pairPath(key));
    case 'provision':
      return modules.flatMap(({ manifest }) => manifest.provides.map(({ name }) => name));
  }
}
