/**
 * Readable facts of a binding (`${bound:…}`) are told by the provider's program, which learns of its consumers, and gets its account
 * on the bus, through its grants directory. A provision without one tells nobody anything: what asks for its facts would wait for ever.
 */
import type { Manifest } from '../manifest/manifest.ts';
import { templatesOf } from '../manifest/templates.ts';
import type { Refusal } from '../refusal/refusal.ts';
import type { ModuleName, Placed, ProvisionName } from '../words/names.ts';
import type { CatalogueModule } from './inventory.ts';

/** A placeholder that asks for a fact of a binding, as it is written. */
type AskedFact = { readonly requirement: string; readonly written: string };

// A module's placeholders are the same on every node, so they are looked for once.
const askedOfModules = new WeakMap<CatalogueModule, readonly AskedFact[]>();

/** What a module's files ask of its bindings, the first placeholder of each requirement. */
export function factsAsked(module: CatalogueModule): readonly AskedFact[] {
  const known = askedOfModules.get(module);
  if (known !== undefined) return known;
  const first = new Map<string, AskedFact>();
  for (const { of, name, written } of templatesOf(module.manifest, module.files).flatMap((one) => one.placeholders)) {
    const [requirement = ''] = name;
    if (of === 'bound' && !first.has(requirement)) first.set(requirement, { requirement, written });
  }
  const found = [...first.values()];
  askedOfModules.set(module, found);
  return found;
}

/** Whether consumers of this provision are told the facts of their bindings. */
export function tellsFacts(manifest: Manifest | undefined, provision: string): boolean {
  return manifest?.provides.some(({ name, grants }) => name === provision && grants !== undefined) === true;
}

/** A module's file asks for a fact that its provider never tells. */
export function untold(
  { written }: AskedFact,
  provision: ProvisionName,
  consumer: Placed,
  provider: ModuleName,
): Refusal {
  return {
    ...untoldIn(written, consumer.module, provision, [provider]),
    what: `a file of ${consumer.module} on ${consumer.node} holds ${written}, and ${provider} tells no facts of ${provision}`,
    facts: { node: consumer.node, module: consumer.module, provision, provider },
  };
}

/** The same of a catalogue, in which none of those that provide it tells any. */
export function untoldIn(
  written: string,
  module: ModuleName,
  provision: ProvisionName,
  providers: readonly ModuleName[],
): Refusal {
  return {
    kind: 'facts-untold',
    what: `a file of ${module} holds ${written}, and ${providers.join(' and ')} ${providers.length === 1 ? 'tells' : 'tell'} no facts of ${provision}`,
    why: 'facts are told by the program that is told whom it grants what, and it has no grants directory: the file would wait for ever',
    next: [
      ...providers.map((provider) => `write grants: <directory> at ${provision} in the manifest of ${provider}`),
      `take ${written} out of the file, and write binds: { ${provision}: <path> } in the manifest of ${module} for a file of host and port`,
    ],
    facts: { module, provision, providers },
  };
}
