/** Every command there is. A verb that is not built is not here. */
import { moduleCheck } from './commands/module/check.ts';
import { moduleSchema } from './commands/module/schema.ts';
import type { CommandDefinition } from './definition.ts';

export const commandTable: readonly CommandDefinition[] = [moduleCheck, moduleSchema];
