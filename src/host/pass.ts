/**
 * One pass: look at the declaration, judge it, make the node as it says, and say what came of it. What was accepted last
 * is on disk before anything of it is applied, and goes on being held up when the bus is away or what came is refused.
 */
import type { Declaration, Envelope } from '../domain/declaration/declaration.ts';
import type { Capability } from '../domain/report/report.ts';
import { verifyEnvelope } from '../sealing/envelope.ts';
import { applyDeclaration, type Applied, type ApplyWith } from './apply/apply.ts';
import type { Fetched } from './bus.ts';
import { errorChain } from './fault.ts';
import type { Say } from './log.ts';
import type { Pass } from './report.ts';
import type { Prepared } from './provisioning/client.ts';
import { readAccepted, writeAccepted, type NodeFile } from './state.ts';
import { verifyDeclaration, type Refused } from './verify.ts';

type Accepted = { readonly envelope: Envelope; readonly declaration: Declaration };

/** What an apply is done with, and who knows what files are filled with. */
export type Applying = Omit<ApplyWith, 'filling'> & {
  readonly client: { prepare(declaration: Declaration): Promise<Prepared> };
};

export class Reconciler {
  readonly #stateDir: string;
  readonly #node: NodeFile;
  readonly #with: Applying;
  readonly #say: Say;
  #accepted: Accepted | undefined;
  #refused: Refused | undefined;

  constructor(of: { readonly stateDir: string; readonly node: NodeFile; readonly with: Applying; readonly say: Say }) {
    this.#stateDir = of.stateDir;
    this.#node = of.node;
    this.#with = of.with;
    this.#say = of.say;
  }

  /** Takes up what an earlier host accepted. Throws when it is not what was accepted: nothing is done on a guess. */
  async takeUp(): Promise<void> {
    const envelope = await readAccepted(this.#stateDir);
    if (envelope === undefined) return;
    const believed = verifyEnvelope(envelope, { node: this.#node.name, trustedKey: this.#node.verifyKey });
    if (!('envelope' in believed))
      throw new Error(`the declaration that was accepted last is not believed any more: ${believed.detail}`);
    this.#accepted = believed;
  }

  /** What the node is held to: the declaration that was accepted last. */
  get declaration(): Declaration | undefined {
    return this.#accepted?.declaration;
  }

  /** One pass over what was fetched. Never rejects for what it meets: that is a failure in the answer (D15). */
  async pass(fetched: Fetched, capabilities: readonly Capability[]): Promise<Pass> {
    if (fetched.kind === 'came') {
      const failed = await this.#judge(fetched.envelope, capabilities);
      if (failed !== undefined) return failed;
    }
    if (this.#accepted === undefined)
      return this.#refused === undefined ? { kind: 'idle' } : { kind: 'refused', refused: this.#refused };
    const { digest, number } = this.#accepted.envelope;
    // A bus that lost everything is no order to stop everything: what was accepted stays, and it is said (C76).
    const gone = fetched.kind === 'none' ? ({ gone: true } as const) : {};
    const applied = await this.#apply(this.#accepted.declaration);
    if (this.#refused !== undefined) return { kind: 'refused', refused: this.#refused, reconciled: applied, ...gone };
    return { kind: 'applied', digest, number, applied, ...gone };
  }

  /** Fills in, applies, and writes for the mesh what came of it. */
  async #apply(declaration: Declaration): Promise<Applied> {
    const prepared = await this.#with.client.prepare(declaration);
    const applied = await applyDeclaration(declaration, {
      ...this.#with,
      filling: (resource) => prepared.filling(resource),
    });
    await prepared.settle(new Map(applied.failures.map(({ resource, error }) => [resource, error])));
    return prepared.postponed.length === 0 ? applied : { ...applied, postponed: prepared.postponed };
  }

  /** Accepts or refuses what came; answers a pass that failed when it cannot even be kept. */
  async #judge(came: unknown, capabilities: readonly Capability[]): Promise<Pass | undefined> {
    const accepted = this.#accepted;
    if (accepted !== undefined && JSON.stringify(came) === JSON.stringify(accepted.envelope)) {
      this.#refused = undefined;
      return undefined;
    }
    const judged = verifyDeclaration(came, {
      node: this.#node.name,
      verifyKey: this.#node.verifyKey,
      sealingKey: this.#with.sealingKey,
      capabilities,
      accepted: accepted?.envelope,
    });
    if (judged.kind === 'refused') {
      this.#refused = judged;
      this.#say.error({ ...judged.refusal, digest: judged.digest, number: judged.number }, 'a declaration is refused');
      return undefined;
    }
    const { envelope, declaration } = judged;
    try {
      await writeAccepted(this.#stateDir, envelope);
    } catch (error) {
      const failures = [{ resource: 'the host itself', error: `the declaration cannot be kept: ${errorChain(error)}` }];
      const applied = {
        declared: declaration.resources.length,
        applied: 0,
        failures,
        drift: [],
        kept: [],
        postponed: [],
      };
      return { kind: 'applied', digest: envelope.digest, number: envelope.number, applied };
    }
    this.#accepted = { envelope, declaration };
    this.#refused = undefined;
    this.#say.info({ digest: envelope.digest, number: envelope.number }, 'accepted a declaration');
    return undefined;
  }
}

/** Says what a pass put right, kept, and could not do. */
export function sayWhatCame(say: Say, pass: Pass): void {
  if (pass.kind !== 'idle' && pass.gone === true)
    say.error({}, 'the bus holds no declaration for this node, which accepted one: it goes on with that');
  const applied = pass.kind === 'applied' ? pass.applied : pass.kind === 'refused' ? pass.reconciled : undefined;
  for (const sentence of [...(applied?.drift ?? []), ...(applied?.kept ?? [])]) say.warn({}, sentence);
  for (const failure of applied?.failures ?? []) say.error(failure, 'a resource failed');
}
