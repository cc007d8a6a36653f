/** Ending what a node runs, once its host has ended: for taking a mesh down. */
import { errorChain } from './fault.ts';
import type { Say } from './log.ts';
import { adoptOrForbid, readRecord, recordedKeys, removeRecord } from './processes/record.ts';
import { endGroup } from './processes/stop.ts';
import { lockState, makeStateFolder } from './state.ts';

/**
 * Ends all supervised processes of a state folder, side by side; the next host starts them anew. Throws when the host
 * still runs, as it would start them again, and when a process cannot be ended.
 */
export async function stopNode({ stateDir, say }: { readonly stateDir: string; readonly say: Say }): Promise<void> {
  await makeStateFolder(stateDir);
  const unlock = await lockState(stateDir);
  try {
    const ended = await Promise.allSettled((await recordedKeys(stateDir)).map((key) => endOne(stateDir, key, say)));
    const faults = ended.flatMap((one) => (one.status === 'rejected' ? [errorChain(one.reason)] : []));
    if (faults.length > 0) throw new Error(`not all processes of ${stateDir} were ended: ${faults.join('; ')}`);
  } finally {
    await unlock();
  }
}

async function endOne(stateDir: string, key: string, say: Say): Promise<void> {
  const record = await readRecord(stateDir, key);
  if (record === undefined) return;
  const identity = await adoptOrForbid(stateDir, record);
  if (identity !== undefined) await endGroup(identity, record.stop);
  await removeRecord(stateDir, key);
  say.info({ process: key, pid: identity?.pid }, `ended ${key}`);
}
