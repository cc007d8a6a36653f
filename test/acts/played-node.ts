/**
 * A node that a test plays: it joins for real and holds real keys, and it applies and reports just what the test says.
 * So an act can be shown every order of things that real hosts and granters can come up with.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { connectBus, type BusConnection } from '../../src/bus/connection.ts';
import { lastDeclaration, onChanged } from '../../src/bus/declarations.ts';
import { makeAnswer } from '../../src/bus/enrolment-checks.ts';
import type { Admission } from '../../src/bus/enrolment-messages.ts';
import { answerChallenge, requestEnrolment } from '../../src/bus/enrolment.ts';
import { publishReport } from '../../src/bus/reports.ts';
import { BusFault } from '../../src/bus/faults.ts';
import { makeSeed } from '../../src/bus/seed.ts';
import { invitationCredential, nodeCredential, type Invitation } from '../../src/bus/token.ts';
import {
  declaration,
  grantList,
  grantListFile,
  type Declaration,
  type Grant,
  type SecretResource,
} from '../../src/domain/declaration/declaration.ts';
import type { GranterEntry, Report } from '../../src/domain/report/report.ts';
import type { NodeName } from '../../src/domain/words/names.ts';
import { makeSealingKey, open, type SealingKey } from '../../src/sealing/box.ts';
import { sha256Hex } from '../../src/sealing/digest.ts';
import { makeOverlayKey } from '../../src/sealing/overlay.ts';
import { until } from '../support/until.ts';

export type Told = { readonly digest: string; readonly number: number; readonly declaration: Declaration };

export type PlayedNode = {
  readonly node: NodeName;
  readonly key: SealingKey;
  /** What the node is told to be now, read as a host reads it. */
  told(): Promise<Told | undefined>;
  /** Waits until it is told something that `fits`. */
  untilTold(what: string, fits: (told: Told) => boolean): Promise<Told>;
  /** Calls back when it is told to look, until stopped. */
  onChanged(look: () => void): () => void;
  /** Reports: by default that what it was last told is applied. */
  report(of?: Partial<Report>): Promise<void>;
  /** The same, once: it rejects where the bus does not answer, as it does to a node that it lets in no more. */
  reportOnce(): Promise<void>;
  /** Applies whatever it is told from now on, and grants whatever its lists say, as `plays` has it, until stopped. */
  behave(plays?: Plays): () => void;
  close(): Promise<void>;
};

export type Plays = {
  /** The granters' word about a list; absent: granted, each seen once. */
  readonly granter?: (grants: readonly Grant[]) => readonly GranterEntry[];
  /** Said of every report. */
  readonly report?: Partial<Report>;
};

/** Joins by the invitation, as a host does: with the same keys again for `withinMs`, whoever dies meanwhile. */
export async function joinPlayed(
  invitation: Invitation,
  { withinMs, clientKey }: { withinMs: number; clientKey?: string | undefined },
): Promise<PlayedNode> {
  const identity = makeSeed('user');
  const key = makeSealingKey();
  const enrolled = {
    tokenId: invitation.tokenId,
    node: invitation.node,
    address: '127.0.0.1',
    identityKey: identity.publicKey,
    sealingKey: key.publicKey,
    overlayKey: makeOverlayKey().publicKey,
    ...(clientKey !== undefined && { clientKey }),
  };
  // One connection for all attempts: a connection costs a signature, and a hundred nodes join in one test.
  const token = await connectBus({
    servers: invitation.servers,
    name: 'joining',
    credential: invitationCredential(invitation),
    patient: withinMs > 0,
  });
  const exchange = async (): Promise<Admission> => {
    const challenge = await requestEnrolment(token, enrolled);
    if ('kind' in challenge) throw new Error(challenge.detail);
    const digest = open(challenge.sealed, key).reveal(sha256Hex);
    const admission = await answerChallenge(token, makeAnswer(enrolled, digest, identity));
    if ('kind' in admission) throw new Error(admission.detail);
    return admission;
  };
  const deadline = performance.now() + withinMs;
  const untilAdmitted = async (): Promise<Admission> => {
    try {
      return await exchange();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await pause(500 + Math.random() * 500);
      return untilAdmitted();
    }
  };
  const admission = await untilAdmitted().finally(() => void token.close());
  const bus = await connectBus({
    servers: admission.servers,
    name: invitation.node,
    credential: nodeCredential({ node: invitation.node, userJwt: admission.userJwt }, identity),
    patient: withinMs > 0,
  });
  return play(invitation.node, key, bus);
}

/** A host asks again where the bus did not answer in time; so does a played one. */
async function patiently<T>(asks: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await asks();
    } catch (error) {
      if (attempt === 10 || !(error instanceof BusFault)) throw error;
      await pause(100 * attempt);
    }
  }
}

function play(node: NodeName, key: SealingKey, bus: BusConnection): PlayedNode {
  let sequence = 0;
  const told = async (): Promise<Told | undefined> => {
    const last = await patiently(() => lastDeclaration(bus, node));
    if (last === undefined) return undefined;
    if (!('envelope' in last)) throw new Error(last.unreadable.reason);
    const { digest, number, body } = last.envelope;
    return { digest, number, declaration: declaration.parse(JSON.parse(body)) };
  };
  const reported = (now: Told | undefined, of: Partial<Report>): Report => {
    const count = now?.declaration.resources.length ?? 0;
    sequence += 1;
    return {
      schema: 'mesh.report',
      version: 1,
      node,
      boot: 1,
      sequence,
      outcome: now === undefined ? 'idle' : 'applied',
      ...(now !== undefined && { digest: now.digest, number: now.number }),
      declared: count,
      applied: count,
      failures: [],
      drift: [],
      kept: [],
      capabilities: [],
      carriedPorts: [],
      granters: [],
      intervalMs: 60_000,
      stampedAt: new Date().toISOString(),
      ...of,
    };
  };
  const report = async (of: Partial<Report> = {}): Promise<void> => {
    const said = reported(await told(), of);
    await patiently(() => publishReport(bus, said));
  };
  return {
    node,
    key,
    told,
    report,
    reportOnce: async () => void (await publishReport(bus, reported(undefined, {}))),
    async untilTold(what, fits) {
      const found: Told[] = [];
      await until(
        async () => {
          const now = await told();
          if (now !== undefined && fits(now)) found.push(now);
          return found.length > 0;
        },
        { withinMs: 30_000, what: `${node} to be told ${what}` },
      );
      const [first] = found;
      if (first === undefined) throw new Error(`${node} was not told ${what}`);
      return first;
    },
    behave({ granter = grantAll, report: said = {} } = {}) {
      let busy = Promise.resolve();
      const answer = (): void => {
        busy = busy.then(async () => {
          const now = await told();
          await report({ ...(now !== undefined && { granters: grantersOf(now.declaration, granter) }), ...said });
        });
      };
      answer();
      return onChanged(bus, node, answer);
    },
    onChanged: (look) => onChanged(bus, node, look),
    close: () => bus.close(),
  };
}

/** The grant lists that a declaration brings, by the module they are of. */
export function grantsIn(told: Declaration): readonly {
  readonly module: Declaration['granters'][number];
  readonly grants: readonly Grant[];
  readonly drainMs: number;
}[] {
  return told.granters.map((module) => {
    const directory = module.status.replace(/\.status\.json$/, '');
    const file = told.resources.find(
      (resource) => resource.kind === 'file' && resource.path === `${directory}/${grantListFile}`,
    );
    if (file?.kind !== 'file') throw new Error(`no grant list in ${directory}`);
    const { grants, drainMs } = grantList.parse(JSON.parse(file.content));
    return { module, grants, drainMs };
  });
}

/** The credential that a consumer's file holds. */
export function secretsIn(told: Declaration): readonly SecretResource[] {
  return told.resources.filter((resource) => resource.kind === 'secret');
}

export function grantersOf(
  told: Declaration,
  granter: (grants: readonly Grant[]) => readonly GranterEntry[],
): Report['granters'] {
  return grantsIn(told).map(({ module, grants }) => ({
    module: module.module,
    status: { schema: 'mesh.granter-status', version: 1, provision: module.provision, entries: [...granter(grants)] },
  }));
}

export const entryFor = (
  { node, module, local, generation, login }: Grant,
  of: Partial<GranterEntry> = {},
): GranterEntry => ({
  node,
  module,
  ...(local !== undefined && { local }),
  generation,
  login,
  state: 'granted',
  seen: 1,
  sessionsEnded: 0,
  ...of,
});
const grantAll = (grants: readonly Grant[]): readonly GranterEntry[] => grants.map((grant) => entryFor(grant));
