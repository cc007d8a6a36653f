/** What the controller can be asked (P5, P3): the verbs of the seat `the-controller`, their questions and answers. */
import { z } from 'zod';
import { controllerSeat } from '../../bus/accounts.ts';
import type { Verb } from '../../bus/verbs.ts';
import { health } from '../../domain/provisioning/values.ts';
import { localName, moduleName, nodeName, partName, provisionName } from '../../domain/words/names.ts';

const sealed = { sealed: z.base64(), fingerprint: z.string() };

/** P5. Asked by a node's client, of a module on its own node; the answer is sealed to that node. */
export const secretVerb = {
  seat: controllerSeat,
  verb: 'secret',
  says: 'the credential that a module of the asking node uses, or its own secret, sealed to that node',
  request: z.strictObject({
    module: moduleName,
    /** A provision that it requires, or an own secret that it holds. */
    name: partName,
    local: localName.optional(),
  }),
  answer: z.strictObject({ generation: z.int().positive(), login: z.string().optional(), ...sealed }),
} satisfies Verb;

/** P5. Asked by the client of a provider's node. */
export const consumersVerb = {
  seat: controllerSeat,
  verb: 'consumers',
  says: 'everybody whom a provider on the asking node grants a provision to, each credential sealed to that node',
  request: z.strictObject({ module: moduleName, provision: provisionName }),
  answer: z.strictObject({
    consumers: z.array(
      z.strictObject({
        node: nodeName,
        module: moduleName,
        local: localName.optional(),
        generation: z.int().positive(),
        stage: z.enum(['arriving', 'current', 'leaving']),
        login: z.string(),
        owner: z.string(),
        database: z.string(),
        ...sealed,
      }),
    ),
  }),
} satisfies Verb;

const holder = z.strictObject({ module: moduleName, node: z.string().min(1), process: z.string().min(1) });

/** P3. Asked by the process of a seat's own account, about that seat alone. */
export const holdSeatVerb = {
  seat: controllerSeat,
  verb: 'hold-seat',
  says: 'hold the asking seat for a while, or learn which process has it; a second module is refused',
  request: z.strictObject({ ...holder.shape, leaseMs: z.int().min(500).max(300_000) }),
  answer: z.strictObject({
    state: z.enum(['held', 'waits']),
    holder,
    since: z.iso.datetime(),
    /** How long the lease goes on, by the controller's clock, ms. */
    forMs: z.int().nonnegative(),
  }),
} satisfies Verb;

/** Asked by a process that ends, so that a standby need not wait for its lease to. */
export const leaveSeatVerb = {
  seat: controllerSeat,
  verb: 'leave-seat',
  says: 'give the asking seat up, if this process has it',
  request: holder,
  answer: z.strictObject({}),
} satisfies Verb;

/** P10. What the clients of nodes say of modules that are postponed. */
export const healthVerb = {
  seat: controllerSeat,
  verb: 'health',
  says: 'modules that are postponed: since when, for how many passes, and for which build',
  request: z.strictObject({ node: nodeName.optional(), module: moduleName.optional() }),
  answer: z.strictObject({
    health: z.array(z.strictObject({ node: nodeName, module: moduleName, ...health.shape })),
    /** Keys and values that are not what the bucket holds, each with what is wrong. */
    faults: z.array(z.strictObject({ key: z.string(), says: z.string() })),
  }),
} satisfies Verb;

/** Asked by a node's client for a provider's program on its node: an account that may write its own consumers' facts alone. */
export const admitProgramVerb = {
  seat: controllerSeat,
  verb: 'admit-program',
  says: 'give a provider that is assigned to the asking node an account for its program',
  request: z.strictObject({ module: moduleName, userKey: z.string().min(1).max(1024) }),
  answer: z.strictObject({ userJwt: z.string().min(1), servers: z.array(z.string()).min(1) }),
} satisfies Verb;
