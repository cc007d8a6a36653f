// The nodes of a bench, in a process of their own, as nodes are. Arguments: the mesh's state folder, and `ends` where credentials
// are written and granted.
import { workAsNodes } from '../nodes-at-work.ts';

const [stateDir, ends] = process.argv.slice(2);
await workAsNodes(stateDir, ends === 'ends');
process.stdout.write('ready\n');
