/** A mesh for tests of acts: the real store, bus, Temporal and controller process; nodes that the test plays. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { serverClaims } from '../../src/bus/identity.ts';
import { makeSeed } from '../../src/bus/seed.ts';
import { makeTokenId } from '../../src/bus/token.ts';
import { controllerQueue, enrolId, enrolSummary, meshNamespace } from '../../src/domain/act/act.ts';
import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { nodeName } from '../../src/domain/words/names.ts';
import { controllerKeysAt, type ControllerKeys } from '../../src/foundation/controller-keys.ts';
import { raiseFoundation, lowerFoundation, type Foundation } from '../../src/foundation/foundation.ts';
import { busCredentialRecords } from '../../src/operations/act/bus-credential-records.ts';
import { inviteNode } from '../../src/operations/node/invite-node.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { askingAt } from '../support/asking.ts';
import { watchedFolder } from '../support/foundation.ts';
import { seedPostgres } from '../support/seeded-postgres.ts';
import { until } from '../support/until.ts';
import { joinPlayed, type PlayedNode } from './played-node.ts';

const mesh = fileURLToPath(new URL('../../bin/mesh', import.meta.url));

export type ActingMesh = {
  readonly stateDir: string;
  readonly foundation: Foundation;
  readonly store: Store;
  readonly temporal: Client;
  readonly keys: ControllerKeys;
  /** Runs SQL beside the product, to see what it left. */
  ask(sql: string): Promise<readonly Record<string, unknown>[]>;
  /** Enrols a node, with a client of this key where one is given, and answers it once it has reported and its act has ended. */
  join(name: string, clientKey?: string): Promise<PlayedNode>;
  /** The same, however often the controller dies meanwhile; it reports from when `reportsFrom` resolves, and its act is not waited for. */
  joinPatiently(name: string, reportsFrom?: Promise<void>): Promise<PlayedNode>;
  start(
    workflow: 'pushNodes' | 'rotateCredential' | 'removeNode',
    workflowId: string,
    request: object,
  ): Promise<WorkflowHandle & { readonly firstExecutionRunId: string }>;
  startController(): Promise<void>;
  /** SIGKILL. */
  killController(): Promise<void>;
  close(): Promise<void>;
};

export async function raiseActingMesh(): Promise<ActingMesh> {
  const { stateDir, close: closeFolder } = await watchedFolder('mesh-acts-');
  await seedPostgres(stateDir);
  const keys = await controllerKeysAt(stateDir);
  const foundation = await raiseFoundation({
    stateDir,
    env: process.env,
    trust: await serverClaims(keys.bus),
    say: () => undefined,
  });
  if (isRefusal(foundation)) throw new Error(foundation.what);
  const { host, port, user, passwordFile, database } = foundation.postgres;
  const address = { host, port, user, passwordFile, database };
  await migrate({ connection: address });
  const store = openStore(address);
  const rows = askingAt(address);
  const connection = await Connection.connect({ address: foundation.temporal.address });
  const temporal = new Client({ connection, namespace: meshNamespace });
  const played: PlayedNode[] = [];
  let controller: ChildProcess | undefined;

  const enrol = async (
    name: string,
    withinMs: number,
    { reportsFrom, clientKey }: { reportsFrom?: Promise<void> | undefined; clientKey?: string | undefined },
  ): Promise<PlayedNode> => {
    const node = nodeName.parse(name);
    const seed = makeSeed('user');
    const tokenId = makeTokenId();
    const expiresAt = new Date(Date.now() + 120_000);
    const invited = await inviteNode(store, 'ada', { node, tokenId, userKey: seed.publicKey, expiresAt });
    if (isRefusal(invited)) throw new Error(invited.what);
    await temporal.workflow.start('enrolNode', {
      taskQueue: controllerQueue,
      workflowId: enrolId(node),
      args: [{ node, tokenId, expiresInMs: 120_000, person: 'ada' }],
      staticSummary: enrolSummary(node),
    });
    const records = busCredentialRecords(store);
    const isOpen = async () => (await records.liveOf('token', tokenId))?.pushedAt !== undefined;
    // Many nodes join at once in some tests: whoever is patient looks less often.
    if (withinMs > 0) while (!(await isOpen())) await pause(500);
    else await until(isOpen, { withinMs: 30_000, what: 'the token' });
    const userJwt = (await records.liveOf('token', tokenId))?.userJwt ?? '';
    const servers = [foundation.nats.url];
    const declarationKey = keys.declarations.publicKey;
    const joined = await joinPlayed(
      { node, tokenId, servers, userJwt, seed, declarationKey, expiresAt },
      { withinMs, clientKey },
    );
    played.push(joined);
    await reportsFrom;
    await joined.report();
    return joined;
  };

  const self: ActingMesh = {
    stateDir,
    foundation,
    store,
    temporal,
    keys,
    ask: rows.ask,
    async join(name, clientKey) {
      const joined = await enrol(name, 0, { clientKey });
      await temporal.workflow.getHandle(enrolId(joined.node)).result();
      return joined;
    },
    joinPatiently: (name, reportsFrom) => enrol(name, 90_000, { reportsFrom }),
    start: (workflow, workflowId, request) =>
      temporal.workflow.start(workflow, { taskQueue: controllerQueue, workflowId, args: [request] }),
    async startController() {
      const log = openSync(path.join(stateDir, 'logs', 'controller.log'), 'a');
      controller = spawn(process.execPath, [mesh, 'work', 'controller', '--state', stateDir], {
        stdio: ['ignore', log, log],
      });
      await once(controller, 'spawn');
    },
    async killController() {
      if (controller === undefined || controller.exitCode !== null || controller.signalCode !== null) return;
      const ended = once(controller, 'exit');
      controller.kill('SIGKILL');
      await ended;
    },
    async close() {
      await Promise.all(played.map((node) => node.close()));
      await self.killController();
      await connection.close();
      await store.close();
      await rows.close();
      await lowerFoundation({ stateDir, say: () => undefined });
      await closeFolder();
    },
  };
  return self;
}
