import type { Refusal } from '../../domain/refusal/refusal.ts';
import type { NodeName, PartName, Placed } from '../../domain/words/names.ts';
import { unknownModule } from '../module/list-modules.ts';
import { unknownNode } from '../node/invite-node.ts';
import type { IntentReads, IntentRows, ModuleReads, SettingRow } from '../ports/module-rows.ts';
import type { NodeReads } from '../ports/node-rows.ts';
import type { EventRows, Reads, Writes } from '../ports/work.ts';

type Tx = NodeReads & ModuleReads & IntentRows & EventRows;

/** Sets what a module is told on one node. Refusals: `unknown-node`, `unknown-module`, `unknown-setting`. */
export function setSetting(store: Writes<Tx>, person: string, setting: SettingRow): Promise<SettingRow | Refusal> {
  const { node, module, name } = setting;
  return store.write(person, async (tx) => {
    const [known] = await tx.nodeRows([node]);
    if (known === undefined) return unknownNode(node);
    const shown = await tx.moduleManifest(module);
    if (shown === undefined) return unknownModule(module);
    const names = shown.manifest.settings.map((one) => one.name);
    if (!names.includes(name)) return unknownSetting(setting, names);
    await tx.putSetting(setting);
    await tx.event({ kind: 'set', about: `${node}/${module}/${name}` });
    return setting;
  });
}

/** Takes a setting back, so that the module's own default counts again. Refusal: `unknown-setting`. */
export function unsetSetting(
  store: Writes<Tx>,
  person: string,
  { node, module, name }: Placed & { readonly name: PartName },
): Promise<Placed | Refusal> {
  return store.write(person, async (tx) => {
    if (!(await tx.deleteSetting({ node, module }, name))) return unknownSetting({ node, module, name }, []);
    await tx.event({ kind: 'unset', about: `${node}/${module}/${name}` });
    return { node, module };
  });
}

/** What is set, of one node or of all. */
export function listSettings(store: Reads<IntentReads>, node?: NodeName): Promise<readonly SettingRow[]> {
  return store.read((view) => view.settingRows(node));
}

function unknownSetting(
  { node, module, name }: Placed & { readonly name: PartName },
  names: readonly PartName[],
): Refusal {
  return {
    kind: 'unknown-setting',
    what: `${module} on ${node} has no setting ${name}`,
    why:
      names.length === 0
        ? 'nothing of that name is set, and its manifest names none'
        : `its manifest names ${names.join(', ')}`,
    next: [`mesh module show ${module}`],
    facts: { node, module, setting: name, settings: names },
  };
}
