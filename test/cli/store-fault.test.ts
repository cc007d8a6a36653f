import { expect, test } from '@jest/globals';

import { lookOn } from '../../cli/render/look.ts';
import { waitingLines } from '../../cli/render/status-changes.ts';
import { unbegunBlocks } from '../../cli/render/unbegun.ts';
import { storeDown } from '../../cli/store-fault.ts';

const postgres = {
  host: '127.0.0.1',
  port: 5432,
  database: 'mesh',
  user: 'mesh',
  passwordFile: 'x',
  superuserPasswordFile: 'x',
};
const coded = (message: string, code: string): Error => Object.assign(new Error(message), { code });

test('[C33] [U5] a store that is away is told from one that takes no writes, each with what to do; other faults are neither', () => {
  const refused = coded('connect ECONNREFUSED 127.0.0.1:5432', 'ECONNREFUSED');
  const away = [
    refused,
    Object.assign(new AggregateError([refused]), { code: 'ECONNREFUSED' }),
    coded('the database system is starting up', '57P03'),
    new Error('the store went away in the middle of a transaction', { cause: coded('read ECONNRESET', 'ECONNRESET') }),
    new Error('Connection terminated unexpectedly'),
  ];
  for (const fault of away)
    expect(storeDown(fault, postgres)).toMatchObject({
      kind: 'store-down',
      exitCode: 1,
      what: expect.stringContaining('the store does not answer at 127.0.0.1:5432'),
      next: ['mesh up'],
      facts: { takes: 'nothing' },
    });
  const silent = [
    new Error('Query read timeout'),
    new Error('Connection terminated due to connection timeout', { cause: new Error('Connection terminated') }),
    new Error('the store went away in the middle of a transaction', { cause: new Error('Query read timeout') }),
  ];
  for (const fault of silent)
    expect(storeDown(fault, postgres)).toMatchObject({
      kind: 'store-down',
      what: expect.stringContaining('the store takes connections at 127.0.0.1:5432 and does not answer'),
      why: expect.stringContaining('whether a change that was under way was made is not known'),
      next: ['mesh doctor'],
      facts: { takes: 'nothing' },
    });
  for (const [fault, says] of [
    [coded('cannot execute INSERT in a read-only transaction', '25006'), 'read-only'],
    [coded('could not extend file: No space left on device', '53100'), 'disk is full'],
  ] as const)
    expect(storeDown(fault, postgres)).toMatchObject({
      kind: 'store-down',
      what: `the store at 127.0.0.1:5432 takes no writes: ${fault.message}`,
      next: [expect.stringContaining(says)],
      facts: { takes: 'reads' },
    });
  for (const fault of [
    coded('duplicate key', '23505'),
    coded('no such file', 'ENOENT'),
    new Error('a bug'),
    'a text',
    new Error('Temporal does not answer', { cause: new Error('deadline') }),
  ])
    expect(storeDown(fault, postgres)).toBeUndefined();
});

test('[C33] [A15] acts that have not begun are drawn with what is in their way: the store, a step, or that nobody is there', () => {
  const look = lookOn({ isTTY: false }, {}, true, 0);
  const one = { act: 'a', workflowId: 'push/all', askedAt: '2026-01-01T00:00:00.000Z', ui: 'http://x' };
  const trying = { step: 'preparePush', failed: 3, lastError: 'cannot execute INSERT in a read-only transaction' };
  expect(unbegunBlocks({ unbegun: [] }, look)).toEqual([]);
  // Where Temporal cannot be asked that is said, and not that there are none.
  expect(unbegunBlocks({ unbegunUnknown: 'Temporal does not answer at x' }, look)).toEqual([
    'Which acts have not begun cannot be told: Temporal does not answer at x\nnext:\n  mesh doctor',
  ]);
  expect(unbegunBlocks({ unbegun: [one] }, look)).toEqual([
    'asked for, and not begun\n  push/all, 2026-01-01T00:00:00.000Z: no controller has taken it up\nnext:\n  mesh work controller',
  ]);
  const store = { what: 'the store takes no writes', why: 'it is so', next: ['make room'] };
  expect(unbegunBlocks({ unbegun: [{ ...one, trying }], store }, look)).toEqual([
    'the store takes no writes\nit is so\nnext:\n  make room',
    'asked for, and not begun\n  push/all, 2026-01-01T00:00:00.000Z: preparePush has failed 3 times and is being tried again: cannot execute INSERT in a read-only transaction',
  ]);
});

test('[D24] watching says which acts wait to be begun, why, and that they do no more; one more try of a step is no news', () => {
  const one = { act: 'a', workflowId: 'push/all', askedAt: '2026-01-01T00:00:00.000Z', ui: 'http://x' };
  const failing = (failed: number, lastError: string) => ({
    unbegun: [{ ...one, trying: { step: 'preparePush', failed, lastError } }],
  });
  expect(waitingLines({}, { unbegun: [one] })).toEqual(['push/all (a) has not begun: no controller has taken it up']);
  expect(waitingLines({ unbegun: [one] }, failing(2, 'x'))).toEqual([
    'push/all (a) has not begun: preparePush fails: x',
  ]);
  expect(waitingLines(failing(2, 'x'), failing(3, 'x'))).toEqual([]);
  expect(waitingLines(failing(3, 'x'), { unbegun: [] })).toEqual(['no more: push/all (a) has not begun']);
  const store = { what: 'the store takes no writes', why: 'it is so', next: ['make room'] };
  expect(waitingLines({}, { unbegun: [], store })).toEqual(['the store takes no writes → make room']);
  expect(waitingLines({}, { unbegunUnknown: 'Temporal is away' })).toEqual([
    'which acts have not begun cannot be told: Temporal is away',
  ]);
});
