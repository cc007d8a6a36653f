/** The floor's nodes: they apply what they are sent; for a rotation they open and hold what is staged, and the provider grants. */
import { z } from 'zod';
import type { BusConnection } from '../../src/bus/connection.ts';
import { makeSealingKey, open, type SealingKey } from '../../src/sealing/box.ts';
import type { Work } from '../nodes-at-work.ts';
import { fileOfNode } from '../written-files.ts';

const filesSent = z.array(fileOfNode);

/** Asked for a node's sealing key; answered with its public half. */
export const floorKeySubject = (node: string): string => `floor.key.${node}`;
export const floorApplySubject = (node: string): string => `floor.apply.${node}`;
export const floorRotateSubject = (node: string, phase: 'stage' | 'grant' | 'commit'): string =>
  `floor.rotate.${node}.${phase}`;

/** Answers for all of them, until the connection ends. */
export function workAsFloorNodes(bus: BusConnection, { ends, applyFiles }: Work): void {
  const keys = new Map<string, SealingKey>();
  const keyOf = (node: string): SealingKey => {
    const key = keys.get(node) ?? makeSealingKey();
    keys.set(node, key);
    return key;
  };
  answerAll(bus, floorKeySubject('*'), (subject) => keyOf(subject.split('.')[2] ?? '').publicKey);
  answerAll(bus, floorApplySubject('*'), async (subject, message) => {
    const files = filesSent.parse(JSON.parse(Buffer.from(message).toString()));
    await applyFiles?.(subject.split('.')[2] ?? '', files);
    return 'ok';
  });
  answerAll(bus, 'floor.rotate.*.*', async (subject, message) => {
    const [, , node = '', phase] = subject.split('.');
    const text = Buffer.from(message).toString();
    if (phase === 'stage') {
      open(text, keyOf(node)).reveal((bytes) => bytes.length);
      await ends?.hold(1);
    }
    if (phase === 'grant') await ends?.grant(Number(text));
    return 'ok';
  });
}

function answerAll(
  bus: BusConnection,
  subject: string,
  answer: (subject: string, message: Uint8Array) => string | Promise<string>,
): void {
  bus.nats.subscribe(subject, {
    callback(_error, message) {
      void (async () => message.respond(await answer(message.subject, message.data)))();
    },
  });
}
