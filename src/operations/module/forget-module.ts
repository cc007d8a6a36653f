import { refuseToForget, type Forgotten } from '../../domain/assignment/forgetting.ts';
import { ownPath, pairPath } from '../../domain/credential/credential.ts';
import { canonicalJson } from '../../domain/declaration/canonical.ts';
import type { Refusal } from '../../domain/refusal/refusal.ts';
import { indexOf } from '../../domain/resolution/inventory-index.ts';
import type { Inventory, PortRow } from '../../domain/resolution/inventory.ts';
import { walk } from '../../domain/resolution/walk.ts';
import type { ModuleName, Placed } from '../../domain/words/names.ts';
import type { InventoryReads } from '../ports/declaration-rows.ts';
import type { IntentReads } from '../ports/module-rows.ts';
import type { RouteReads } from '../ports/route-rows.ts';
import type { SecretReads } from '../ports/secret-rows.ts';
import type { Reads } from '../ports/work.ts';
import { unknownModule } from './list-modules.ts';

/**
 * Says all that forgetting a module would destroy (M16), in one snapshot, and refuses as `forget-destroys`: nothing is started and
 * nothing changes. Refusal besides: `unknown-module`. `hash`: lower-case hex SHA-256 of a text.
 */
export function forgetModule(
  store: Reads<InventoryReads & IntentReads & RouteReads & SecretReads>,
  hash: (text: string) => string,
  module: ModuleName,
): Promise<Refusal> {
  return store.read(async (view) => {
    const inventory = await view.inventory();
    if (!indexOf(inventory).modules.has(module)) return unknownModule(module);
    const gone = await goneWith(view, inventory, module);
    return refuseToForget(module, gone, `sha256:${hash(canonicalJson({ module, ...gone }))}`);
  });
}

async function goneWith(
  view: IntentReads & RouteReads & SecretReads,
  inventory: Inventory,
  module: ModuleName,
): Promise<Forgotten> {
  const isIts = (one: { readonly module?: ModuleName | undefined }): boolean => one.module === module;
  const pairs = (await view.pairSecretRows()).filter(
    ({ key }) => key.providerModule === module || key.consumerModule === module,
  );
  const ports = [...(await view.portRows()), ...(await view.releasedPorts())];
  return {
    assignments: sorted([...inventory.assignments.filter(isIts).map(place), ...cameAlong(inventory, module)]),
    settings: sorted((await view.settingRows()).filter(isIts).map((row) => `${place(row)} ${row.name}`)),
    labels: sorted((await view.routeLabels()).filter(isIts).map((row) => `${place(row)} ${row.listens} ${row.label}`)),
    ownSecrets: sorted((await view.ownSecretRows()).filter(({ key }) => isIts(key)).map(({ key }) => ownPath(key))),
    pairCredentials: sorted(pairs.map(({ key }) => pairPath(key))),
    ports: sorted(ports.filter(isIts).map(portText)),
    claims: sorted((await view.claimRows()).filter(isIts).map(({ name, place: at }) => `${name} at ${at}`)),
    bindings: sorted(
      inventory.bindings
        .filter((row) => isIts(row) || isIts(row.provider))
        .map((row) => `${place(row)} ${row.provision} from ${place(row.provider)}`),
    ),
    pins: sorted(
      inventory.pins
        .filter(({ provider }) => isIts(provider))
        .map(({ node, provision, provider }) => `${node} ${provision} at ${provider.node}/${module}`),
    ),
    // Nothing builds yet, so no module has any.
    builds: [],
  };
}

/** Where it runs because another module there requires it: that stops as well. */
function cameAlong(inventory: Inventory, module: ModuleName): readonly string[] {
  const index = indexOf(inventory);
  return inventory.nodes.flatMap(({ name: node }) =>
    walk(index, node)
      .modules.filter((one) => one.module === module && one.why.every(({ kind }) => kind === 'required'))
      .map(() => `${node}/${module} (required there)`),
  );
}

const place = ({ node, module }: Placed): string => `${node}/${module}`;
const portText = (row: PortRow): string => `${row.port}/${row.protocol} of ${row.node} (${row.listens})`;
/** A credential's generations are one thing here. */
const sorted = (texts: readonly string[]): readonly string[] => [...new Set(texts)].toSorted();
