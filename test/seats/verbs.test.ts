/** Verbs of seats on a real server: typed on both sides, their asker not to be feigned, and nobody said at once. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { clientAccount, controllerSeat, seatAccount } from '../../src/bus/accounts.ts';
import type { BusConnection } from '../../src/bus/connection.ts';
import { asking } from '../../src/bus/identity.ts';
import { pushMeshAccount } from '../../src/bus/claims.ts';
import { askSeat, askVerb, isRefused, listingOf, serveSeat, serving, type Verb } from '../../src/bus/verbs.ts';
import type { Caller } from '../../src/bus/subjects.ts';
import { nodeName, partName } from '../../src/domain/words/names.ts';
import { startBus, type TestBus } from '../bus/server.ts';

const seat = partName.parse('the-clock');
const [alpha, beta] = [nodeName.parse('alpha'), nodeName.parse('beta')];
const add = {
  seat,
  verb: 'add',
  says: 'adds an hour',
  request: z.strictObject({ at: z.strictObject({ hour: z.int().min(0).max(23) }) }),
  answer: z.strictObject({ hour: z.int(), for: z.string() }),
} satisfies Verb;
const whoami = {
  seat: controllerSeat,
  verb: 'whoami',
  says: 'who asks',
  request: z.strictObject({}),
  answer: z.strictObject({ kind: z.string(), name: z.string() }),
} satisfies Verb;

let bus: TestBus;
let client: BusConnection;
let others: BusConnection;
let person: BusConnection;
const faults: unknown[] = [];
const answers: { ends?: Promise<void> } = {};
const whoAsks = async (_request: object, { kind, name }: Caller) => ({ kind, name });

beforeAll(async () => {
  bus = await startBus();
  const { prepared, credential } = await bus.account(seatAccount(seat));
  const serve = await bus.connect('clock', credential);
  await serveSeat(
    serve,
    seat,
    [
      serving(add, async ({ at }, { kind, name }) => {
        await answers.ends;
        if (at.hour === 22) throw new Error('the clock broke: its spring is secret');
        if (at.hour === 23)
          return { refused: { kind: 'refused', what: 'there is no hour after 23', facts: { hour: '23' } } };
        return { hour: at.hour + 1, for: `${kind} ${name}` };
      }),
    ],
    (fault) => void faults.push(fault),
  );
  await serveSeat(bus.mesh, controllerSeat, [serving(whoami, whoAsks)], (fault) => void faults.push(fault));
  const by = { meshAccount: bus.identity.accounts.mesh, seats: [{ seat, account: prepared.accountKey }] };
  await pushMeshAccount(bus.system, bus.identity, { seats: by.seats });
  const loose = (shape: ReturnType<typeof clientAccount>) => ({ ...shape, publish: ['>'], subscribe: ['>'] });
  client = await bus.connect('alpha', (await bus.account(clientAccount(alpha, by))).credential);
  others = await bus.connect('beta', (await bus.account(loose(clientAccount(beta, by)))).credential);
  person = await bus.connect('person', await asking(bus.identity, 'ada@desk.example'));
});
afterAll(() => bus.stop());

test('[P16] a verb is asked and answered, and knows who asks: a client, a person', async () => {
  expect(await askVerb(client, add, { at: { hour: 3 } })).toEqual({ hour: 4, for: 'client alpha' });
  const as = { kind: 'person', name: 'ada@desk.example' } as const;
  expect(await askVerb(person, add, { at: { hour: 3 } }, { as })).toEqual({ hour: 4, for: 'person ada@desk.example' });
  expect(await askVerb(client, whoami, {})).toEqual({ kind: 'client', name: 'alpha' });
  expect(await askVerb(others, whoami, {})).toEqual({ kind: 'client', name: 'beta' });
});

test('[P5] [P2] nobody asks in another’s name: not by a subject, not inside the message, not by a reply', async () => {
  const body = new TextEncoder().encode('{}');
  for (const subject of [
    'the-controller.whoami.client.alpha',
    'the-controller.whoami.person.ada',
    `${seat}.add.client.alpha`,
  ])
    await expect(askSeat(others, subject, body, 500)).rejects.toMatchObject({ reason: 'nobody' });
  // Its own import's subject, with what would be another's name in it: no verb has a dot.
  const heard: string[] = [];
  bus.mesh.nats.subscribe('the-controller.>', {
    callback: (error, message) => void (error === null && heard.push(message.subject)),
  });
  await bus.mesh.nats.flush();
  for (const subject of [
    'the-controller.a.client.alpha',
    'the-controller.client.alpha',
    'the-controller.whoami.client.alpha.x',
  ])
    others.nats.publish(subject, '{}', { reply: 'the-controller.whoami.client.alpha' });
  others.nats.publish('the-controller.whoami', '{"kind":"client","name":"alpha"}', {
    reply: 'the-controller.whoami.client.alpha',
  });
  expect(await askVerb(others, whoami, {})).toEqual({ kind: 'client', name: 'beta' });
  expect(new Set(heard)).toEqual(new Set(['the-controller.whoami.client.beta']));
  // A person may ask in a person's name alone.
  await expect(askVerb(person, whoami, {}, { as: { kind: 'client', name: 'alpha' } })).rejects.toMatchObject({
    reason: 'denied',
  });
});

test('[P14] what does not fit is refused by the field’s name, a refusal and a fault are told apart, and neither is a wait', async () => {
  const ask = async (json: string) => askSeat(client, `${seat}.add`, new TextEncoder().encode(json));
  expect(await ask('{"at":{"hour":"x"}}')).toMatchObject({ refused: { kind: 'bad-request', field: 'at.hour' } });
  expect(await ask('{"at":{"hour":1,"minute":2}}')).toMatchObject({
    refused: { kind: 'bad-request', field: 'at.minute' },
  });
  expect(await ask('{"at":')).toMatchObject({ refused: { kind: 'bad-request' } });
  expect(await ask('')).toMatchObject({ refused: { kind: 'bad-request', field: 'at' } });
  const refused = await askVerb(client, add, { at: { hour: 23 } });
  expect(isRefused(refused) && refused.refused).toEqual({
    kind: 'refused',
    what: 'there is no hour after 23',
    facts: { hour: '23' },
  });
  const broken = await askVerb(client, add, { at: { hour: 22 } });
  expect(broken).toMatchObject({ refused: { kind: 'try-later' } });
  expect(JSON.stringify(broken)).not.toContain('spring');
  expect(faults).toHaveLength(1);
  expect(await askSeat(client, `${seat}.sub`, new Uint8Array())).toMatchObject({
    refused: { kind: 'unknown-verb', what: expect.stringContaining('add, verbs') },
  });
});

test('[P16] a seat lists its verbs with the shapes of what they take and answer', async () => {
  const listed = await askVerb(client, listingOf(seat), {});
  expect(listed).toMatchObject({
    seat: 'the-clock',
    verbs: [
      {
        verb: 'add',
        says: 'adds an hour',
        request: { properties: { at: { type: 'object' } } },
        answer: { type: 'object' },
      },
      { verb: 'verbs' },
    ],
  });
});

test('[P15] a seat that nobody serves is said at once, not after a wait', async () => {
  const from = performance.now();
  const vault = { ...add, seat: partName.parse('the-vault') };
  await expect(
    askVerb(person, vault, { at: { hour: 1 } }, { as: { kind: 'person', name: 'ada@desk.example' } }),
  ).rejects.toMatchObject({ reason: 'nobody' });
  expect(performance.now() - from).toBeLessThan(2_000);
});

test('[U17] an answer that does not fit is a fault of the asker’s own, and one that is late is a timeout', async () => {
  const other = { ...add, answer: z.strictObject({ hour: z.string() }) };
  await expect(askVerb(client, other, { at: { hour: 3 } })).rejects.toMatchObject({ reason: 'unreadable' });
  let goOn = (): void => undefined;
  answers.ends = new Promise((resolve) => (goOn = resolve));
  await expect(askVerb(client, add, { at: { hour: 3 } }, { timeoutMs: 200 })).rejects.toMatchObject({
    reason: 'timeout',
  });
  goOn();
});
