/**
 * The names of things (M27). One grammar for nodes, modules, provisions, locals, artifacts and seats, so that
 * no two names share a key, a file or a role: the separators that keys, files and roles are put together with
 * (`.`, `/`, `_`, `=`, `~`) are not in it.
 */
import { z } from 'zod';

const name = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** What is said of a text that is no name (M27). */
export function notAName(what: string, text: string): string {
  return `${JSON.stringify(text)} is not a ${what} name: write 1 to 63 lower-case letters, digits and inner hyphens`;
}

const named = (what: string) => z.string().regex(name, { error: (issue) => notAName(what, String(issue.input)) });

export const nodeName = named('node').brand<'NodeName'>();
export const moduleName = named('module').brand<'ModuleName'>();
export const provisionName = named('provision').brand<'ProvisionName'>();
export const localName = named('local').brand<'LocalName'>();
/** What a module calls one of its ports, own secrets, processes, artifacts or seats. */
export const partName = named('part').brand<'PartName'>();

/** Names with `:` between them (M27): a collection, or who contributes to one. */
export const collectionName = z
  .string()
  .max(255)
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?::[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/, {
    error: (issue) =>
      `${JSON.stringify(issue.input)} is not a collection name: write names with ":" between them, like shell:zsh:normal`,
  });

export type NodeName = z.infer<typeof nodeName>;
export type ModuleName = z.infer<typeof moduleName>;
export type ProvisionName = z.infer<typeof provisionName>;
export type LocalName = z.infer<typeof localName>;
export type PartName = z.infer<typeof partName>;

/** A module on a node: what consumes, and what provides. */
export type Placed = { readonly node: NodeName; readonly module: ModuleName };
