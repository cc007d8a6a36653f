/** How a step says no. The type is a contract with workflows and the command, so it is written out, never a class's name. */
import { ApplicationFailure } from '@temporalio/common';
import type { Refusal } from '../domain/refusal/refusal.ts';

/** A refusal ends an act: nothing was changed, and trying again changes nothing (A1.3, A13). */
export function refuse(
  type: 'RotationRefused' | 'PushRefused' | 'RemovalRefused',
  refusal: Refusal,
): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    nonRetryable: true,
    message: `${refusal.what}: ${refusal.why}`,
    details: [refusal],
  });
}
