import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import type { Given } from '../../given.ts';
import { problem, Stopped } from '../../problem.ts';
import { drawNodeSet } from '../../render/nodes.ts';

const publicDomain = 'public-domain';

export const nodeSet: CommandDefinition = {
  name: 'node set',
  group: 'nodes',
  summary: 'say under which public domain the routes of a node have their names, or that it has none',
  details:
    'A route with the label notes on a node with the public domain example.org is reached as notes.example.org. A node without one has no such names.',
  arguments: [
    { name: 'NODE', says: 'which' },
    { name: 'NAME[=VALUE]', says: `${publicDomain}=DOMAIN, a full DNS name` },
  ],
  options: [{ name: 'unset', says: 'take it back' }],
  examples: [`mesh node set alpha ${publicDomain}=example.org`, `mesh node set alpha ${publicDomain} --unset`],
  async run(given, context) {
    const { asDomain, asNode } = await import('../../names.ts');
    const { setPublicDomain } = await import('../../../src/operations/node/set-node.ts');
    const { isRefusal } = await import('../../../src/domain/refusal/refusal.ts');
    const { withController } = await import('../../controller.ts');
    const node = asNode(given.text('NODE'));
    const written = domainIn(given);
    const domain = written === undefined ? undefined : asDomain(written);
    const set = await withController(context, ({ store }) =>
      setPublicDomain(store, context.settings.person, node, domain),
    );
    return isRefusal(set) ? set : answer('mesh.node-set', { ...set }, drawNodeSet);
  },
};

/** Undefined: it is taken back. */
function domainIn(given: Given): string | undefined {
  const [name = '', ...values] = given.text('NAME[=VALUE]').split('=');
  if (name !== publicDomain) throw wrong(`a node has nothing to set that is called ${JSON.stringify(name)}`);
  const isUnset = given.flag('unset');
  if (isUnset === values.length > 0)
    throw wrong(isUnset ? 'mesh node set --unset takes a name and no value' : 'mesh node set needs a domain');
  return isUnset ? undefined : values.join('=');
}

function wrong(what: string): Stopped {
  return new Stopped(
    problem('usage', {
      what,
      why: `write ${publicDomain}=DOMAIN, or ${publicDomain} --unset`,
      next: ['mesh node set --help'],
    }),
  );
}
