/** What a consumer gets: its credential files, the readable facts beside them, and the secrets it holds for itself (S6, S10). */
import { loginsOf } from '../credential/logins.ts';
import { overlaps } from '../credential/overlaps.ts';
import { currentPair, ownToMake, pairToMake, type SecretNeed } from '../credential/secrets-to-make.ts';
import { isRefusal, type Refusal } from '../refusal/refusal.ts';
import type { InventoryIndex } from '../resolution/inventory-index.ts';
import type { Binding, Hold, Need, ResolvedNode } from '../resolution/resolve.ts';
import { given } from '../words/given.ts';
import { present } from '../words/invariant.ts';
import type { Placed, ProvisionName } from '../words/names.ts';
import { canonicalJson } from './canonical.ts';
import type { AccessFacts } from './declaration.ts';
import { emitted, portUnassigned, resourceId, type Emitted } from './emit-module.ts';
import type { World } from './reads.ts';

export type Emission = {
  readonly emitted: readonly Emitted[];
  readonly refusals: readonly Refusal[];
  readonly wouldMake: readonly SecretNeed[];
};
/** All that an emission reads. */
export type Emitting = World & { readonly hash: (text: string) => string };

const nothing: Emission = { emitted: [], refusals: [], wouldMake: [] };

/** One credential's file on its consumer's node. What is not made yet has no file: the declaration cannot be sent then. */
export function emitNeed(emitting: Emitting, need: Need): Emission {
  const { index, resolution } = emitting;
  const judged = pairToMake(index, resolution, need);
  if (isRefusal(judged)) return { ...nothing, refusals: [judged] };
  if (judged !== undefined) return { ...nothing, wouldMake: [judged] };
  if (!('file' in need)) return nothing;
  const current = present(currentPair(index, need.key), 'a credential that need not be made');
  const facts = need.form === 'password' ? undefined : accessFacts(emitting, need, current.generation);
  if (isRefusal(facts)) return { ...nothing, refusals: [facts] };
  const secret = emitted({
    kind: 'secret',
    id: resourceId(need.key.consumerModule, 'secret', need.file),
    module: need.key.consumerModule,
    path: need.file,
    mode: '0600',
    ...given('owner', need.owner),
    form: need.form,
    ...current.consumer,
    ...given('facts', facts),
  });
  return { ...nothing, emitted: [secret] };
}

function accessFacts({ index, hash }: Emitting, { key, form }: Need, generation: number): AccessFacts | Refusal {
  const at = placeOf(index, key.provision, { node: key.providerNode, module: key.providerModule });
  if (isRefusal(at)) return at;
  const { login, database } = loginsOf(key, generation, form, hash);
  return { login, database, host: at.host, port: present(at.port, 'the port of a provision that grants access') };
}

/** Where a provision is reached: the provider's address, and the port the mesh assigned there if it listens. */
export function placeOf(
  index: InventoryIndex,
  provision: ProvisionName,
  provider: Placed,
): { host: string; port?: number } | Refusal {
  const host = present(index.nodes.get(provider.node), `node ${provider.node}`).address;
  const provided = index.modules.get(provider.module)?.manifest.provides.find((one) => one.name === provision);
  if (provided?.listens === undefined) return { host };
  const row = index.ports(provider).find((one) => one.listens === provided.listens);
  return row === undefined ? portUnassigned(provider, provided.listens) : { host, port: row.port };
}

/**
 * The readable facts of one binding. Nothing in them changes with a generation, so they are byte-identical across a rotation
 * (S6); a login stands there only in the password form, where it never changes.
 */
export function emitFacts(emitting: Emitting, binding: Binding, needs: readonly Need[]): Emission {
  const { index } = emitting;
  const { consumer, provision, provider } = binding;
  const landings =
    index.modules.get(consumer.module)?.manifest.binds.filter((one) => one.requirement === provision) ?? [];
  if (landings.length === 0) return nothing;
  const at = placeOf(index, provision, provider);
  if (isRefusal(at)) return { ...nothing, refusals: [at] };
  const names = accessNames(
    emitting,
    needs.filter((need) => need.key.provision === provision && need.key.consumerModule === consumer.module),
  );
  const content = `${canonicalJson({ provision, ...at, ...names })}\n`;
  return {
    ...nothing,
    emitted: landings.map(({ file, owner }) =>
      emitted({
        kind: 'file',
        id: resourceId(consumer.module, 'file', file),
        module: consumer.module,
        path: file,
        mode: '0644',
        ...given('owner', owner),
        content,
        encoding: 'utf8',
      }),
    ),
  };
}

function accessNames({ hash }: Emitting, needs: readonly Need[]): object {
  const named = needs.map((need) => {
    const { owner, database, login } = loginsOf(need.key, 1, need.form, hash);
    return { local: need.key.local, names: { owner, database, ...(overlaps(need.form) ? {} : { login }) } };
  });
  const plain = named.find(({ local }) => local === undefined);
  const locals = named.flatMap(({ local, names }) => (local === undefined ? [] : [[local, names] as const]));
  return { ...plain?.names, ...(locals.length === 0 ? {} : { locals: Object.fromEntries(locals) }) };
}

/** A module's own secret on its node (S10). */
export function emitHold({ index }: Emitting, hold: Hold): Emission {
  const judged = ownToMake(index, hold);
  if (isRefusal(judged)) return { ...nothing, refusals: [judged] };
  if (judged !== undefined) return { ...nothing, wouldMake: [judged] };
  const own = present(index.own(hold.key), 'an own secret that need not be made');
  const secret = emitted({
    kind: 'secret',
    id: resourceId(hold.key.module, 'secret', hold.file),
    module: hold.key.module,
    path: hold.file,
    mode: '0600',
    ...given('owner', hold.owner),
    form: 'password',
    ...own.node,
  });
  return { ...nothing, emitted: [secret] };
}

/** All that a node gets as a consumer and for itself. */
export function emitConsumed(emitting: Emitting, node: ResolvedNode): Emission {
  return together([
    ...node.needs.map((need) => emitNeed(emitting, need)),
    ...node.bindings.map((binding) => emitFacts(emitting, binding, node.needs)),
    ...node.holds.map((hold) => emitHold(emitting, hold)),
  ]);
}

export function together(emissions: readonly Emission[]): Emission {
  return {
    emitted: emissions.flatMap((one) => one.emitted),
    refusals: emissions.flatMap((one) => one.refusals),
    wouldMake: emissions.flatMap((one) => one.wouldMake),
  };
}
