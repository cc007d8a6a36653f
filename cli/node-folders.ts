/** Where a node's things lie: beside the controller's, never among them, since one machine may be both. */
import path from 'node:path';

/** A node's own state in a machine's state folder. */
export const nodeStateFolder = (stateFolder: string): string => path.join(stateFolder, 'node');

/** The state folder and the root of a node that `mesh up` runs on the controller's machine. */
export const localNodeFolder = (stateFolder: string, node: string): string => path.join(stateFolder, 'nodes', node);
export const localNodeRoot = (stateFolder: string, node: string): string =>
  path.join(localNodeFolder(stateFolder, node), 'root');
