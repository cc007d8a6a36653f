/**
 * How long steps may take and how they are retried, by class (A13); the one place that says so. None gives up by
 * itself: a fault is retried until it is mended or the act is cancelled, and what it waits for stands in its row.
 * What cannot be mended is thrown as a non-retryable failure by the step.
 */
import type { ActivityOptions } from '@temporalio/workflow';

const retry = { initialInterval: '200ms', backoffCoefficient: 2, maximumInterval: '10s' } as const;

/** A few transactions, and what the bus has to be told with them; the worker beats for it. */
export const database: ActivityOptions = { startToCloseTimeout: '30s', heartbeatTimeout: '5s', retry };
/** Composes, signs and publishes; the fan-out over many nodes is inside. */
export const bus: ActivityOptions = { startToCloseTimeout: '5 minutes', heartbeatTimeout: '10s', retry };
/** Waits for nodes, for as long as they take; a worker that died is noticed by its missing heartbeat. */
export const hostWait: ActivityOptions = { startToCloseTimeout: '30 days', heartbeatTimeout: '5s', retry };
