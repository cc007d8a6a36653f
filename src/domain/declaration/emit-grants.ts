/**
 * What a provider is told: a directory with one credential file per consumer and generation, and the list of who is granted
 * what (S7). Only needs of the present resolution get there: that is how a withdrawn consumer's access ends (M14).
 */
import { consumerName, loginsOf } from '../credential/logins.ts';
import { overlaps } from '../credential/overlaps.ts';
import { pairToMake, type SecretNeed } from '../credential/secrets-to-make.ts';
import type { PairSecret } from '../credential/credential.ts';
import type { Provides } from '../manifest/manifest.ts';
import { isRefusal, type Refusal } from '../refusal/refusal.ts';
import type { Need } from '../resolution/resolve.ts';
import { given } from '../words/given.ts';
import type { ModuleName, NodeName } from '../words/names.ts';
import { canonicalJson } from './canonical.ts';
import { grantListFile, type Grant, type GrantList, type SecretResource } from './declaration.ts';
import { placeOf, together, type Emission, type Emitting } from './emit-credentials.ts';
import { emitted, resourceId } from './emit-module.ts';

type Granting = {
  readonly node: NodeName;
  readonly module: ModuleName;
  readonly provided: Provides;
  readonly directory: string;
};

/** The grants of one module on one node: nothing for provisions that take no credentials. */
export function emitGrants(
  emitting: Emitting,
  node: NodeName,
  module: ModuleName,
  provides: readonly Provides[],
): Emission {
  const asked = emitting.resolution.asked.get(node) ?? [];
  return together(
    provides.flatMap((provided) => {
      if (provided.grants === undefined) return [];
      const needs = asked.filter((need) => need.key.providerModule === module && need.key.provision === provided.name);
      return [emitDirectory(emitting, { node, module, provided, directory: provided.grants }, needs)];
    }),
  );
}

function emitDirectory(emitting: Emitting, granting: Granting, needs: readonly Need[]): Emission {
  const { node, module, provided, directory } = granting;
  const granted = needs.map((need) => grantsOf(emitting, granting, need));
  const place = placeOf(emitting.index, provided.name, { node, module });
  const list: GrantList = {
    schema: 'mesh.grants',
    version: 1,
    provision: provided.name,
    drainMs: provided.drainMs,
    // A port that is not assigned yet is refused where the module's processes are composed.
    ...(isRefusal(place) ? {} : { at: place }),
    grants: granted.flatMap((one) => one.grants).toSorted((a, b) => (a.file < b.file ? -1 : 1)),
  };
  const path = `${directory}/${grantListFile}`;
  return {
    emitted: [
      emitted({
        kind: 'directory',
        id: resourceId(module, 'directory', directory),
        module,
        path: directory,
        mode: '0700',
        unknown: 'program',
      }),
      emitted({
        kind: 'file',
        id: resourceId(module, 'file', path),
        module,
        path,
        mode: '0644',
        content: `${canonicalJson(list)}\n`,
        encoding: 'utf8',
      }),
      ...granted.flatMap((one) => one.files.map(emitted)),
    ],
    refusals: granted.flatMap((one) => one.refusals),
    wouldMake: granted.flatMap((one) => one.wouldMake),
  };
}

type Granted = {
  readonly grants: readonly Grant[];
  readonly files: readonly SecretResource[];
  readonly refusals: readonly Refusal[];
  readonly wouldMake: readonly SecretNeed[];
};

/** One consumer: each generation that is arriving, current or leaving, as far as this node can open it. */
function grantsOf(emitting: Emitting, granting: Granting, need: Need): Granted {
  const { index, resolution } = emitting;
  const { key } = need;
  const fingerprint = index.nodes.get(key.providerNode)?.sealingFingerprint;
  const granted = index.pairs(key).filter((secret) => secret.stage !== 'withdrawn');
  const openable = granted.filter((secret) => secret.provider.fingerprint === fingerprint);
  // A consumer that cannot be resolved, or has not joined, is its own node's trouble (D5): it keeps what it has here.
  const judged =
    resolution.nodes.get(key.consumerNode)?.kind === 'resolved' ? pairToMake(index, resolution, need) : undefined;
  const lost = granted.some((secret) => secret.origin === 'accepted' && secret.provider.fingerprint !== fingerprint);
  return {
    grants: openable.map((secret) => grantOf(emitting, need, secret)),
    files: openable.map((secret) => credentialFile(granting, need, secret)),
    // Dropping an accepted credential would end a running consumer's access: the provider is not sent anything instead (S13).
    refusals: lost && isRefusal(judged) ? [judged] : [],
    wouldMake: judged === undefined || isRefusal(judged) ? [] : [judged],
  };
}

/** `<consumer-node>.<consumer-module>[.<local>].<generation>` (S7). */
const fileName = (need: Need, generation: number): string => `${consumerName(need.key)}.${generation}`;

function grantOf({ hash }: Emitting, need: Need, { generation }: PairSecret): Grant {
  const { owner, fullName, login, database } = loginsOf(need.key, generation, need.form, hash);
  return {
    node: need.key.consumerNode,
    module: need.key.consumerModule,
    ...given('local', need.key.local),
    generation,
    file: fileName(need, generation),
    login,
    owner,
    fullName,
    database,
    ...(overlaps(need.form) ? {} : { keepsLogin: true as const }),
  };
}

function credentialFile(
  { module, directory }: Granting,
  need: Need,
  { generation, provider }: PairSecret,
): SecretResource {
  const path = `${directory}/${fileName(need, generation)}`;
  return {
    kind: 'secret',
    id: resourceId(module, 'secret', path),
    module,
    path,
    mode: '0600',
    form: 'password',
    ...provider,
  };
}
