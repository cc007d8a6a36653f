/** Asking seats from the controller's machine, in the person's name. A seat that nobody serves is said at once (P15). */
import type { BusConnection } from '../src/bus/connection.ts';
import { BusFault } from '../src/bus/faults.ts';
import { asking } from '../src/bus/identity.ts';
import { askedSubject } from '../src/bus/subjects.ts';
import { askSeat, isRefused, type Refused, type Verb } from '../src/bus/verbs.ts';
import type { PartName } from '../src/domain/words/names.ts';
import { controllerKeysAt } from '../src/foundation/controller-keys.ts';
import type { z } from 'zod';
import { busLine } from './bus-line.ts';
import type { Context } from './context.ts';
import { foundationAt } from './controller.ts';
import { problem, Stopped } from './problem.ts';

export type Asker = {
  /** What a verb answered, read by its schema. Ends the command where it was refused or nobody serves it. */
  ask<Request extends z.ZodType, Answer extends z.ZodType>(
    verb: Verb<Request, Answer>,
    request: z.input<Request>,
  ): Promise<z.output<Answer>>;
  /** The same of a verb that is known by its name alone; the request is its text as JSON. */
  askByName(seat: PartName, verb: string, request: string): Promise<unknown>;
};

/** Runs `use` with a line to the bus that may ask and nothing else. Ends the command as `no-mesh` where there is none. */
export async function withAsker<T>(context: Context, use: (asker: Asker) => Promise<T>): Promise<T> {
  const { stateFolder, person } = context.settings;
  const { nats } = await foundationAt(stateFolder);
  const { bus: identity } = await controllerKeysAt(stateFolder);
  const credential = await asking(identity, person);
  let bus: BusConnection;
  try {
    bus = await busLine({ servers: [nats.url], name: 'ask', credential });
  } catch (cause) {
    throw new Error(`the bus at ${nats.url} cannot be used`, { cause });
  }
  const askByName = async (seat: PartName, verb: string, request: string): Promise<unknown> => {
    const subject = askedSubject(seat, verb, { kind: 'person', name: person });
    const said = await askSeat(bus, subject, new TextEncoder().encode(request)).catch((fault: unknown) => {
      if (fault instanceof BusFault && fault.reason === 'nobody') throw new Stopped(nobodyServes(seat));
      throw new Error(`${seat} did not answer ${verb}`, { cause: fault });
    });
    if (isRefused(said)) throw new Stopped(refusedBy(seat, verb, said));
    return said.answer;
  };
  try {
    return await use({
      askByName,
      ask: async (verb, request) =>
        verb.answer.parse(await askByName(verb.seat, verb.verb, JSON.stringify(verb.request.parse(request)))),
    });
  } finally {
    await bus.close();
  }
}

function nobodyServes(seat: PartName) {
  const own = seat === 'mesh-provisioner' ? ['mesh work provisioner'] : seat === 'the-controller' ? ['mesh up'] : [];
  return problem('nobody-serves', {
    what: `nobody serves the seat ${seat}`,
    why: 'the bus knows of no process that answers for it now',
    next: [...own, 'mesh ask the-controller'],
    facts: { seat },
  });
}

function refusedBy(seat: PartName, verb: string, { refused }: Refused) {
  return problem('verb-refused', {
    what: `${seat}.${verb}: ${refused.what}`,
    why: whys[refused.kind],
    next: [`mesh ask ${seat}`],
    facts: {
      seat,
      verb,
      reason: refused.kind,
      ...(refused.field === undefined ? {} : { field: refused.field }),
      ...refused.facts,
    },
  });
}

const whys: Readonly<Record<Refused['refused']['kind'], string>> = {
  'unknown-verb': 'a seat answers its own verbs alone',
  'bad-request': 'what was asked does not fit the form of the verb',
  refused: 'the rules say no',
  'not-found': 'there is no such thing',
  'try-later': 'the seat could not look at it just now; the same again may succeed',
};
