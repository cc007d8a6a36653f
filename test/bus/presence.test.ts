/** What the controller makes on the bus, looked for by whoever only looks. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';

import { ensureBuckets } from '../../src/bus/mesh-buckets.ts';
import { missingOnBus } from '../../src/bus/presence.ts';
import { ensureStreams } from '../../src/bus/streams.ts';
import { startBus, type TestBus } from './server.ts';

let bus: TestBus;
beforeAll(async () => {
  bus = await startBus();
}, 60_000);
afterAll(() => bus.stop());

test('[U5] what is not there is named, nothing when all is, and looking makes nothing', async () => {
  const all = await missingOnBus(bus.mesh, 2_000);
  expect(all).toEqual(
    expect.arrayContaining([
      'stream MESH_DECLARATIONS',
      'stream MESH_REPORTS',
      'consumer MESH_REPORTS/controller',
      'bucket mesh-provisioner_registry',
    ]),
  );
  expect(await missingOnBus(bus.mesh, 2_000)).toEqual(all);
  await ensureStreams(bus.mesh);
  expect((await missingOnBus(bus.mesh, 2_000)).every((one) => one.startsWith('bucket '))).toBe(true);
  await ensureBuckets(bus.mesh);
  expect(await missingOnBus(bus.mesh, 2_000)).toEqual([]);
  const manager = await bus.mesh.nats.jetstreamManager({ checkAPI: false });
  await manager.consumers.delete('MESH_REPORTS', 'controller');
  await manager.streams.delete('KV_provisioner_health');
  expect(await missingOnBus(bus.mesh, 2_000)).toEqual([
    'consumer MESH_REPORTS/controller',
    'bucket provisioner_health',
  ]);
});

test('[C79] a server without JetStream is a fault, and no bus on which all is there', async () => {
  const bare = await startBus({}, { jetStream: false });
  try {
    await expect(missingOnBus(bare.mesh, 2_000)).rejects.toThrow(/JS\.API/);
  } finally {
    await bare.stop();
  }
});
