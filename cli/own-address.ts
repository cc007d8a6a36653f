import { networkInterfaces } from 'node:os';

import { problem, Stopped } from './problem.ts';

/** This machine's first IPv4 address that is not loopback; ends the command as `usage` where there is none. */
export function ownAddress(): string {
  for (const addresses of Object.values(networkInterfaces())) {
    const found = addresses?.find(({ family, internal }) => family === 'IPv4' && !internal);
    if (found !== undefined) return found.address;
  }
  throw new Stopped(
    problem('usage', {
      what: 'this machine has no address but loopback',
      why: 'other nodes must be told where to reach it',
      next: ['mesh node join --address ADDRESS …'],
    }),
  );
}
