/**
 * `npm run bench`: one table, floor and product measured in turn in one run. Words after it choose rows:
 * `npm run bench -- plan push`. With TEMPORAL_ADDRESS the rotations are measured on that server as well.
 */
import { cpus } from 'node:os';
import { loadNow } from './measure.ts';
import { raiseMesh, type RaisedMesh } from './raised-mesh.ts';
import { commandRows } from './rows/command.ts';
import { declareRows } from './rows/declare.ts';
import { hostRows } from './rows/host.ts';
import { planRows } from './rows/plan.ts';
import { provisionerRows } from './rows/provisioner.ts';
import { pushRows } from './rows/push.ts';
import { pushCommandRows } from './rows/push-command.ts';
import { rotateRows } from './rows/rotate.ts';
import { statusRows } from './rows/status.ts';
import { tableOf, type Row } from './table.ts';

const chosen = new Set(process.argv.slice(2));
const isAsked = (name: string): boolean => chosen.size === 0 || chosen.has(name);
const notes: string[] = [];
const note = (line: string): void => void notes.push(line);
const temporal = process.env['TEMPORAL_ADDRESS'];
const servers = [
  { name: 'the dev server' },
  ...(temporal === undefined ? [] : [{ name: 'Temporal on Postgres', address: temporal }]),
];

const pure: Readonly<Record<string, () => Promise<readonly Row[]>>> = {
  plan: planRows,
  host: hostRows,
  help: commandRows,
  provisioner: () => provisionerRows(note),
};
const onMesh: Readonly<Record<string, (mesh: RaisedMesh) => Promise<readonly Row[]>>> = {
  declare: declareRows,
  push: (mesh) => pushRows(mesh, note),
  'push-command': (mesh) => pushCommandRows(mesh, servers),
  rotate: (mesh) => rotateRows(mesh, servers, note),
  status: statusRows,
};

const rows: Row[] = [];
const began = loadNow();
const take = async (name: string, measure: () => Promise<readonly Row[]>): Promise<void> => {
  process.stderr.write(`measuring ${name}\n`);
  rows.push(...(await measure()));
};
for (const [name, measure] of Object.entries(pure)) if (isAsked(name)) await take(name, measure);
const meshed = Object.entries(onMesh).filter(([name]) => isAsked(name));
if (meshed.length > 0) {
  const mesh = await raiseMesh();
  try {
    for (const [name, measure] of meshed) await take(name, () => measure(mesh));
  } finally {
    await mesh.close();
  }
}
process.stdout.write(
  [
    tableOf(rows),
    '',
    `${cpus().length} cores, node ${process.version}, load ${began.toFixed(1)} at the start and ${loadNow().toFixed(1)} at the end; medians of rounds taken in turn.`,
    'Nodes are played by a process of their own, floor’s and product’s alike, and share one account; "its steps" are the act without Temporal, in one process.',
    ...notes,
    '',
  ].join('\n'),
);
