/**
 * Placeholders: `${kind:name}`, with an optional form after a bar. The shell's own `$NAME`, `${NAME}` and `${name:-default}`
 * are not placeholders and stay as they are.
 */

/** P4. Kinds that are placeholders whatever their name begins with; other words are kinds only before a letter, as in the shell `${x:0:3}` cuts. */
const kinds = 'config|secret|bound|consumers|collected|shell|environment|contribution|dir|access|port|seat|machine';
const placeholder = new RegExp(`\\$\\{(?:(?:${kinds}):[a-z0-9<]|[a-z][a-z0-9-]*:[a-z])[^{}\\s]*\\}`, 'g');

/** The placeholders of a text, as they are written, each once. */
export function placeholdersIn(text: string): readonly string[] {
  return [...new Set(text.match(placeholder))];
}
