/** Counts what any connection of this process puts into a bucket, or deletes there: that does not go through Node's own functions. */
import type { BusConnection } from '../../src/bus/connection.ts';

export function countPuts({ nats }: BusConnection, change: (name: string, what: string) => void): void {
  const ofConnections: unknown = Object.getPrototypeOf(nats);
  if (typeof ofConnections !== 'object' || ofConnections === null) throw new Error('a connection has no prototype');
  const request: unknown = Reflect.get(ofConnections, 'request');
  if (typeof request !== 'function') throw new Error('a connection has no request');
  Reflect.set(ofConnections, 'request', function (this: unknown, ...args: readonly unknown[]): unknown {
    const [subject, , options] = args;
    if (typeof subject === 'string' && subject.startsWith('$KV.'))
      change(isDeletion(options) ? 'delete' : 'put', subject.slice('$KV.'.length));
    const answer: unknown = Reflect.apply(request, this, args);
    return answer;
  });
}

function isDeletion(options: unknown): boolean {
  if (typeof options !== 'object' || options === null) return false;
  const headers: unknown = Reflect.get(options, 'headers');
  return String(headers).includes('KV-Operation');
}
