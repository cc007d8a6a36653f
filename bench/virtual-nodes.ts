/** Nodes that are rows, and one process that plays all of them, the product's and the floor's. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { nodeName, type NodeName } from '../src/domain/words/names.ts';
import { bytesOfBase64 } from '../src/sealing/base64.ts';
import { makeSealingKey } from '../src/sealing/box.ts';
import { lastReportsSubject, type Does } from './nodes-at-work.ts';
import type { RaisedMesh } from './raised-mesh.ts';

export type VirtualNodes = {
  readonly names: readonly NodeName[];
  /** When each last reported, ms since 1970; one that never did is not in it. */
  lastReports(): Promise<ReadonlyMap<string, number>>;
  stop(): Promise<void>;
};

const loader = fileURLToPath(new URL('../test/support/typescript.mjs', import.meta.url));
const program = fileURLToPath(new URL('programs/nodes.mjs', import.meta.url));
const times = z.record(z.string(), z.number());

/** Makes the rows of joined nodes, each with a sealing key of its own, and plays them. */
export async function playNodes(
  mesh: RaisedMesh,
  names: readonly string[],
  does: Does = 'nothing',
): Promise<VirtualNodes> {
  const keys = names.map(() => makeSealingKey());
  await mesh.pg.query(
    `insert into mesh.nodes (node, state, address, sealing_key, sealing_fingerprint, capabilities_reported)
     select node, 'joined', '127.0.0.1', key, fingerprint, true
       from unnest($1::text[], $2::bytea[], $3::text[]) as n (node, key, fingerprint)`,
    [names, keys.map(({ publicKey }) => bytesOfBase64(publicKey)), keys.map(({ fingerprint }) => fingerprint)],
  );
  const stop = await startNodes(mesh.stateDir, does);
  return {
    names: names.map((name) => nodeName.parse(name)),
    async lastReports() {
      const answer = await mesh.bus.nats.request(lastReportsSubject, '', { timeout: 10_000 });
      return new Map(Object.entries(times.parse(answer.json())));
    },
    stop,
  };
}

async function startNodes(stateDir: string, does: Does): Promise<() => Promise<void>> {
  const args = ['--no-warnings', '--import', loader, program, stateDir, does];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), ended]);
  if (child.exitCode !== null) throw new Error('the nodes did not begin to work');
  const died = (): never => {
    throw new Error('the nodes ended in the middle of it');
  };
  child.once('exit', died);
  return async () => {
    child.removeListener('exit', died);
    child.kill('SIGTERM');
    await ended;
    process.removeListener('exit', kill);
  };
}
