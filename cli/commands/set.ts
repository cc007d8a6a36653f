import type { Refusal } from '../../src/domain/refusal/refusal.ts';
import type { Placed } from '../../src/domain/words/names.ts';
import { answer, jsonOf, type Answer } from '../answer.ts';
import type { Context } from '../context.ts';
import type { CommandDefinition } from '../definition.ts';
import type { Given } from '../given.ts';
import { problem, Stopped } from '../problem.ts';
import { drawLabelSet, drawLabelUnset, drawSet, drawUnset } from '../render/intent.ts';

export const set: CommandDefinition = {
  name: 'set',
  group: 'intent',
  summary: 'set what a module is told on one node, or the label of its route there, or take it back',
  details:
    "A setting is readable to everybody: it is no place for a secret. With --label: NAME is what the module's route leads to, one of its listens, and VALUE the first part of the name under the node's public domain.",
  arguments: [
    { name: 'NODE/MODULE', says: 'whose setting' },
    { name: 'NAME[=VALUE]', says: "one of the manifest's settings; the value is a text as it stands" },
  ],
  options: [
    { name: 'parse', says: 'read VALUE as JSON: a number, true, a list' },
    { name: 'label', says: 'not a setting but the label of a route' },
    { name: 'unset', says: "take it back, so that the manifest's default counts again" },
  ],
  examples: [
    'mesh set beta/notes title="Our notes"',
    'mesh set beta/notes page-size=50 --parse',
    'mesh set beta/notes title --unset',
    'mesh set beta/notes http=memo --label',
  ],
  async run(given, context) {
    const { asPart, asPlaced } = await import('../names.ts');
    const { isRefusal } = await import('../../src/domain/refusal/refusal.ts');
    const { setSetting, unsetSetting } = await import('../../src/operations/intent/set-setting.ts');
    const { withController } = await import('../controller.ts');
    const placed = asPlaced(given.text('NODE/MODULE'));
    if (given.flag('label')) return label(given, context, placed);
    const { name: written, value } = split(given);
    const name = asPart(written);
    const person = personOf(context);
    if (given.flag('unset')) {
      const gone = await withController(context, ({ store }) => unsetSetting(store, person, { ...placed, name }));
      return isRefusal(gone) ? gone : answer('mesh.unset', { ...gone, name }, drawUnset);
    }
    const done = await withController(context, ({ store }) => setSetting(store, person, { ...placed, name, value }));
    return isRefusal(done)
      ? done
      : answer(
          'mesh.set',
          { node: done.node, module: done.module, name: done.name, value: jsonOf(done.value) },
          drawSet,
        );
  },
};

async function label(given: Given, context: Context, placed: Placed): Promise<Answer | Refusal> {
  const { asLabel, asPart } = await import('../names.ts');
  const { isRefusal } = await import('../../src/domain/refusal/refusal.ts');
  const { setLabel, unsetLabel } = await import('../../src/operations/intent/set-label.ts');
  const { withController } = await import('../controller.ts');
  if (given.flag('parse')) throw wrong('mesh set --label takes no --parse', 'a label is a text');
  const { name, value } = split(given);
  const route = { ...placed, listens: asPart(name) };
  const person = personOf(context);
  if (given.flag('unset')) {
    const gone = await withController(context, ({ store }) => unsetLabel(store, person, route));
    return isRefusal(gone) ? gone : answer('mesh.label-unset', route, drawLabelUnset);
  }
  const wanted = { ...route, label: asLabel(String(value)) };
  const done = await withController(context, ({ store }) => setLabel(store, person, wanted));
  return isRefusal(done) ? done : answer('mesh.label-set', { ...done }, drawLabelSet);
}

const personOf = ({ settings }: Context): string => settings.person;

function split(given: Given): { readonly name: string; readonly value: unknown } {
  const written = given.text('NAME[=VALUE]');
  const at = written.indexOf('=');
  const isUnset = given.flag('unset');
  if (isUnset === at >= 0) {
    throw wrong(
      isUnset ? 'mesh set --unset takes a name and no value' : `mesh set needs a value for ${written}`,
      'write NAME=VALUE, or NAME --unset',
    );
  }
  if (isUnset) return { name: written, value: undefined };
  const text = written.slice(at + 1);
  if (!given.flag('parse')) return { name: written.slice(0, at), value: text };
  return { name: written.slice(0, at), value: parsed(text) };
}

function parsed(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong(`${JSON.stringify(text)} is not JSON`, 'with --parse a text stands in double quotes');
  }
  const changed = roundedIn(text);
  if (changed === undefined) return value;
  throw wrong(
    `${changed} is a number that would not stay as it is`,
    'whole numbers beyond 9007199254740991 lose digits in JSON: write it as a text, in double quotes',
  );
}

/** A whole number in a JSON text that reading it would change. */
function roundedIn(text: string): string | undefined {
  const withoutTexts = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  return [...withoutTexts.matchAll(/-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g)]
    .map(([digits]) => digits)
    .find((digits) => /^-?\d+$/.test(digits) && !Number.isSafeInteger(Number(digits)));
}

function wrong(what: string, why: string): Stopped {
  return new Stopped(problem('usage', { what, why, next: ['mesh set --help'] }));
}
