import { answer, jsonOf } from '../answer.ts';
import type { CommandDefinition } from '../definition.ts';
import { drawAsked, drawVerbs } from '../render/provisioner.ts';

export const ask: CommandDefinition = {
  name: 'ask',
  group: 'what is so',
  summary: 'ask a seat one of its verbs, or list the verbs that it has',
  details:
    'A seat that nobody serves is said at once. The request is one JSON object; without it the verb is asked with none.',
  arguments: [
    { name: 'SEAT.VERB', says: 'the verb; with the seat alone, its verbs are listed' },
    { name: 'JSON', says: 'what the verb takes', optional: true },
  ],
  examples: ['mesh ask mesh-provisioner', `mesh ask mesh-provisioner.provisioning '{"what":"needs","node":"alpha"}'`],
  async run(given, context) {
    const { asPart } = await import('../names.ts');
    const { withAsker } = await import('../asking.ts');
    const { listingOf } = await import('../../src/bus/verbs.ts');
    const { problem, Stopped } = await import('../problem.ts');
    const [seatText = '', verb, ...more] = given.text('SEAT.VERB').split('.');
    const seat = asPart(seatText);
    const request = given.maybe('JSON');
    const wrong = (what: string) =>
      new Stopped(problem('usage', { what, why: 'write SEAT.VERB and one JSON object', next: [`mesh ask ${seat}`] }));
    if (more.length > 0 || verb === '') throw wrong(`${JSON.stringify(given.text('SEAT.VERB'))} is no verb of a seat`);
    if (request !== undefined && verb === undefined) throw wrong('a seat alone takes no request');
    if (request !== undefined && !isObject(request)) throw wrong('the request is not one JSON object');
    return withAsker(context, async (asker) => {
      if (verb === undefined) {
        const { verbs } = await asker.ask(listingOf(seat), {});
        const listed = verbs.map((one) => ({
          verb: one.verb,
          says: one.says,
          request: jsonOf(one.request),
          answer: jsonOf(one.answer),
        }));
        return answer('mesh.seat-verbs', { seat, verbs: listed }, drawVerbs);
      }
      const said = jsonOf(await asker.askByName(seat, verb, request ?? '{}'));
      return answer('mesh.ask', { seat, verb, ...(said === undefined ? {} : { answer: said }) }, drawAsked);
    });
  },
};

function isObject(text: string): boolean {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null && !Array.isArray(json);
  } catch {
    return false;
  }
}
