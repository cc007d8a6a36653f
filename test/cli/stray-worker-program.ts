/** A worker on a queue that nobody waits on, as a slip of the pen makes one: <address> <namespace> <queue>. */
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';

const [address = '', namespace = '', taskQueue = ''] = process.argv.slice(2);
Runtime.install({ workerHeartbeatInterval: '1s' });
const connection = await NativeConnection.connect({ address });
const activities = { nothing: async (): Promise<void> => undefined };
await (await Worker.create({ connection, namespace, taskQueue, activities })).run();
