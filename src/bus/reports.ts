/** Reports (U17): a node publishes its own and is told that it is kept; the controller takes each, and acknowledges what is recorded. */
import { setTimeout as wait } from 'node:timers/promises';
import { millis, type ConsumerMessages, type JsMsg } from 'nats';
import { report as reportSchema, type Report } from '../domain/report/report.ts';
import type { BusConnection } from './connection.ts';
import { BusFault, busFault } from './faults.ts';
import { read, write, type Unreadable } from './messages.ts';
import { reportLimitBytes } from './streams.ts';
import { reportsConsumer, reportsStream, reportSubject } from './subjects.ts';

const requestMs = 5_000;
/** How many reports are recorded together at most. */
const batch = 128;
const waitForReportsMs = 30_000;
const retryFirstMs = 250;
const retryMostMs = 30_000;
/** Whatever keeps a report from being recorded for so long may be the controller itself: another is let try. */
const inHandMostMs = 60_000;

/**
 * A node's report, kept by the stream when this answers. No message id goes with it: another writer of the stream could
 * have used it first, and the report would be dropped as a duplicate. Throws `BusFault`: `too-big` names size and limit.
 */
export async function publishReport(bus: BusConnection, report: Report): Promise<{ readonly sequence: number }> {
  const subject = reportSubject(report.node);
  const bytes = write(reportSchema, report);
  if (bytes.length > reportLimitBytes) {
    throw new BusFault(
      'too-big',
      subject,
      `the report of ${report.node} has ${bytes.length} bytes, more than ${reportLimitBytes}`,
    );
  }
  try {
    const { seq } = await bus.nats.jetstream({ checkAPI: false }).publish(subject, bytes, { timeout: requestMs });
    return { sequence: seq };
  } catch (cause) {
    throw busFault(subject, cause);
  }
}

export type ReportsRead = {
  /**
   * Records reports that came together, in their order, all or none. When it throws, each is given to it alone; what it throws
   * then is given to `onFault`, and that report comes again later.
   */
  readonly onReports: (reports: readonly Report[]) => Promise<void>;
  /** Keeps aside a message that nobody can read (U17): it is acknowledged only when this resolves. */
  readonly onUnreadable: (message: Unreadable) => Promise<void>;
  readonly onFault?: (fault: unknown) => void;
};

/**
 * Takes reports until `stop`, in their order, from the consumer that all controllers share; those that come while others are
 * recorded are recorded together. Goes on by itself after a lost connection or a restarted server: the client asks anew
 * when it is back. `stop` waits for what is in hand.
 */
export function consumeReports(mesh: BusConnection, by: ReportsRead): { stop(): Promise<void> } {
  const state: { stopped: boolean; current: ConsumerMessages | undefined } = { stopped: false, current: undefined };
  const stopping = new AbortController();
  const done = takeAll(mesh, by, state, stopping.signal);
  return {
    async stop() {
      state.stopped = true;
      stopping.abort();
      state.current?.stop();
      await done;
    },
  };
}

async function takeAll(
  mesh: BusConnection,
  by: ReportsRead,
  state: { stopped: boolean; current: ConsumerMessages | undefined },
  stopping: AbortSignal,
): Promise<void> {
  for (let faults = 0; !state.stopped && !mesh.nats.isClosed();) {
    let hand: Hand | undefined;
    try {
      const consumer = await mesh.nats.jetstream({ checkAPI: false }).consumers.get(reportsStream, reportsConsumer);
      const { config } = await consumer.info(true);
      hand = takeInHand(mesh, Math.max(100, millis(config.ack_wait ?? 0) / 3));
      while (!state.stopped) {
        const messages = await consumer.fetch({ max_messages: batch, expires: waitForReportsMs });
        state.current = messages;
        // Stopped between the two: nobody else would end this request before it expires.
        if (state.stopped) messages.stop();
        await takeAsTheyCome(messages, by, state, hand);
        if (state.stopped) return;
        faults = 0;
      }
    } catch (cause) {
      if (state.stopped) return;
      by.onFault?.(busFault(`${reportsStream}/${reportsConsumer}`, cause));
      // Stopped while it waits: the loop's condition sees it.
      await wait(retryDelayMs((faults += 1)), undefined, { signal: stopping }).catch(() => undefined);
    } finally {
      hand?.close();
    }
  }
}

const retryDelayMs = (times: number): number => Math.min(retryMostMs, retryFirstMs * 2 ** (times - 1));

type Hand = {
  add(message: JsMsg): void;
  ack(message: JsMsg): void;
  /** It comes again, after `delayMs` where that is given. */
  giveBack(message: JsMsg, delayMs?: number): void;
  close(): void;
};

/**
 * What was given to this controller and is not settled yet. Every `everyMs` it says of each that it is still at work, so
 * that the server need not wait long before it gives a dead one's to the next.
 */
function takeInHand(mesh: BusConnection, everyMs: number): Hand {
  const since = new Map<JsMsg, number>();
  const timer = setInterval(() => {
    if (mesh.nats.isClosed()) return;
    for (const [message, at] of since) {
      if (performance.now() - at > inHandMostMs) since.delete(message);
      else message.working();
    }
  }, everyMs);
  return {
    add: (message) => void since.set(message, performance.now()),
    ack(message) {
      since.delete(message);
      message.ack();
    },
    giveBack(message, delayMs) {
      since.delete(message);
      message.nak(delayMs);
    },
    close: () => clearInterval(timer),
  };
}

/** Takes all that waits, again and again: the first at once, and with the next all that came meanwhile. */
async function takeAsTheyCome(
  messages: ConsumerMessages,
  by: ReportsRead,
  state: { stopped: boolean },
  hand: Hand,
): Promise<void> {
  let waiting: JsMsg[] = [];
  const takeWaiting = async (): Promise<void> => {
    while (waiting.length > 0 && !state.stopped) {
      const together = waiting;
      waiting = [];
      await take(together, by, hand);
    }
  };
  let taking = Promise.resolve();
  let isTaking = false;
  for await (const message of messages) {
    waiting.push(message);
    hand.add(message);
    if (isTaking) continue;
    isTaking = true;
    taking = takeWaiting().finally(() => (isTaking = false));
  }
  await taking;
  // Stopped: another controller need not wait until they are given up here.
  for (const message of waiting) hand.giveBack(message);
}

type Taken = { readonly message: JsMsg; readonly report: Report };

async function take(messages: readonly JsMsg[], by: ReportsRead, hand: Hand): Promise<void> {
  const reports: Taken[] = [];
  for (const message of messages) {
    const found = reportIn(message);
    if ('reason' in found) await settled(message, by, hand, () => by.onUnreadable(found));
    else reports.push({ message, report: found });
  }
  if (reports.length > 1 && (await areRecorded(reports, by))) {
    for (const { message } of reports) hand.ack(message);
    return;
  }
  for (const { message, report } of reports) await settled(message, by, hand, () => by.onReports([report]));
}

/** One that cannot be recorded must not hold up the others: then each is tried alone, and its fault is told there. */
async function areRecorded(reports: readonly Taken[], by: ReportsRead): Promise<boolean> {
  try {
    await by.onReports(reports.map(({ report }) => report));
    return true;
  } catch {
    return false;
  }
}

async function settled(message: JsMsg, by: ReportsRead, hand: Hand, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (fault) {
    by.onFault?.(fault);
    hand.giveBack(message, retryDelayMs(message.info.deliveryCount));
    return;
  }
  hand.ack(message);
}

function reportIn(message: JsMsg): Report | Unreadable {
  const { subject } = message;
  const report = read(reportSchema, message.data);
  if ('reason' in report) return { subject, reason: report.reason, body: message.data };
  // The subject is what the server vouches for: only that node can write there.
  if (reportSubject(report.value.node) !== subject) {
    return { subject, reason: `it speaks of ${report.value.node}`, body: message.data };
  }
  return report.value;
}
