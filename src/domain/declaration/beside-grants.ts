/** What lies beside a provider's grants directory, where its own files are left alone: its granter's status, and the granter's account on the bus. */
import { z } from 'zod';
import { moduleName, nodeName } from '../words/names.ts';

const statusEnding = '.status.json';

/** The status file that a granter writes beside its directory (S8). */
export function statusFile(directory: string): string {
  return `${directory}${statusEnding}`;
}

/** The folder in which the host keeps the account that the program of this directory has on the bus (P2). */
export function programFolder(directory: string): string {
  return `${directory}.program`;
}

/** The directory that a status file lies beside; undefined for one that has another name. */
export function grantsDirectory(status: string): string | undefined {
  return status.endsWith(statusEnding) ? status.slice(0, -statusEnding.length) : undefined;
}

/** In the folder: the seed of the bus user, made on the node, alone in a file. */
export const programSeedFile = 'user.seed';
/** In the folder: who the program is on the bus, and where that is; nothing in it is secret. */
export const programAccountFile = 'account.json';
export const programAccess = z.strictObject({
  schema: z.literal('mesh.program'),
  version: z.literal(1),
  node: nodeName,
  module: moduleName,
  servers: z.array(z.string().min(1)).min(1),
  /** The public half of the key in the seed's file: another key is another user. */
  userKey: z.string().min(1),
  userJwt: z.string().min(1),
});
export type ProgramAccess = z.infer<typeof programAccess>;
