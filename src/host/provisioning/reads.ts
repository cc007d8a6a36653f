/** What the mesh says of this node's modules, read by the index that names every key (P8). */
import { boundKeys, assignmentKeys, compositionKeys, settingKeys } from '../../domain/provisioning/keys.ts';
import type { PassReads } from '../../domain/provisioning/pass.ts';
import {
  assignmentIndex,
  assignmentPlan,
  bound,
  boundBucket,
  buckets,
  composition,
  settingValue,
  type AssignmentIndex,
  type AssignmentPlan,
  type Composition,
} from '../../domain/provisioning/values.ts';
import { moduleName, type ModuleName, type NodeName } from '../../domain/words/names.ts';
import type { Found, World } from './world.ts';

export type NodeReads = Omit<PassReads, 'plans'> & { readonly plans: ReadonlyMap<ModuleName, AssignmentPlan> };

/**
 * Reads the index of a node and every key that it names. An index that is not there is one that could not be read: the
 * controller writes one for every node, so that its absence is the mirror's fault and retires nothing.
 */
export async function readMirrors(world: World, node: NodeName): Promise<NodeReads> {
  const index = await world.get(buckets.assignments, assignmentKeys.of({ node }), assignmentIndex);
  const plans = new Map<ModuleName, AssignmentPlan>();
  const compositions = new Map<ModuleName, Composition>();
  const unread = new Map<ModuleName, string>();
  if (index.kind !== 'found') return { index: undefined, unread, plans, compositions };
  const modules = Object.entries(index.value.modules).map(([name, entry]) => [moduleName.parse(name), entry] as const);
  await Promise.all(
    modules.map(async ([module, entry]) => {
      const [plan, published, faults] = await Promise.all([
        world.get(buckets.assignments, assignmentKeys.of({ node, module }), assignmentPlan),
        world.get(buckets.compositions, compositionKeys.of({ module }), composition),
        faultsOfRest(world, node, module, entry),
      ]);
      if (plan.kind === 'found') plans.set(module, plan.value);
      if (published.kind === 'found') compositions.set(module, published.value);
      const fault = [absentAsFault(plan, 'its plan'), faultOf(published), ...faults].find((one) => one !== undefined);
      if (fault !== undefined) unread.set(module, fault);
    }),
  );
  return { index: index.value, unread, plans, compositions };
}

/** Of its settings, each of which the index says is there; and of its bindings, which a provider may not have written yet. */
async function faultsOfRest(
  world: World,
  node: NodeName,
  module: ModuleName,
  { settings, bound: references }: AssignmentIndex['modules'][ModuleName],
): Promise<readonly (string | undefined)[]> {
  return Promise.all([
    ...settings.map(async (name) =>
      absentAsFault(
        await world.get(buckets.settings, settingKeys.of({ node, module, name }), settingValue),
        `setting ${name}`,
      ),
    ),
    ...references.map(async ({ provision, local, provider }) => {
      const key = boundKeys.of({ node, module, provision, ...(local === undefined ? {} : { local }) });
      return faultOf(await world.get(boundBucket(provider), key, bound));
    }),
  ]);
}

function faultOf(found: Found<unknown>): string | undefined {
  return found.kind === 'fault' ? found.says : undefined;
}

function absentAsFault(found: Found<unknown>, what: string): string | undefined {
  return found.kind === 'absent' ? `${what} is named in the node's index and is not there` : faultOf(found);
}
