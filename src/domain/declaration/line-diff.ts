/** What changed between two texts, line by line, as a person reads it: the lines that went, the lines that came, some around them. */

/** `same` lines stand around the others; a gap between two hunks is left out. */
export type DiffLine = { readonly is: 'same' | 'gone' | 'new'; readonly text: string };
export type Hunk = {
  /** The first line of the hunk in each text, from 1; in an empty text 1. */
  readonly before: number;
  readonly after: number;
  readonly lines: readonly DiffLine[];
};

const around = 3;
/** Above this many comparisons the middle is shown as replaced whole: right, if not the shortest. */
const comparisons = 4_000_000;

/** The hunks that turn `before` into `after`; none when they are the same. A text that ends without a line end has a last line too. */
export function diffLines(before: string, after: string): readonly Hunk[] {
  return hunksOf(edits(linesOf(before), linesOf(after)));
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.split('\n');
}

function edits(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return [
    ...lines('same', before.slice(0, head)),
    ...middle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...lines('same', before.slice(before.length - tail)),
  ];
}

const lines = (is: DiffLine['is'], texts: readonly string[]): readonly DiffLine[] =>
  texts.map((text) => ({ is, text }));

/** The longest common subsequence, by a table of what is left from each pair of places on. */
function middle(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  if (before.length * after.length > comparisons) return [...lines('gone', before), ...lines('new', after)];
  const width = after.length + 1;
  const common = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1)
    for (let j = after.length - 1; j >= 0; j -= 1)
      common[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const found: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [gone, came] = [before[i], after[j]];
    if (gone !== undefined && gone === came) {
      found.push({ is: 'same', text: gone });
      [i, j] = [i + 1, j + 1];
    } else if (gone !== undefined && (came === undefined || at(i + 1, j) >= at(i, j + 1))) {
      found.push({ is: 'gone', text: gone });
      i += 1;
    } else {
      found.push({ is: 'new', text: came ?? '' });
      j += 1;
    }
  }
  return found;
}

function hunksOf(all: readonly DiffLine[]): readonly Hunk[] {
  const shown = new Set<number>();
  for (const [index, line] of all.entries())
    if (line.is !== 'same')
      for (let near = index - around; near <= index + around; near += 1) if (near in all) shown.add(near);
  const hunks: { before: number; after: number; lines: DiffLine[] }[] = [];
  let [before, after] = [1, 1];
  for (const [index, line] of all.entries()) {
    if (shown.has(index)) {
      if (!shown.has(index - 1)) hunks.push({ before, after, lines: [] });
      hunks.at(-1)?.lines.push(line);
    }
    if (line.is !== 'new') before += 1;
    if (line.is !== 'gone') after += 1;
  }
  return hunks;
}
