import type { RotationSelection } from '../../../src/domain/act/act.ts';
import type { Refusal } from '../../../src/domain/refusal/refusal.ts';
import type { Controller } from '../../controller.ts';
import type { CommandDefinition } from '../../definition.ts';
import { exit } from '../../exit.ts';
import type { Given } from '../../given.ts';
import { problem, Stopped } from '../../problem.ts';
import { drawRotated } from '../../render/outcomes.ts';
import { waitOptions } from '../../wait-options.ts';

export const secretRotate: CommandDefinition = {
  name: 'secret rotate',
  group: 'secrets',
  summary: 'give consumers new credentials, all of those chosen or none',
  details:
    'Where the provider can grant two at once, the old one works until the consumer was seen with the new one, and nothing is broken off. Asking for a rotation that runs joins it, unless it runs with another limit; once it has ended, asking again makes new ones.',
  arguments: [
    {
      name: 'NODE/MODULE',
      says: 'the consumer: all its credentials, or those that the options choose',
      optional: true,
    },
  ],
  options: [
    { name: 'provision', value: 'NAME', says: 'only credentials for this' },
    { name: 'local', value: 'NAME', says: 'only the one that the manifest calls so' },
    { name: 'all', says: 'every credential that --provider grants of --provision' },
    { name: 'provider', value: 'NODE', says: 'with --all: the node that grants them' },
    {
      name: 'except',
      value: 'CREDENTIAL',
      many: true,
      says: 'but not this one, as secret list names it; may be given several times',
    },
    {
      name: 'limit',
      value: 'DURATION',
      kind: 'duration',
      says: 'cut a consumer off that was not seen with the new one by then; else it is waited for',
    },
    ...waitOptions,
  ],
  examples: [
    'mesh secret rotate beta/notes',
    'mesh secret rotate --all --provider alpha --provision postgres-database',
    'mesh secret rotate --all --provider alpha --provision postgres-database --except alpha/postgres-database/beta/notes',
  ],
  async run(given, context) {
    const { withController } = await import('../../controller.ts');
    const { runAct } = await import('../../acts/run-act.ts');
    const { rotationId, rotationNodes, rotationResult, rotationSummary } =
      await import('../../../src/domain/act/act.ts');
    const { sha256Hex } = await import('../../../src/sealing/digest.ts');
    const { isRefusal } = await import('../../../src/domain/refusal/refusal.ts');
    checkForm(given);
    return withController(context, async (controller) => {
      const selection = await selectionOf(given, controller);
      if (isRefusal(selection)) return selection;
      const limitMs = given.maybeNumber('limit');
      const node = rotationNodes(selection)?.node;
      return runAct(
        { context, controller, given },
        {
          kind: 'rotate',
          workflow: 'rotateCredential',
          workflowId: rotationId(selection, sha256Hex),
          request: { selection, person: context.settings.person, ...(limitMs === undefined ? {} : { limitMs }) },
          summary: rotationSummary(selection),
          ...(node === undefined ? {} : { node }),
          ...(selection.of === 'pairs' && selection.pairs[0] !== undefined
            ? { module: selection.pairs[0].consumerModule }
            : {}),
          attaches: true,
          terms: limitMs === undefined ? 'without a limit' : `with a limit of ${limitMs} ms`,
        },
        { schema: 'mesh.rotation', result: rotationResult, draw: drawRotated, exitCode: () => exit.done },
      );
    });
  },
};

function checkForm(given: Given): void {
  const says = (what: string, why: string): Stopped =>
    new Stopped(problem('usage', { what, why, next: ['mesh secret rotate --help'] }));
  const consumer = given.maybe('NODE/MODULE');
  if (given.flag('all') === (consumer !== undefined)) {
    throw says(
      'mesh secret rotate needs either a consumer or --all',
      'write NODE/MODULE, or --all --provider NODE --provision NAME',
    );
  }
  if (!given.flag('all')) {
    if (given.maybe('provider') !== undefined)
      throw says('--provider goes with --all', 'a consumer has one provider of each provision');
    return;
  }
  if (given.maybe('provider') === undefined || given.maybe('provision') === undefined) {
    throw says(
      '--all needs --provider NODE and --provision NAME',
      'it is about everything that one node grants of one provision',
    );
  }
  if (given.maybe('local') !== undefined)
    throw says('--local does not go with --all', 'a local name is a consumer’s own');
}

/** What is to be rotated, by key. Refusal: `unknown-credential`. */
async function selectionOf(given: Given, { store }: Controller): Promise<RotationSelection | Refusal> {
  const { asLocal, asNode, asPlaced, asProvision } = await import('../../names.ts');
  const { pairKey } = await import('../../../src/domain/credential/credential.ts');
  const { allBut } = await import('../../../src/domain/credential/select-for-rotation.ts');
  const { isRefusal } = await import('../../../src/domain/refusal/refusal.ts');
  const { listSecrets } = await import('../../../src/operations/secret/list-secrets.ts');
  const provisionText = given.maybe('provision');
  const provision = provisionText === undefined ? undefined : asProvision(provisionText);
  const except = given.many('except');
  if (given.flag('all')) {
    const node = asNode(given.text('provider'));
    const but = except.length === 0 ? {} : { except: [...new Set(except)].toSorted() };
    return { of: 'provider', node, provision: asProvision(given.text('provision')), ...but };
  }
  const localText = given.maybe('local');
  const local = localText === undefined ? undefined : asLocal(localText);
  const consumer = asPlaced(given.text('NODE/MODULE'));
  const pairs = (await listSecrets(store)).flatMap((one) =>
    one.kind === 'pair' &&
    one.consumer.node === consumer.node &&
    one.consumer.module === consumer.module &&
    (provision === undefined || one.provision === provision) &&
    (local === undefined || one.consumer.local === local)
      ? [
          {
            key: pairKey.parse({
              provision: one.provision,
              providerNode: one.provider.node,
              providerModule: one.provider.module,
              consumerNode: one.consumer.node,
              consumerModule: one.consumer.module,
              ...(one.consumer.local === undefined ? {} : { local: one.consumer.local }),
            }),
          },
        ]
      : [],
  );
  if (pairs.length > 0) {
    const left = allBut(pairs, except);
    return isRefusal(left) ? left : { of: 'pairs', pairs: left.map(({ key }) => key) };
  }
  return {
    kind: 'unknown-credential',
    what: `${consumer.node}/${consumer.module} has no credential${provision === undefined ? '' : ` for ${provision}`}${local === undefined ? '' : ` called ${local}`}`,
    why: 'only what a provider grants it can be rotated, once it was made by a push',
    next: ['mesh secret list', `mesh plan ${consumer.node}`],
    facts: { node: consumer.node, module: consumer.module },
  };
}
