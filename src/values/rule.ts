/**
 * Which values fit a type is a rule with a number. Cells are judged again whenever stored rows are read, so a new rule must not touch what an
 * earlier one dropped: profiles say by which rule their rows came (`Profile.rule`).
 *
 * * 1: `dateTime` takes the extended form only, with a `T` between day and time.
 * * 2: it also takes a blank there, and the basic form.
 * * 3: an integer that a double cannot hold is its text: in a column of texts, and within `json`. Before, it fitted no type.
 */
import { isArrayType, itemKind } from './column-type.ts';
import type { ColumnType } from './column-type.ts';
import { decodeString, elementsOf, hasOnlyExactNumbers } from './json-text.ts';
import { isExtendedDateTime } from './scan-time.ts';

export type Rule = 1 | 2 | 3;

/** The rule by which rows are judged that come now. */
export const currentRule: Rule = 3;

/** A value as it came: a JSON value as JSON text, or the text of a CSV or TSV cell. */
export interface ReceivedValue {
  readonly text: string;
  readonly isCell: boolean;
}

/**
 * Whether a value that fits a type by the current rule did so by this one, too.
 * @param token the value as the type presents it
 */
export function fitsBy(rule: Rule, received: ReceivedValue, token: string, type: ColumnType): boolean {
  if (rule === currentRule) return true;
  return fitsByRule2(received, token, type) && (rule >= 2 || fitsByRule1(token, type));
}

function fitsByRule2({ text, isCell }: ReceivedValue, token: string, type: ColumnType): boolean {
  const isCellOfText = isCell && (isArrayType(type) ? itemKind(type) : type) !== 'json' && isTextIn(token, text);
  return isCellOfText || hasOnlyExactNumbers(text);
}

/** Whether a cell's text became a string, or an array of it. */
function isTextIn(token: string, text: string): boolean {
  const string = JSON.stringify(text);
  return token === string || token === `[${string}]`;
}

function fitsByRule1(token: string, type: ColumnType): boolean {
  if (!isArrayType(type)) return type !== 'dateTime' || isExtendedDateTime(decodeString(token));
  return itemKind(type) !== 'dateTime' || elementsOf(token).every((element) => isExtendedDateTime(decodeString(element)));
}
