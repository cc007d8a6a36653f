/** A5 on demand: joins the compilation that runs, or starts one, and waits for it. */
import type { Client } from '@temporalio/client';

import { provisionerWorker } from '../../src/domain/act/workers.ts';
import {
  provisionerQueue,
  registryId,
  registryResult,
  registrySummary,
  type RegistryResult,
} from '../../src/domain/act/registry.ts';
import { problem, Stopped } from '../problem.ts';
import { promptly } from './temporal.ts';

/** Ends the command as `no-worker` after `timeoutMs` without an outcome: it goes on by itself. */
export async function compileNow(client: Client, timeoutMs: number): Promise<RegistryResult> {
  const handle = await promptly(client, () =>
    client.workflow.start('compileRegistry', {
      taskQueue: provisionerQueue,
      workflowId: registryId,
      args: [],
      staticSummary: registrySummary,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
    }),
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Stopped(noProvisioner())), timeoutMs);
  });
  const leaving = new AbortController();
  const result: Promise<unknown> = client.withAbortSignal(leaving.signal, () => handle.result());
  try {
    return registryResult.parse(await Promise.race([result, late]));
  } finally {
    clearTimeout(timer);
    // Whoever leaves must not wait for the end of the call; what it then says is nobody's business.
    result.catch(() => undefined);
    leaving.abort();
  }
}

function noProvisioner() {
  const { queue, role, start } = provisionerWorker;
  return problem('no-worker', {
    what: `nothing is working on queue ${queue}: no ${role} has taken ${registryId} up`,
    why: 'it is kept and begins as soon as one runs',
    next: [start, 'mesh doctor'],
    facts: { workflowId: registryId, taskQueue: queue },
  });
}
