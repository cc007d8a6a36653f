// The nodes of a bench, in a process of their own, as nodes are. Arguments: the mesh's state folder, and what they do.
import { workAsNodes } from '../nodes-at-work.ts';

const [stateDir, does] = process.argv.slice(2);
await workAsNodes(stateDir, does);
process.stdout.write('ready\n');
