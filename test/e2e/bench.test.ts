/** The bench's programs that are not compiled with the rest: run once, so that a change that breaks them is seen before somebody measures. */
import { expect, test } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

import { run } from '../../bench/run-program.ts';

test('the passes of a compiled host run, and every figure is there', async () => {
  const program = fileURLToPath(new URL('../../bench/programs/host-pass.mjs', import.meta.url));
  const printed: unknown = JSON.parse(await run([program, '2', '2', '3']));
  const figures = z.array(z.number()).length(3);
  expect(z.object({ floor: figures, product: figures, rssMb: z.number() }).safeParse(printed).success).toBe(true);
});
