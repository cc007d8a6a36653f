import type { AcceptedSecret, SealedValue, SecretToSeal } from '../../../src/operations/secret/accept-secret.ts';
import type { Plaintext } from '../../../src/sealing/plaintext.ts';
import { answer } from '../../answer.ts';
import type { CommandDefinition } from '../../definition.ts';
import type { Given } from '../../given.ts';
import { drawAccepted } from '../../render/secrets.ts';

export const secretAccept: CommandDefinition = {
  name: 'secret accept',
  group: 'secrets',
  summary: 'hand over the value of a secret, instead of the one that mesh makes',
  details:
    'The value is read from a file or a pipe, or asked for on the terminal and not shown; every byte of it counts. It is sealed here, to the nodes that need it, before anything is written: mesh itself cannot read it, so it never makes another in its place. After a node was given new keys, and to change it, hand a value over again. Nothing is sent; push does that.',
  arguments: [
    { name: 'NODE/MODULE', says: 'whose secret' },
    { name: 'SECRET', says: 'a provision that it takes from another module, or what it calls a secret of its own' },
  ],
  options: [
    { name: 'from', value: 'FILE', says: 'holds the value and nothing else; - for what is piped in' },
    { name: 'local', value: 'NAME', says: 'the one that the manifest calls so' },
    { name: 'provider', value: 'NODE', says: 'refuse it unless this is the node that it is taken from' },
  ],
  examples: [
    'mesh secret accept beta/notes session-key',
    'mesh secret accept beta/notes session-key --from session.key',
    'mesh secret accept beta/notes postgres-database --provider alpha --from -',
  ],
  async run(given, context) {
    const { acceptSecret, secretToSeal } = await import('../../../src/operations/secret/accept-secret.ts');
    const { unfitFor, valueLimitBytes } = await import('../../../src/domain/credential/unfit-value.ts');
    const { isRefusal } = await import('../../../src/domain/refusal/refusal.ts');
    const { valueFrom } = await import('../../accepted-value.ts');
    const { withController } = await import('../../controller.ts');
    const named = await namedIn(given);
    return withController(context, async ({ store }) => {
      const toSeal = await secretToSeal(store, named);
      if (isRefusal(toSeal)) return toSeal;
      const { secret } = toSeal;
      const question = `Value of ${secret.path} (it is not shown): `;
      const value = await valueFrom(given.maybe('from'), { ask: context.ask, question, atMost: valueLimitBytes });
      const unfit = value.reveal((bytes) => unfitFor(secret, bytes));
      if (unfit !== undefined) return unfit;
      const accepted = await acceptSecret(store, context.settings.person, named, await sealed(value, toSeal));
      if (isRefusal(accepted)) return accepted;
      return answer('mesh.accepted', bodyOf(accepted, value.length), drawAccepted);
    });
  },
};

async function namedIn(given: Given) {
  const { asLocal, asNode, asPart, asPlaced } = await import('../../names.ts');
  const [local, provider] = [given.maybe('local'), given.maybe('provider')];
  return {
    ...asPlaced(given.text('NODE/MODULE')),
    name: asPart(given.text('SECRET')),
    ...(local === undefined ? {} : { local: asLocal(local) }),
    ...(provider === undefined ? {} : { provider: asNode(provider) }),
  };
}

/** In this process, before anything is written (S12). */
async function sealed(value: Plaintext, { secret, keys }: SecretToSeal): Promise<SealedValue> {
  const { seal, sealToEach } = await import('../../../src/sealing/box.ts');
  const { present } = await import('../../../src/domain/words/invariant.ts');
  const keyOf = (node: Parameters<typeof keys.get>[0]): string =>
    Buffer.from(present(keys.get(node), `the sealing key of ${node}`)).toString('base64');
  if (secret.kind === 'own') return { kind: 'own', node: seal(value, keyOf(secret.key.node)) };
  const { consumerNode, providerNode } = secret.key;
  return { kind: 'pair', ...sealToEach(value, { consumer: keyOf(consumerNode), provider: keyOf(providerNode) }) };
}

function bodyOf(accepted: AcceptedSecret, bytes: number) {
  const { path, nodes } = accepted;
  const common = { path, kind: String(accepted.kind), origin: 'accepted', bytes, nodes };
  if (accepted.kind === 'own') return { ...common, isNew: accepted.isNew };
  return { ...common, generation: accepted.generation, withdrawn: accepted.withdrawn };
}
