import { defineSignal } from '@temporalio/workflow';
import { pushAskedAgain as name } from '../../domain/act/act.ts';

/** Somebody joined who may have declared something after this push looked: it looks again before it is done. */
export const pushAskedAgain = defineSignal(name);
