/** A node in folders of its own, to which a test applies declarations as the controller would sign them. No bus. */
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Declaration, Envelope, Resource } from '../../src/domain/declaration/declaration.ts';
import { moduleName, nodeName, partName } from '../../src/domain/words/names.ts';
import { applyDeclaration, type Applied } from '../../src/host/apply/apply.ts';
import { keysAt, type NodeKeys } from '../../src/host/keys.ts';
import { openLedger, type Ledger } from '../../src/host/ledger.ts';
import type { Say } from '../../src/host/log.ts';
import type { Patience } from '../../src/host/processes/endings.ts';
import { Supervisor } from '../../src/host/processes/supervisor.ts';
import { makeStateFolder } from '../../src/host/state.ts';
import { stopNode } from '../../src/host/stop-node.ts';
import { seal } from '../../src/sealing/box.ts';
import { signEnvelope } from '../../src/sealing/envelope.ts';
import { Plaintext } from '../../src/sealing/plaintext.ts';
import { makeDeclarationKey, type DeclarationKey } from '../../src/sealing/signing.ts';

export const quiet: Say = { info: () => undefined, warn: () => undefined, error: () => undefined };
export const anvil = nodeName.parse('anvil');
export const notes = moduleName.parse('notes');

/** Waits short enough for tests; `settleMs` long enough for a shell to end. */
export const patience: Patience = {
  settleMs: 250,
  readyMs: 3_000,
  stableMs: 600,
  firstWaitMs: 200,
  longestWaitMs: 400,
};

export type TestNode = {
  readonly root: string;
  readonly stateDir: string;
  readonly keys: NodeKeys;
  readonly declarationKey: DeclarationKey;
  readonly supervisor: Supervisor;
  /** How often the supervisor asked for a pass. */
  readonly turns: () => number;
  declare(...resources: readonly Resource[]): Declaration;
  sign(declaration: Declaration, number: number): Promise<Envelope>;
  secret(value: string, rest: Partial<Extract<Resource, { kind: 'secret' }>>): Resource;
  apply(...resources: readonly Resource[]): Promise<Applied>;
  applyWith(ledger: Ledger, declaration: Declaration): Promise<Applied>;
  /** As if the host had ended and another had started on the same folders. */
  restart(): Promise<void>;
  read(nodePath: string): Promise<string>;
  at(nodePath: string): string;
  remove(): Promise<void>;
};

export async function makeNode(): Promise<TestNode> {
  const base = await mkdtemp(path.join(tmpdir(), 'mesh-host-'));
  await chmod(base, 0o755);
  const [root, stateDir] = [path.join(base, 'root'), path.join(base, 'state')];
  await makeStateFolder(stateDir);
  await mkdir(root, { mode: 0o755 });
  const keys = await keysAt(stateDir);
  const declarationKey = makeDeclarationKey();
  const surroundings = { root, bin: path.join(base, 'bin'), nodeFolder: path.dirname(process.execPath) };
  let turns = 0;
  const supervise = async () => {
    const supervisor = new Supervisor({ stateDir, say: quiet, patience, turned: () => (turns += 1) });
    await supervisor.adopt();
    return supervisor;
  };
  let supervisor = await supervise();
  const node: TestNode = {
    root,
    stateDir,
    keys,
    declarationKey,
    get supervisor() {
      return supervisor;
    },
    turns: () => turns,
    declare: (...resources) => ({
      schema: 'mesh.declaration',
      version: 1,
      node: anvil,
      address: '127.0.0.1',
      capabilities: [],
      resources: [...resources],
      granters: [],
    }),
    sign: (declaration, number) =>
      signEnvelope({ node: anvil, number, text: JSON.stringify(declaration), key: declarationKey }),
    secret: (value, rest) => ({
      id: `notes/secret/${rest.path ?? '/etc/notes/db'}`,
      module: notes,
      kind: 'secret',
      path: '/etc/notes/db',
      mode: '0600',
      form: 'password',
      ...seal(new Plaintext(value), keys.sealing.publicKey),
      ...rest,
    }),
    apply: async (...resources) => node.applyWith(await openLedger(stateDir), node.declare(...resources)),
    applyWith: (ledger, declaration) =>
      applyDeclaration(declaration, {
        ledger,
        supervisor,
        sealingKey: keys.sealing,
        surroundings,
        filling: () => ({ kind: 'unfillable', reason: 'nobody fills files in here' }),
      }),
    async restart() {
      supervisor.close();
      supervisor = await supervise();
    },
    at: (nodePath) => `${root}${nodePath}`,
    read: (nodePath) => readFile(`${root}${nodePath}`, 'utf8'),
    async remove() {
      supervisor.close();
      await stopNode({ stateDir, say: quiet });
      await rm(base, { recursive: true, force: true });
    },
  };
  return node;
}

export function file(
  nodePath: string,
  content: string,
  rest: Partial<Extract<Resource, { kind: 'file' }>> = {},
): Resource {
  return {
    id: `notes/file/${nodePath}`,
    module: notes,
    kind: 'file',
    path: nodePath,
    mode: '0644',
    content,
    encoding: 'utf8',
    ...rest,
  };
}

export function directory(nodePath: string, rest: Partial<Extract<Resource, { kind: 'directory' }>> = {}): Resource {
  return {
    id: `notes/directory/${nodePath}`,
    module: notes,
    kind: 'directory',
    path: nodePath,
    mode: '0755',
    unknown: 'program',
    ...rest,
  };
}

export function processOf(
  name: string,
  script: string,
  rest: Partial<Extract<Resource, { kind: 'process' }>> = {},
): Resource {
  return {
    id: `notes/process/${name}`,
    module: notes,
    kind: 'process',
    name: partName.parse(name),
    command: ['sh', '-c', script],
    env: {},
    ports: {},
    restartOn: [],
    stop: { signal: 'SIGTERM', waitMs: 2_000 },
    ...rest,
  };
}
