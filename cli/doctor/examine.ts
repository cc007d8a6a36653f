/** All of `mesh doctor`: each look made beside the others, and judged by what it saw. Reads alone. */
import { access } from 'node:fs/promises';

import { meshWorkers, type MeshWorker } from '../../src/domain/act/workers.ts';
import { unknown, whyUnseen, type Finding, type Looked } from '../../src/domain/doctor/finding.ts';
import {
  judgeBus,
  judgeNodeBus,
  judgeRaised,
  judgeStore,
  judgeTemporal,
  type RaisedSeen,
} from '../../src/domain/doctor/foundation.ts';
import { judgeHost, judgeQueue } from '../../src/domain/doctor/processes.ts';
import { errorChain } from '../../src/domain/words/error-chain.ts';
import { given } from '../../src/domain/words/given.ts';
import { logOfPart, readFoundation, type Foundation } from '../../src/foundation/foundation.ts';
import { logFile } from '../../src/foundation/kept-process.ts';
import { readNode, runningHost, type NodeFile } from '../../src/host/state.ts';
import type { Context } from '../context.ts';
import { effectiveSettings, type Setting } from '../effective-settings.ts';
import { localNodes } from '../local/local-nodes.ts';
import { localNodeFolder, nodeStateFolder } from '../node-folders.ts';
import type { Settings } from '../settings.ts';
import { lookAtBus, lookAtNodeBus, lookAtStore, lookAtTemporal } from './foundation.ts';
import { lookAtMachine } from './machine.ts';
import { mapSeen, within } from './within.ts';

/** What each look has: together with the start of the command that is at most five seconds. */
const lookMs = 4_000;

export type Examined = { readonly findings: readonly Finding[]; readonly settings: readonly Setting[] };

/** Looks at all of it. Never throws for what it looks at: that is a finding. */
export async function examine(context: Context): Promise<Examined> {
  const { settings } = context;
  const { stateFolder } = settings;
  const [read, nodes, ownNode] = await Promise.all([
    readRaised(stateFolder),
    localNodes(stateFolder),
    readNode(nodeStateFolder(stateFolder)).catch(() => undefined),
  ]);
  const foundation = 'foundation' in read ? read.foundation : undefined;
  const [ofMachine, ofFoundation, ofHosts] = await Promise.all([
    lookAtMachine({ settings, withinMs: lookMs, isRaised: foundation !== undefined, localNodes: nodes }),
    foundation === undefined
      ? lookFromOutside(read, ownNode, nodeStateFolder(stateFolder))
      : lookAtFoundation(foundation, settings),
    lookAtHosts(stateFolder, nodes, ownNode?.name),
  ]);
  const raised = judgeRaised(`${stateFolder}/foundation.json`, seenOf(read, ownNode?.name));
  return {
    findings: [...ofMachine, raised, ...ofFoundation, ...ofHosts],
    settings: effectiveSettings(context, foundation),
  };
}

type Read = { readonly foundation: Foundation | undefined } | { readonly why: string };

async function readRaised(stateFolder: string): Promise<Read> {
  try {
    return { foundation: await readFoundation(stateFolder) };
  } catch (fault) {
    return { why: errorChain(fault) };
  }
}

function seenOf(read: Read, node: string | undefined): RaisedSeen {
  if ('why' in read) return { kind: 'unreadable', why: read.why };
  if (read.foundation !== undefined) return { kind: 'raised', id: read.foundation.id };
  return { kind: 'not raised', ...given('node', node) };
}

/** Without a mesh there is nothing to ask, but for a node its bus; what is usually looked at is named all the same. */
async function lookFromOutside(read: Read, node: NodeFile | undefined, stateDir: string): Promise<readonly Finding[]> {
  const why = 'why' in read ? 'where it is cannot be read' : 'no mesh was raised here';
  const says = whyUnseen({ kind: 'not asked', why });
  const bus =
    node === undefined
      ? unknown('foundation', 'bus', says)
      : judgeNodeBus(
          node.name,
          node.servers.join(', '),
          await within(lookMs, () => lookAtNodeBus(node, { stateDir, withinMs: lookMs })),
        );
  return [
    unknown('foundation', 'store', says),
    bus,
    unknown('foundation', 'Temporal', says),
    ...meshWorkers.map(({ queue }) => unknown('processes', `queue ${queue}`, says)),
  ];
}

async function lookAtFoundation(
  foundation: Foundation,
  { stateFolder, person }: Settings,
): Promise<readonly Finding[]> {
  const { postgres, nats, temporal } = foundation;
  const [store, bus, acts, logs] = await Promise.all([
    within(lookMs, () => lookAtStore(foundation, lookMs / 2)),
    within(lookMs, () => lookAtBus(foundation, { stateFolder, person, withinMs: lookMs })),
    within(lookMs, () => lookAtTemporal(foundation, lookMs)),
    logsIn(stateFolder),
  ]);
  const { namespace, address } = temporal;
  const answerOf = (role: MeshWorker['role']): Looked<boolean> =>
    (bus.kind === 'seen' ? bus.value.answers.get(role) : undefined) ?? {
      kind: 'not asked',
      why: 'the bus cannot be used',
    };
  const isGone = (role: MeshWorker['role']): boolean => {
    const answers = answerOf(role);
    return answers.kind === 'seen' && !answers.value;
  };
  return [
    judgeStore(
      { where: `${postgres.host}:${postgres.port}/${postgres.database}`, role: postgres.user, ...logs.postgres },
      store,
    ),
    judgeBus(
      { where: nats.url, ...logs.nats },
      mapSeen(bus, ({ missing }) => ({ missing })),
    ),
    judgeTemporal({ where: address, namespace, ...logs.temporal }, acts),
    ...meshWorkers.map((worker) => {
      const pollers = mapSeen(acts, (seen) => seen.pollers.get(worker.role) ?? []);
      return judgeQueue(
        worker,
        { namespace, address, ...logs[worker.role] },
        {
          pollers: pollers.kind === 'seen' ? pollers : { kind: 'not asked', why: 'Temporal does not answer' },
          answers: answerOf(worker.role),
          strays: acts.kind === 'seen' ? acts.value.strays : [],
          lacks: worker.needs !== undefined && isGone(worker.needs),
        },
      );
    }),
  ];
}

type Log = { readonly log?: string };

/** Where each of them wrote its last words, as far as this machine has them. */
async function logsIn(
  stateFolder: string,
): Promise<Readonly<Record<'postgres' | 'nats' | 'temporal' | 'controller' | 'provisioner', Log>>> {
  const known = async (file: string): Promise<Log> =>
    access(file).then(
      () => ({ log: file }),
      () => ({}),
    );
  return {
    postgres: await known(logOfPart(stateFolder, 'postgres')),
    nats: await known(logOfPart(stateFolder, 'nats')),
    temporal: await known(logOfPart(stateFolder, 'temporal')),
    controller: await known(logFile(stateFolder, 'controller')),
    provisioner: await known(logFile(stateFolder, 'provisioner')),
  };
}

/** The nodes that `mesh up` made here, and the one that this machine itself is. */
async function lookAtHosts(
  stateFolder: string,
  nodes: readonly string[],
  ownNode: string | undefined,
): Promise<readonly Finding[]> {
  const local = nodes.map((node) => ({
    node,
    at: nodeStateFolder(localNodeFolder(stateFolder, node)),
    next: ['mesh up'],
  }));
  const own = ownNode === undefined ? [] : [{ node: ownNode, at: nodeStateFolder(stateFolder), next: ['mesh host'] }];
  return Promise.all(
    [...local, ...own].map(async ({ node, at, next }) => judgeHost(node, { where: at, next }, await runningHost(at))),
  );
}
