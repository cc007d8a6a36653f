/** One mesh with many pairs of played nodes, so that every act of a batch has a pair of its own and one death serves them all. */
import { connectBus } from '../../src/bus/connection.ts';
import { meshCredential } from '../../src/bus/identity.ts';
import { lookUpAccount } from '../../src/bus/claims.ts';
import { systemCredential } from '../../src/bus/identity.ts';
import { rotationId, type RotationSelection } from '../../src/domain/act/act.ts';
import { pairPath, type PairKey } from '../../src/domain/credential/credential.ts';
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { moduleName, provisionName } from '../../src/domain/words/names.ts';
import { pin } from '../../src/operations/intent/pin.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import type { ActingMesh } from '../acts/acting-mesh.ts';
import { place } from '../acts/catalogue.ts';
import type { PlayedNode } from '../acts/played-node.ts';

export type Ends = { readonly provider: PlayedNode; readonly consumer: PlayedNode };

const provision = provisionName.parse('postgres-database');
const postgres = moduleName.parse('postgres');

export function keyOf({ provider, consumer }: Ends, module: string): PairKey {
  return {
    provision,
    providerNode: provider.node,
    providerModule: postgres,
    consumerNode: consumer.node,
    consumerModule: moduleName.parse(module),
  };
}

/** Declares that the consumer's `module` takes its database from this provider. */
export async function declarePair({ store }: ActingMesh, ends: Ends, module: string): Promise<void> {
  await place(store, ends.provider.node, 'postgres');
  const pinned = await pin(store, 'ada', {
    node: ends.consumer.node,
    provision,
    provider: { node: ends.provider.node, module: postgres },
  });
  if (isRefusal(pinned)) throw new Error(JSON.stringify(pinned));
  await place(store, ends.consumer.node, module);
}

export function rotationOf(ends: Ends, module: string): { readonly id: string; readonly request: object } {
  const selection: RotationSelection = { of: 'pairs', pairs: [keyOf(ends, module)] };
  return { id: rotationId(selection, sha256Hex), request: { selection, person: 'ada' } };
}

/** The generations of a credential and their stages, oldest first. */
export async function generationsOf(mesh: ActingMesh, key: PairKey): Promise<readonly string[]> {
  const rows = await mesh.ask(
    `select generation || ' ' || stage as g from mesh.pair_secrets
      where consumer_node = '${key.consumerNode}' and consumer_module = '${key.consumerModule}' order by generation`,
  );
  return rows.map((row) => String(row['g']));
}

export async function locksOf(mesh: ActingMesh, key: PairKey): Promise<number> {
  return (await mesh.ask(`select 1 from mesh.credential_locks where credential = '${pairPath(key)}'`)).length;
}

/** What the bus itself knows: how many declarations its stream ever took, and which accounts it has. */
export async function busView(mesh: ActingMesh) {
  const servers = [mesh.foundation.nats.url];
  const bus = await connectBus({ servers, name: 'test', credential: await meshCredential(mesh.keys.bus) });
  const system = await connectBus({
    servers,
    name: 'test-accounts',
    credential: await systemCredential(mesh.keys.bus),
  });
  return {
    async declarationsTaken(): Promise<number> {
      const manager = await bus.nats.jetstreamManager({ checkAPI: false });
      return (await manager.streams.info('MESH_DECLARATIONS')).state.last_seq;
    },
    hasAccount: async (accountKey: string) => (await lookUpAccount(system, accountKey)) !== undefined,
    async close(): Promise<void> {
      await bus.close();
      await system.close();
    },
  };
}
