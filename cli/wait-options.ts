import type { OptionDefinition } from './definition.ts';

/** Options of every command that starts an act (U2). */
export const waitOptions: readonly OptionDefinition[] = [
  {
    name: 'timeout',
    value: 'DURATION',
    kind: 'duration',
    says: 'how long to wait for the outcome; the act goes on after it',
    byDefault: '10m',
  },
  { name: 'detach', says: "do not wait: print the act's id" },
];
