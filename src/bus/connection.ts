/**
 * A connection to the bus. It is kept for ever: a server that is away is tried again with growing pauses, and every
 * status is read, since a forbidden `publish` is told there and nowhere else.
 */
import { setTimeout as wait } from 'node:timers/promises';
import {
  connect,
  DebugEvents,
  Events,
  type Authenticator,
  type ConnectionOptions,
  type NatsConnection,
  type Status,
} from 'nats';
import { assertNever } from '../domain/words/invariant.ts';
import { refusesCredential } from './faults.ts';
import type { Seed } from './seed.ts';

const drainMs = 3_000;

/** Who one is on the bus: a user's JWT, the seed that proves it, and the inbox that its JWT allows. */
export type BusCredential = { readonly jwt: string; readonly seed: Seed; readonly inbox: string };

/** What happened to a connection. `denied`: a publish or subscribe that the JWT forbids, with its subject. */
export type BusStatus =
  | { readonly kind: 'disconnected' | 'reconnecting' | 'reconnected' | 'error'; readonly detail: string }
  | { readonly kind: 'denied'; readonly operation: string; readonly subject: string };

export type BusConnection = {
  /** For the files of this folder alone; everybody else calls their functions. */
  readonly nats: NatsConnection;
  /** Under which answers come; no other is allowed. */
  readonly inbox: string;
  isConnected(): boolean;
  /** Calls back at each status until the returned function is called. */
  onStatus(heard: (status: BusStatus) => void): () => void;
  /** Ends subscriptions, sends what is buffered, and closes. Safe to repeat; a server that is away is not waited for. */
  close(): Promise<void>;
  /** Settles when the connection is closed, with the reason if it was not asked for. */
  readonly closed: Promise<Error | undefined>;
};

/** The pause before the n-th attempt to reconnect (from 1): 100 ms doubled each time up to 10 s, and half of it at random, so that a thousand hosts do not come back at once. */
export function reconnectDelayMs(attempt: number, random: () => number = Math.random): number {
  const whole = Math.min(10_000, 100 * 2 ** Math.min(attempt - 1, 20));
  return whole / 2 + random() * (whole / 2);
}

/**
 * The pauses of one connection. The client asks for the present one again and again while it waits, so that it must stay
 * the same until an attempt is due: one that grew with each question would never be over before it was the longest.
 */
export function reconnectPauses(now: () => number = () => performance.now(), random: () => number = Math.random) {
  let [attempt, pauseMs, triedAt] = [0, 0, Number.NEGATIVE_INFINITY];
  return {
    /** ms from one attempt to the next; 0: one is due, and counts as made. */
    untilNext(): number {
      if (now() - triedAt < pauseMs) return pauseMs;
      attempt += 1;
      [pauseMs, triedAt] = [reconnectDelayMs(attempt, random), now()];
      return 0;
    },
    /** Connected: the next loss begins with the shortest. */
    begin(): void {
      [attempt, pauseMs] = [1, reconnectDelayMs(1, random)];
    },
  };
}

/**
 * Connects. `name` is shown in the server's lists. Rejects when the first connection fails, unless `patient`: then a server
 * that is away is waited for, for as long as it takes; one that refuses the credential is not (C88). Later losses are always
 * waited out, refusals too: a credential that was taken may be given again, and the pauses keep that cheap.
 */
export async function connectBus(to: {
  readonly servers: readonly string[];
  readonly name: string;
  readonly credential: BusCredential;
  readonly patient?: boolean;
  /** How long one attempt, and one request, may take, ms; five seconds when left out. */
  readonly withinMs?: number;
  readonly onStatus?: (status: BusStatus) => void;
}): Promise<BusConnection> {
  const pauses = reconnectPauses();
  const options: ConnectionOptions = {
    servers: [...to.servers],
    name: to.name,
    authenticator: authenticatorOf(to.credential),
    inboxPrefix: to.credential.inbox,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
    reconnectDelayHandler: () => pauses.untilNext(),
    pingInterval: 20_000,
    timeout: to.withinMs ?? 5_000,
    noAsyncTraces: true,
  };
  const nats = to.patient === true ? await waitToConnect(options) : await connect(options);
  const listeners = new Set<(status: BusStatus) => void>();
  if (to.onStatus !== undefined) listeners.add(to.onStatus);
  let connected = true;
  void followStatus(nats, (status) => {
    if (status.kind === 'disconnected') connected = false;
    if (status.kind === 'reconnected') {
      connected = true;
      pauses.begin();
    }
    for (const listener of listeners) listener(status);
  });
  const closed = nats.closed().then((reason) => reason ?? undefined);
  return {
    nats,
    inbox: to.credential.inbox,
    isConnected: () => connected && !nats.isClosed(),
    onStatus(heard) {
      listeners.add(heard);
      return () => listeners.delete(heard);
    },
    async close() {
      if (nats.isClosed()) return;
      // Draining waits for the server's word, which does not come once it is away.
      if (connected)
        await Promise.race([nats.drain().catch(() => undefined), wait(drainMs, undefined, { ref: false })]);
      await nats.close();
    },
    closed,
  };
}

async function waitToConnect(options: ConnectionOptions): Promise<NatsConnection> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await connect(options);
    } catch (fault) {
      if (refusesCredential(fault)) throw fault;
    }
    await wait(reconnectDelayMs(attempt));
  }
}

/**
 * Answers the server's challenge. Signed as every seed signs: the client's own authenticator takes 100 ms of JavaScript
 * for each attempt, and many that connect at once from one process would time out for ever.
 */
function authenticatorOf({ jwt, seed }: BusCredential): Authenticator {
  return (nonce) => ({ jwt, nkey: seed.publicKey, ...(nonce !== undefined && { sig: seed.sign(nonce) }) });
}

async function followStatus(nats: NatsConnection, tell: (status: BusStatus) => void): Promise<void> {
  for await (const status of nats.status()) {
    const told = statusOf(status);
    if (told !== undefined) tell(told);
  }
}

function statusOf(status: Status): BusStatus | undefined {
  const detail = typeof status.data === 'object' ? JSON.stringify(status.data) : String(status.data);
  switch (status.type) {
    case Events.Disconnect:
      return { kind: 'disconnected', detail };
    case Events.Reconnect:
      return { kind: 'reconnected', detail };
    case Events.Error: {
      if (status.permissionContext === undefined) return { kind: 'error', detail };
      const { operation, subject } = status.permissionContext;
      return { kind: 'denied', operation, subject };
    }
    case DebugEvents.Reconnecting:
      return { kind: 'reconnecting', detail };
    // The client acts on these by itself; what follows from them is one of the above.
    case Events.Update:
    case Events.LDM:
    case DebugEvents.PingTimer:
    case DebugEvents.StaleConnection:
    case DebugEvents.ClientInitiatedReconnect:
      return undefined;
    default:
      return assertNever(status.type);
  }
}
