/** Names that a person wrote, as the domain has them. What is no name ends the command as `invalid-name` (M27). */
import type { z } from 'zod';

import { hostNameFault, labelFault } from '../src/domain/provisioning/route-names.ts';
import { localName, moduleName, nodeName, partName, provisionName } from '../src/domain/words/names.ts';
import type { LocalName, ModuleName, NodeName, PartName, Placed, ProvisionName } from '../src/domain/words/names.ts';
import { problem, stopWith, Stopped } from './problem.ts';

export const asNode = (text: string): NodeName => named(nodeName, text);
export const asModule = (text: string): ModuleName => named(moduleName, text);
export const asProvision = (text: string): ProvisionName => named(provisionName, text);
export const asLocal = (text: string): LocalName => named(localName, text);
export const asPart = (text: string): PartName => named(partName, text);

/** A DNS label, as a route has one (M24). */
export const asLabel = (text: string): string =>
  publicName(text, labelFault(text), 'mesh set NODE/MODULE LISTENS=LABEL --label');
/** A full DNS name, as a node's public domain is one. */
export const asDomain = (text: string): string =>
  publicName(text, hostNameFault(text), 'mesh node set NODE public-domain=DOMAIN');

function publicName(text: string, fault: string | undefined, next: string): string {
  if (fault === undefined) return text;
  return stopWith({
    kind: 'invalid-name',
    what: fault,
    why: 'what is no name of a public host is never reached',
    next: [next],
    facts: { found: text.slice(0, 200) },
  });
}

/** `NODE/MODULE`: a module on a node. */
export function asPlaced(text: string): Placed {
  const [node, module, ...more] = text.split('/');
  if (node === undefined || module === undefined || more.length > 0) {
    throw new Stopped(
      problem('usage', {
        what: `${JSON.stringify(text)} is not a module on a node`,
        why: 'write NODE/MODULE, like beta/notes',
        next: ['mesh status  # says what runs where'],
      }),
    );
  }
  return { node: asNode(node), module: asModule(module) };
}

function named<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> {
  const read = schema.safeParse(text);
  if (read.success) return read.data;
  return stopWith({
    kind: 'invalid-name',
    what: read.error.issues.map(({ message }) => message).join('; '),
    why: 'no two names may share a key, a file or a role, so all are written by one rule',
    next: corrected(text),
    facts: { found: text.slice(0, 200) },
  });
}

/** What a name was most likely meant to be, when that is one. */
function corrected(text: string): readonly string[] {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, '');
  return name === '' || name === text ? [] : [`the same command with ${name}`];
}
