import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { RegistryActivities } from '../activities/registry.ts';
import { registrySentence, type RegistryResult } from '../domain/act/registry.ts';
import { database } from './activity-classes.ts';

const { writeRegistry } = proxyActivities<RegistryActivities>(database);

/** A5. Writes what differs and nothing else: cut off anywhere and run again it finishes what is left. */
export async function compileRegistry(): Promise<RegistryResult> {
  setCurrentDetails('Reading what the published modules answer.');
  const result = await writeRegistry();
  setCurrentDetails(registrySentence(result));
  return result;
}
