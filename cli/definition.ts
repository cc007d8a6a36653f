/**
 * A command as data. Parsing, help and the manual are made from these; nothing else says what a command takes (U5).
 * A file with a definition imports light code alone: what is heavy is imported inside `run` (U7).
 */
import type { Refusal } from '../src/domain/refusal/refusal.ts';
import type { Answer } from './answer.ts';
import type { Context } from './context.ts';
import type { Given } from './given.ts';

export type ArgumentDefinition = {
  /** As help shows it, in upper case; `given` asks for it by this name. */
  readonly name: string;
  readonly says: string;
  readonly optional?: true;
  /** Takes all that is left; only the last one may. */
  readonly many?: true;
};

/** text: as written. duration: `90s`, `10m`; given in ms. count: a whole number from 0 on. */
export type ValueKind = 'text' | 'duration' | 'count';

export type OptionDefinition = {
  /** Without the dashes; `given` asks for it by this name. */
  readonly name: string;
  readonly short?: string;
  /** The placeholder of its value; without one it is a flag. */
  readonly value?: string;
  readonly kind?: ValueKind;
  readonly says: string;
  /** As a person would write it. */
  readonly byDefault?: string;
  /** May be given several times. */
  readonly many?: true;
};

export type Group = 'the mesh' | 'nodes' | 'modules' | 'intent' | 'what is so' | 'secrets' | 'processes';

export type CommandDefinition = {
  /** Noun and verb: `node invite`; one word for the short forms. */
  readonly name: string;
  readonly group: Group;
  /** One line, without a full stop. */
  readonly summary: string;
  /** Asked for by programs alone: neither help nor the manual names it. */
  readonly hidden?: true;
  /** What one line cannot say: what it changes, what it waits for. */
  readonly details?: string;
  readonly arguments?: readonly ArgumentDefinition[];
  readonly options?: readonly OptionDefinition[];
  /** Whole command lines. */
  readonly examples: readonly string[];
  /** Undefined: it has printed what it had to say as it went. Throws `Stopped` for what is no refusal of the rules. */
  run(given: Given, context: Context): Promise<Answer | Refusal | undefined>;
};

/** Options that every command takes. */
export const globalOptions: readonly OptionDefinition[] = [
  {
    name: 'state',
    value: 'DIR',
    says: "where this machine keeps its part of the mesh; else $MESH_STATE, then the user's state folder",
  },
  { name: 'output', short: 'o', value: 'FORMAT', says: 'text or json', byDefault: 'text' },
  { name: 'json', says: 'the same as -o json' },
  { name: 'no-color', says: 'no colours' },
  { name: 'help', short: 'h', says: 'say how the command is used' },
];
