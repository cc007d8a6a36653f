import { expect, test } from '@jest/globals';
import { ZodError } from 'zod';

import { problemOf } from '../../cli/errors.ts';
import { problem, problemOfRefusal, Stopped } from '../../cli/problem.ts';

test('[U1] a mistake is what it says, a fault of the world is 1 without a stack, a bug is 1 with one', () => {
  const mistake = problem('declined', { what: 'a', why: 'b', next: [] });
  expect(problemOf(new Stopped(mistake))).toBe(mistake);
  expect(problemOfRefusal({ kind: 'unknown-node', what: 'a', why: 'b', next: [] }).exitCode).toBe(4);

  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' });
  const fault = problemOf(new Error('the store does not answer', { cause: refused }));
  expect(fault).toMatchObject({
    kind: 'fault',
    exitCode: 1,
    what: 'the store does not answer: connect ECONNREFUSED 127.0.0.1:1',
    next: ['mesh up'],
  });
  expect(fault.stack).toBeUndefined();
  // Several addresses were tried at once, and none has words of its own.
  expect(problemOf(Object.assign(new AggregateError([refused]), { code: 'ECONNREFUSED' })).what).toContain(
    'ECONNREFUSED',
  );

  for (const thrown of [
    new TypeError('x is not a function'),
    new Error('a case was forgotten'),
    new ZodError([]),
    'a text',
    new Error('up', { cause: new RangeError('no') }),
  ]) {
    expect(problemOf(thrown)).toMatchObject({ kind: 'bug', exitCode: 1 });
  }
  expect(problemOf(new TypeError('x is not a function')).stack).toContain('errors.test');
});
