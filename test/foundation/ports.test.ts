import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { expect, test } from '@jest/globals';

import { freePorts, refuseTaken } from '../../src/foundation/ports.ts';

async function listening(): Promise<{ server: Server; port: number }> {
  const [port = 0] = await freePorts('127.0.0.1', 1);
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { server, port };
}

test('[U13] a port that is held while its last holder ends is not called taken; one that stays held is', async () => {
  const ending = await listening();
  const asked = refuseTaken('NATS', '127.0.0.1', ending.port);
  setTimeout(() => ending.server.close(), 200);
  expect(await asked).toBeUndefined();

  const staying = await listening();
  expect(await refuseTaken('NATS', '127.0.0.1', staying.port)).toMatchObject({
    kind: 'port-taken',
    facts: { program: 'NATS', address: '127.0.0.1', port: staying.port },
  });
  staying.server.close();
});
