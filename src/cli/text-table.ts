/** Aligned columns of text, as terminals show them. */
import stringWidth from 'string-width';

interface TextTableOptions {
  /** Whether the cells of a column are aligned to the right. */
  readonly isRight?: (column: number) => boolean;
  /**
   * The maximum width of a line. Long cells are cut; columns that still do not fit are left out, and a note counts
   * them.
   */
  readonly width?: number;
}

const gap = '  ';
/** Columns are not cut below this width to make room for others. */
const columnWidthMin = 10;

/** Formats a heading and a line for each row. Each line must have as many cells as the heading. */
export function textTable(
  heading: readonly string[],
  lines: readonly (readonly string[])[],
  { isRight = () => false, width = Infinity }: TextTableOptions = {},
): string {
  const all = [heading, ...lines].map((line) => line.map(visible));
  const natural = heading.map((_, column) =>
    all.reduce((widest, line) => Math.max(widest, stringWidth(line[column]!)), 0),
  );
  const { widths, note } = fit(natural, width);
  const text = all.map((line, at) => {
    const cells = widths.map((room, column) => align(cut(line[column]!, room), room, isRight(column)));
    return [...cells, ...(at === 0 && note !== '' ? [note] : [])].join(gap).trimEnd();
  });
  return `${text.join('\n')}\n`;
}

/** The text; if it is wider than `width`, its beginning and an ellipsis. */
export function cut(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let used = 0;
  let kept = 0;
  for (const { segment, index } of graphemes.segment(text)) {
    if (used >= width) break;
    kept = index;
    used += stringWidth(segment);
  }
  return `${text.slice(0, kept)}…`;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Shows characters that would move the cursor, change colours or the direction of text as escapes. */
function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    return escapes[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The widths of the columns that fit, and a note that counts the others. The widest columns are cut first. */
function fit(natural: readonly number[], width: number): { readonly widths: readonly number[]; readonly note: string } {
  const capped = (count: number, cap: number): number[] => natural.slice(0, count).map((one) => Math.min(one, cap));
  const noteOf = (count: number): string => (count === natural.length ? '' : `… ${natural.length - count} more`);
  const fits = (count: number, cap: number): boolean => {
    const note = noteOf(count);
    const cells = [...capped(count, cap), ...(note === '' ? [] : [note.length])];
    return cells.reduce((sum, one) => sum + one, gap.length * (cells.length - 1)) <= width;
  };
  let count = natural.length;
  while (count > 1 && !fits(count, columnWidthMin)) count -= 1;
  let cap = fits(count, Infinity) ? Infinity : width;
  while (cap > 1 && !fits(count, cap)) cap -= 1;
  return { widths: capped(count, cap), note: noteOf(count) };
}

function align(text: string, width: number, isRight: boolean): string {
  const blanks = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return isRight ? blanks + text : text + blanks;
}
