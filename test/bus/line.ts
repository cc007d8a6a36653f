/** A line to a server that a test can cut: hung up, or silent, as a network that lets nothing through. */
import { connect, createServer, type Server, type Socket } from 'node:net';

export type Line = {
  readonly url: string;
  /** Every connection is hung up, and no other is let through until `mend`. */
  cut(): void;
  /** Nothing comes through in either direction until `mend`, and nobody is told. */
  silence(): void;
  mend(): void;
  close(): Promise<void>;
};

/** Stands between clients and the server that listens on this port of this machine. */
export async function lineTo(port: number): Promise<Line> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let isSilent = false;
  const server: Server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      one.on('error', () => undefined);
      one.on('close', () => (other.destroy(), sockets.delete(one)));
      one.on('data', (chunk) => void other.write(chunk));
      if (isSilent) one.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `nats://127.0.0.1:${address.port}`,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    silence() {
      isSilent = true;
      for (const socket of sockets) socket.pause();
    },
    mend() {
      isCut = false;
      isSilent = false;
      for (const socket of sockets) socket.resume();
    },
    close: () => new Promise((resolve) => (server.close(() => resolve()), sockets.forEach((one) => one.destroy()))),
  };
}
