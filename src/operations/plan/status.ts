import { hearing, isStuck, unreachableSince, type Account } from '../../domain/report/account.ts';
import { given } from '../../domain/words/given.ts';
import type { NodeName } from '../../domain/words/names.ts';
import type { ActRow, ActRows } from '../ports/act-rows.ts';
import type { SentRow, UnreadableReads } from '../ports/declaration-rows.ts';
import type { Reads } from '../ports/work.ts';
import { judgeNodes, type Hash, type JudgedNode, type StandingReads } from './judge-nodes.ts';
import { ungranted, type Ungranted, type UngrantedReads } from './ungranted.ts';

/** What stands first in `status` (D21): what is broken, what does not answer, what is out of date, and then the rest. */
export type Concern = 'broken' | 'not answering' | 'out of date' | 'well';
const order: readonly Concern[] = ['broken', 'not answering', 'out of date', 'well'];

/** Times are RFC 3339, by the controller's clock. A node that never spoke has none of them (D22). */
export type NodeStatus = {
  readonly node: NodeName;
  readonly state: string;
  readonly concern: Concern;
  /** Three facts, never one word for two (D23). `outcome` is absent when it never reported. */
  readonly told: string;
  readonly report?: string;
  readonly outcome?: string;
  readonly hearing: 'heard' | 'quiet' | 'silent';
  /** Of a quiet node: since when. What it is was last confirmed by its last report (C50). */
  readonly unreachable?: { readonly since: string };
  readonly sent?: { readonly digest: string; readonly number: number; readonly at?: string };
  readonly lastReport?: {
    readonly at: string;
    /** The declaration that it speaks of. */
    readonly digest?: string;
    readonly applied: number;
    readonly declared: number;
    readonly failures: readonly { readonly resource: string; readonly error: string }[];
    readonly refusal?: { readonly kind: string; readonly detail: string };
    readonly drift: readonly string[];
    readonly kept: readonly string[];
    /** It goes on with what it accepted, and the bus holds no declaration for it: a push sends it again (C76). */
    readonly declarationGone?: true;
    /** Modules whose files stay as they are: since when by the node's clock, why, and for which artifacts they wait (P10). */
    readonly postponed?: readonly Postponed[];
    /** The present failure: how many reports in a row said the same, and since when (D17, D18). */
    readonly failing?: { readonly reports: number; readonly stuck: boolean; readonly since?: string };
  };
  /** Why it is sent nothing (D5). */
  readonly unresolvable?: readonly {
    readonly kind: string;
    readonly what: string;
    readonly why: string;
    readonly next: readonly string[];
  }[];
};

export type Postponed = {
  readonly module: string;
  readonly since: string;
  readonly reason: string;
  readonly waitsFor?: readonly string[] | undefined;
};

export type ActStatus = {
  readonly act: string;
  readonly summary: string;
  readonly person: string;
  readonly stage: string;
  readonly startedAt: string;
  /** Which ends it waits for, in words (A1.4). */
  readonly waitsFor: readonly string[];
  /** The step that has failed for two minutes and is still tried: which, how often, and its last fault (A13). */
  readonly failing?: string;
};

export type Status = {
  readonly nodes: readonly NodeStatus[];
  readonly acts: readonly ActStatus[];
  /** Logins that do not exist although all was applied: what granters say that they cannot do (S8, C34). */
  readonly ungranted: readonly Ungranted[];
  /** Messages that nobody could read, kept aside (U17). */
  readonly unreadable: { readonly count: number; readonly subjects: readonly string[] };
  /** Something here is for a person to look at. */
  readonly needsAttention: boolean;
};

export type StatusReads = StandingReads & Pick<ActRows, 'actRows'> & UnreadableReads & UngrantedReads;

/**
 * What is so, in one snapshot; text and JSON are both made of this value (D21). No `null` in it anywhere (D22). `now`: ms, the
 * controller's clock.
 */
export function status(store: Reads<StatusReads>, hash: Hash, now: number): Promise<Status> {
  return store.read(async (view) => {
    const nodes = (await judgeNodes(view, hash)).map((one) => nodeStatus(one, now));
    const acts = (await view.actRows({ limit: 100, openOnly: true })).map(actStatus);
    const unreadable = await view.unreadableCount();
    const notGranted = await ungranted(view);
    return {
      nodes: order.flatMap((concern) => nodes.filter((node) => node.concern === concern)),
      acts,
      ungranted: notGranted,
      unreadable,
      needsAttention:
        nodes.some(({ concern }) => concern !== 'well') ||
        acts.some((act) => act.failing !== undefined) ||
        notGranted.length > 0 ||
        unreadable.count > 0,
    };
  });
}

function nodeStatus(judged: JudgedNode, now: number): NodeStatus {
  const { node, composition, standing, sent, account } = judged;
  const { told, report, outcome } = standing;
  const since = unreachableSince(account, now);
  return {
    node: node.node,
    state: node.state,
    concern: concernOf(judged, now),
    told,
    ...given('report', report),
    ...given('outcome', outcome),
    hearing: hearing(account, now),
    ...given('unreachable', since === undefined ? undefined : { since: new Date(since).toISOString() }),
    ...given('sent', sent && sentStatus(sent, account !== undefined)),
    ...given('lastReport', account && reportStatus(account)),
    ...given('unresolvable', composition.kind === 'unresolvable' ? composition.refusals.map(said) : undefined),
  };
}

function concernOf({ standing, account }: JudgedNode, now: number): Concern {
  if (account?.outcome === 'failed' || account?.outcome === 'refused') return 'broken';
  if (hearing(account, now) !== 'heard') return 'not answering';
  // A postponed module runs with older files than it is meant to.
  return standing.well && account?.postponed === undefined ? 'well' : 'out of date';
}

function sentStatus({ digest, number, sentAt }: SentRow, hasSpoken: boolean): NonNullable<NodeStatus['sent']> {
  return { digest, number, ...given('at', hasSpoken ? sentAt.toISOString() : undefined) };
}

function reportStatus(account: Account): NonNullable<NodeStatus['lastReport']> {
  const { receivedAt, digest, applied, declared, failures, refusal, drift, kept } = account;
  const { declarationGone, postponed, failingSince, failingReports } = account;
  const since = failingSince === undefined ? undefined : new Date(failingSince).toISOString();
  const failing = { reports: failingReports, stuck: isStuck(account), ...given('since', since) };
  return {
    at: new Date(receivedAt).toISOString(),
    ...given('digest', digest),
    applied,
    declared,
    failures,
    ...given('refusal', refusal),
    drift,
    kept,
    ...given('declarationGone', declarationGone),
    ...given('postponed', postponed),
    ...given('failing', failingReports > 0 ? failing : undefined),
  };
}

/** A refusal's facts are for programs that handle it; here its words are enough. */
function said({ kind, what, why, next }: NonNullable<NodeStatus['unresolvable']>[number]) {
  return { kind, what, why, next };
}

function actStatus({ workflowId, summary, person, stage, startedAt, detail }: ActRow): ActStatus {
  return {
    act: workflowId,
    summary,
    person,
    stage,
    startedAt: startedAt.toISOString(),
    waitsFor: waitsFor(detail),
    ...given('failing', failing(detail)),
  };
}

/** What keeps an act's step from going through, as the worker notes it (A13); undefined when nothing does. */
export function failing(detail: ActRow['detail']): string | undefined {
  const said = detail['failing'];
  return typeof said === 'string' && said !== '' ? said : undefined;
}

/** What an act notes of its own waiting. */
export function waitsFor(detail: ActRow['detail']): readonly string[] {
  const said = detail['waitsFor'];
  return Array.isArray(said) ? said.filter((one) => typeof one === 'string') : [];
}
