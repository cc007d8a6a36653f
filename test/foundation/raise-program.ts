/** `mesh up` in small: raises in its own process and says so, so that a test can kill it at any moment. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';

import { isRefusal } from '../../src/domain/refusal/refusal.ts';
import { raiseFoundation } from '../../src/foundation/foundation.ts';

const [stateDir = '', trustFile = ''] = process.argv.slice(2);
const trust = z
  .object({ operatorJwt: z.string(), systemAccount: z.string(), preload: z.record(z.string(), z.string()) })
  .parse(JSON.parse(await readFile(trustFile, 'utf8')));
const raised = await raiseFoundation({
  stateDir,
  env: process.env,
  trust,
  say: (line) => void process.stdout.write(`${line}\n`),
});
process.stdout.write(isRefusal(raised) ? `refused ${raised.kind}\n` : 'raised\n');
// Stays, as `mesh up` does while it raises what stands on this.
setInterval(() => undefined, 60_000);
