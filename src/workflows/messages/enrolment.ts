import { defineSignal } from '@temporalio/workflow';

/** The node that joins has shown that it holds its keys. Sent again for each time it asks, so a lost one is made up for. */
export const enrolmentProven = defineSignal('enrolmentProven');
