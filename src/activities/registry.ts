/** A5's step: reads what published modules answer and what the registry says, and writes the difference (P6, P7). */
import { canonicalJson } from '../domain/declaration/canonical.ts';
import type { RegistryResult } from '../domain/act/registry.ts';
import { compositionKeys } from '../domain/provisioning/keys.ts';
import { compileRegistry, meshOwnDomains, type Domain } from '../domain/provisioning/registry.ts';
import { composition } from '../domain/provisioning/values.ts';

type Entries = ReadonlyMap<string, { readonly value: string; readonly revision: number }>;

export type RegistryBus = {
  compositions(): Promise<Entries>;
  registry(): Promise<Entries>;
  /** Expects the key to have this revision, 0 where it is not there. */
  put(key: string, value: string, revision: number): Promise<number | 'conflict'>;
  delete(key: string): Promise<void>;
};

const named = 20;

/** The step of `compileRegistry`, over the worker's bus. */
export function createRegistryActivities({ bus }: { readonly bus: RegistryBus }) {
  return {
    /** Writes each kind that differs, deletes each that nobody answers. @throws when somebody else wrote meanwhile; it is run again. */
    async writeRegistry(): Promise<RegistryResult> {
      const [compositions, registry] = await Promise.all([bus.compositions(), bus.registry()]);
      const { domains, unreadable } = domainsIn(compositions);
      const present = new Map([...registry].map(([key, { value }]) => [key, jsonOf(value)]));
      const { writes, deletes, refusals } = compileRegistry({ domains: [...meshOwnDomains, ...domains], present });
      for (const { key, value } of writes) {
        const written = await bus.put(key, canonicalJson(value), registry.get(key)?.revision ?? 0);
        if (written === 'conflict') throw new Error(`the kind ${key} was written by somebody else meanwhile`);
      }
      for (const key of deletes) await bus.delete(key);
      const fresh = writes.filter(({ key }) => !registry.has(key)).length;
      return {
        kinds: registry.size + fresh - deletes.length,
        written: writes.length,
        deleted: deletes.length,
        refused: refusals.slice(0, named).map(({ kind, what }) => ({ kind, what })),
        refusedCount: refusals.length,
        unreadable: unreadable.slice(0, named),
      };
    },
  };
}
export type RegistryActivities = ReturnType<typeof createRegistryActivities>;

function domainsIn(compositions: Entries): {
  readonly domains: readonly Domain[];
  readonly unreadable: readonly string[];
} {
  const domains: Domain[] = [];
  const unreadable: string[] = [];
  for (const [key, { value }] of compositions) {
    const module = compositionKeys.read(key);
    const read = composition.safeParse(jsonOf(value));
    if (module.kind === 'key' && read.success) domains.push({ ...module.parts, answers: read.data.answers });
    else unreadable.push(key);
  }
  return { domains, unreadable };
}

/** Undefined where it is no JSON, which is the same as nothing that is wanted there. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
