/**
 * A provider's node with the real granter on a real PostgreSQL, and a consumers' node, both played: between them and the
 * acts stands only what really does the granting and the seeing.
 */
import { watch } from 'node:fs';
import path from 'node:path';
import { grantsIn, secretsIn, type PlayedNode } from '../acts/played-node.ts';
import { open } from '../../src/sealing/box.ts';
import type { GrantDirectory } from './granting.ts';

/** Runs looks one after the other; a look that is asked for meanwhile follows. */
function inTurn(look: () => Promise<void>): { readonly ask: () => void; readonly done: () => Promise<void> } {
  let running = Promise.resolve();
  return {
    ask: () => void (running = running.then(look)),
    done: () => running,
  };
}

const revealed = (sealed: string, { key }: PlayedNode): string =>
  open(sealed, key).reveal((bytes) => Buffer.from(bytes).toString());

/** Applies what the provider's node is told to the granter's directory, and reports what its status says. */
export function grantAsTold(node: PlayedNode, grants: GrantDirectory): { stop(): Promise<void> } {
  let applied = '';
  const turns = inTurn(async () => {
    const told = await node.told();
    if (told === undefined) return node.report();
    const [provider] = grantsIn(told.declaration);
    if (provider !== undefined && told.digest !== applied) {
      const sealed = new Map(secretsIn(told.declaration).map((one) => [path.basename(one.path), one.sealed]));
      await grants.write(
        provider.grants.map((grant) => ({ grant, password: revealed(sealed.get(grant.file) ?? '', node) })),
        provider.drainMs,
      );
      applied = told.digest;
    }
    const status = await grants.status();
    await node.report({
      granters: provider === undefined || status === undefined ? [] : [{ module: provider.module.module, status }],
    });
  });
  const forget = node.onChanged(turns.ask);
  const watcher = watch(path.dirname(grants.statusFile), turns.ask);
  turns.ask();
  return {
    async stop() {
      forget();
      watcher.close();
      await turns.done();
    },
  };
}

export type Held = { readonly login: string; readonly password: string; readonly database: string };

/** Holds what the consumers' node is told, by module, and reports it applied. */
export function holdAsTold(node: PlayedNode): { of(module: string): Held; stop(): Promise<void> } {
  const held = new Map<string, Held>();
  const turns = inTurn(async () => {
    const told = await node.told();
    for (const { module, sealed, facts } of told === undefined ? [] : secretsIn(told.declaration)) {
      if (facts === undefined) continue;
      held.set(module, { login: facts.login, database: facts.database, password: revealed(sealed, node) });
    }
    await node.report();
  });
  const forget = node.onChanged(turns.ask);
  turns.ask();
  return {
    of(module) {
      const found = held.get(module);
      if (found === undefined) throw new Error(`${module} holds nothing`);
      return found;
    },
    async stop() {
      forget();
      await turns.done();
    },
  };
}
