import { canonicalJson } from '../declaration/canonical.ts';
import {
  doubleQuoted,
  fillingAt,
  inPlace,
  marksIn,
  swallowedMisfits,
  textless,
  type Edit,
  type Edits,
  type Misfit,
  type Template,
} from './template.ts';

/** JSON (P13): in quotes a value is text; alone it is a JSON value of its own type. */
export function fillJson(template: Template): Edits {
  const { text } = template;
  const edits: Edit[] = [];
  const misfits: Misfit[] = [];
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '"') {
      const { close, swallowed } = doubleQuoted(template, at, { u: 4 });
      const end = close === -1 ? text.length : close;
      const marks = marksIn(template, at, end);
      misfits.push(...swallowedMisfits(swallowed), ...textless(template, marks));
      edits.push(...inPlace(template, marks, (words) => JSON.stringify(words).slice(1, -1)));
      at = end;
    } else if (text[at] === template.mark) {
      const filling = fillingAt(template, at);
      if (filling.kind === 'typed' && !standsAlone(text, at))
        misfits.push({ at, says: 'stands beside other text without quotes; write both in quotes' });
      edits.push({
        start: at,
        end: at + 1,
        text: filling.kind === 'raw' ? filling.text : canonicalJson(filling.value),
      });
    }
  }
  return { edits, misfits };
}

function standsAlone(text: string, at: number): boolean {
  const isBoundary = (character: string | undefined): boolean =>
    character === undefined || /[\s,:[\]{}]/.test(character);
  return isBoundary(text[at - 1]) && isBoundary(text[at + 1]);
}

/** Whether a text is JSON. Why not would quote the text, which holds values (S5). */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
