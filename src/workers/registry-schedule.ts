/** The hourly schedule of A5: made by the worker that owns it, as often as it starts, and seen in Temporal's UI (P6). */
import { Client, Connection, ScheduleAlreadyRunning, type ScheduleOptions } from '@temporalio/client';
import type { Logger } from 'pino';
import { meshNamespace } from '../domain/act/act.ts';
import { provisionerQueue, registryId, registrySummary } from '../domain/act/registry.ts';

const workflow = { taskQueue: provisionerQueue, workflowId: registryId, staticSummary: registrySummary } as const;

/** An hour that comes while one runs is left out; of the hours that passed while nobody was there, the last one is made up for (C87). */
const schedule = {
  scheduleId: registryId,
  spec: { intervals: [{ every: '1 hour' }] },
  action: { type: 'startWorkflow', workflowType: 'compileRegistry', args: [], ...workflow },
  policies: { overlap: 'SKIP', catchupWindow: '1 hour' },
} as const satisfies ScheduleOptions;

/** Makes the schedule, or brings the one that is there to this shape; says which hours were left out. */
export function keepSchedule(address: string, logger: Logger): Promise<void> {
  return withTemporal(address, async (client) => {
    try {
      await client.schedule.create(schedule);
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await client.schedule.getHandle(registryId).update(({ state }) => ({ ...schedule, state }));
    }
    const { info } = await client.schedule.getHandle(registryId).describe();
    const { numActionsMissedCatchupWindow: missed, numActionsSkippedOverlap: skipped } = info;
    logger.info({ missed, skipped }, 'the registry is compiled every hour');
  });
}

/** Starts a compilation now, unless one runs. */
export function compileAtStart(address: string): Promise<void> {
  return withTemporal(address, async (client) => {
    await client.workflow.start('compileRegistry', {
      ...workflow,
      args: [],
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
  });
}

async function withTemporal<T>(address: string, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address, connectTimeout: '5s' });
  try {
    return await use(new Client({ connection, namespace: meshNamespace, identity: 'provisioner' }));
  } finally {
    await connection.close();
  }
}
