/** A way to a server that a test can close, and cut at a statement: what a granter meets when the network or the server fails it. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** `lost on the way`: the server never gets it. `answer lost`: the server does it, and whoever asked does not learn so. */
export type Cut = 'lost on the way' | 'answer lost';

export type Gate = {
  readonly port: number;
  /** When a connection was asked for while the way was closed, ms. */
  readonly triedAt: readonly number[];
  /** Nobody gets through any more, and whoever is through is cut off. */
  close(): void;
  open(): void;
  /** Cuts the connection at the next message to the server that matches, of a connection on which `after` went by; resolves when that happened. */
  cutAt(of: { readonly after?: RegExp; readonly at: RegExp; readonly cut: Cut }): Promise<void>;
  end(): Promise<void>;
};

export async function raiseGate(to: { readonly host: string; readonly port: number }): Promise<Gate> {
  const sockets = new Set<Socket>();
  const triedAt: number[] = [];
  let isOpen = true;
  let next: (Parameters<Gate['cutAt']>[0] & { readonly done: () => void }) | undefined;

  const server = createServer((client) => {
    if (!isOpen) {
      triedAt.push(performance.now());
      client.resetAndDestroy();
      return;
    }
    const behind = connect(to);
    let isDeaf = false;
    let wentBy = '';
    for (const socket of [client, behind]) {
      sockets.add(socket);
      // Either end going takes the other along; how it went is no news here.
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        client.destroy();
        behind.destroy();
      });
    }
    client.on('data', (bytes: Buffer) => {
      const text = bytes.toString('latin1');
      const isIt = next?.at.test(text) === true && (next.after === undefined || next.after.test(wentBy));
      wentBy += text;
      const cut = isIt ? next : undefined;
      if (cut === undefined) return void behind.write(bytes);
      next = undefined;
      isDeaf = true;
      const lose = (): void => {
        client.destroy();
        cut.done();
      };
      if (cut.cut === 'lost on the way') return lose();
      behind.write(bytes);
      behind.once('data', lose);
    });
    behind.on('data', (bytes: Buffer) => {
      if (!isDeaf) client.write(bytes);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the gate has no port');
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: address.port,
    triedAt,
    close() {
      isOpen = false;
      cutAll();
    },
    open() {
      isOpen = true;
    },
    cutAt: (of) =>
      new Promise((done) => {
        next = { ...of, done };
      }),
    async end() {
      cutAll();
      server.close();
      await once(server, 'close');
    },
  };
}
