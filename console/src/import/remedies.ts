/** Suggests choices that would keep a column from becoming text. */
import { dateFormats } from '../../../src/language/values/date-format.ts';
import type { TextColumn } from '../../../src/language/formats/text-cells.ts';
import { momentOfText, numberOfText } from '../../../src/language/values/spelled-cells.ts';

export interface Remedy {
  /** `Read 1.234,50 as 1234.50, and NA as empty`. */
  readonly label: string;
  readonly form: TextColumn['help'];
  /** Whether all cells of the column then fit. */
  readonly isWhole: boolean;
}

/** A short text without digits may stand for a missing value. It is suggested only if nothing else is in the way. */
const otherTextMax = 12;

/** Empty if nothing helps. More than one if the cells can be read in several ways. */
export function remediesOf(column: TextColumn): Remedy[] {
  const { help, helped, first, misfits, kind } = column;
  const texts = first.map(({ text }) => text);
  const isWhole = helped === misfits;
  if (help.decimal !== undefined)
    return alternatives(['.', ','] as const, texts, (text, mark) => numberOfText(text.trim(), mark), help.decimal).map(
      ({ value, example }) => remedy({ ...help, decimal: value }, example, isWhole),
    );
  if (help.dateFormat !== undefined)
    return alternatives(dateFormats, texts, momentOfText, help.dateFormat).map(({ value, example }) =>
      remedy({ ...help, dateFormat: value }, example, isWhole),
    );
  if (help.null !== undefined) return [remedy(help, null, isWhole)];
  // All texts that are in the way are known.
  const others = [...new Set(texts)];
  return misfits === first.length && kind !== 'boolean' && others.every(canMeanEmpty)
    ? [remedy({ null: others }, null, true)]
    : [];
}

/** The ways to read all texts that can be read: the suggested way, and others that read just as many. */
function alternatives<T>(
  values: readonly T[],
  texts: readonly string[],
  read: (text: string, value: T) => string | undefined,
  helping: T,
): { readonly value: T; readonly example: { readonly text: string; readonly becomes: string } | null }[] {
  const readable = texts.filter((text) => read(text, helping) !== undefined);
  // Choose a text that shows the way of reading.
  const [shown] = readable.toSorted((a, b) => b.replaceAll(/[\d\s]/g, '').length - a.replaceAll(/[\d\s]/g, '').length);
  if (shown === undefined) return [{ value: helping, example: null }];
  return values
    .filter((value) => readable.every((text) => read(text, value) !== undefined))
    .map((value) => ({ value, example: { text: shown, becomes: read(shown, value)! } }));
}

function remedy(
  form: TextColumn['help'],
  example: { readonly text: string; readonly becomes: string } | null,
  isWhole: boolean,
): Remedy {
  const parts = [
    ...(example === null ? [] : [`${example.text} as ${example.becomes}`]),
    ...(form.null === undefined ? [] : [`${form.null.join(', ')} as empty`]),
    ...(example === null && form.decimal !== undefined
      ? [`numbers with ${form.decimal === ',' ? 'a comma' : 'a point'} before the fraction`]
      : []),
    ...(example === null && form.dateFormat !== undefined ? [`dates as ${form.dateFormat}`] : []),
  ];
  return { label: `Read ${parts.join(', and ')}`, form, isWhole };
}

function canMeanEmpty(text: string): boolean {
  return text.length <= otherTextMax && !/[\d,]/.test(text) && text.trim() === text;
}
