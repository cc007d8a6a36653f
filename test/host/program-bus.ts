/** A bus on which providers' programs are admitted as the controller admits them, and a node's client that asks for it. */
import { clientAccount, controllerSeat, programAccount } from '../../src/bus/accounts.ts';
import { prepareAccount, pushAccount, type PreparedAccount } from '../../src/bus/claims.ts';
import type { BusConnection } from '../../src/bus/connection.ts';
import { ensureBuckets } from '../../src/bus/mesh-buckets.ts';
import { serveSeat, serving, type Refused } from '../../src/bus/verbs.ts';
import {
  grantListFile,
  type Declaration,
  type Grant,
  type GrantList,
} from '../../src/domain/declaration/declaration.ts';
import { moduleName, nodeName, provisionName } from '../../src/domain/words/names.ts';
import { admitProgramVerb } from '../../src/seats/the-controller/verbs.ts';
import { startBus, type TestBus } from '../bus/server.ts';

export const node = nodeName.parse('alpha');

export type ProgramBus = {
  readonly bus: TestBus;
  readonly client: BusConnection;
  /** The modules that accounts were asked for, one an asking. */
  readonly asked: string[];
  /** What the next askings are answered instead of an account. */
  refuse(with_: Refused | undefined): void;
  /** Whose facts the program of a module may write: told to its account at once, and to the ones that are made later. */
  consumers(module: string, keys: readonly string[]): Promise<void>;
  stop(): Promise<void>;
};

export async function startProgramBus(providers: readonly string[]): Promise<ProgramBus> {
  const bus = await startBus();
  await ensureBuckets(bus.mesh, providers);
  const accounts = new Map<string, { readonly prepared: PreparedAccount; readonly userKey: string }>();
  const keysOf = new Map<string, readonly string[]>();
  const asked: string[] = [];
  let refused: Refused | undefined;
  const by = { meshAccount: bus.identity.accounts.mesh };
  const shapeOf = (module: string) =>
    programAccount(`${node}.${module}`, {
      ...by,
      node,
      binds: { provider: moduleName.parse(module), keys: keysOf.get(module) ?? [] },
    });
  const push = async (module: string): Promise<void> => {
    const accountKey = accounts.get(module)?.prepared.accountKey;
    if (accountKey !== undefined) await pushAccount(bus.system, bus.identity, { accountKey, shape: shapeOf(module) });
  };
  const admit = serving(admitProgramVerb, async ({ module, userKey }) => {
    asked.push(module);
    if (refused !== undefined) return refused;
    const live = accounts.get(module);
    const prepared =
      live?.userKey === userKey ? live.prepared : await prepareAccount(bus.identity, shapeOf(module), { userKey });
    accounts.set(module, { prepared, userKey });
    await push(module);
    return { userJwt: prepared.userJwt, servers: [...bus.servers] };
  });
  await serveSeat(bus.mesh, controllerSeat, [admit], (fault) => {
    throw fault;
  });
  const { credential } = await bus.account(clientAccount(node, by));
  return {
    bus,
    client: await bus.connect('client', credential),
    asked,
    refuse: (with_) => void (refused = with_),
    async consumers(module, keys) {
      keysOf.set(module, keys);
      await push(module);
    },
    stop: () => bus.stop(),
  };
}

export type Granting = {
  readonly module: string;
  readonly directory: string;
  readonly grants: readonly Grant[];
};

/** A declaration with these providers' programs: the grants directory of each, and who is granted what there. */
export function declarationOf(...granters: readonly Granting[]): Declaration {
  const provision = provisionName.parse('postgres-database');
  return {
    schema: 'mesh.declaration',
    version: 1,
    node,
    address: '127.0.0.1',
    capabilities: [],
    resources: granters.map(({ module, directory, grants }) => ({
      kind: 'file',
      id: `${module}/file/${directory}/${grantListFile}`,
      module: moduleName.parse(module),
      path: `${directory}/${grantListFile}`,
      mode: '0644',
      content: JSON.stringify({
        schema: 'mesh.grants',
        version: 1,
        provision,
        drainMs: 0,
        grants: [...grants],
      } satisfies GrantList),
      encoding: 'utf8',
    })),
    granters: granters.map(({ module, directory }) => ({
      module: moduleName.parse(module),
      provision,
      status: `${directory}.status.json`,
    })),
  };
}
