/**
 * Which values fit a type is a rule with a number. Cells are judged again whenever stored rows are read, so a new rule must not touch what an
 * earlier one dropped: profiles say by which rule their rows came (`Profile.rule`).
 *
 * * 1: `dateTime` takes the extended form only, with a `T` between day and time.
 * * 2: it also takes a blank there, and the basic form.
 */
import { isArrayType, itemKind } from './column-type.ts';
import type { ColumnType } from './column-type.ts';
import { decodeString, elementsOf } from './json-text.ts';
import { isExtendedDateTime } from './scan-time.ts';

export type Rule = 1 | 2;

/** The rule by which rows are judged that come now. */
export const currentRule: Rule = 2;

/**
 * Whether a value that fits a type by the current rule did so by this one, too.
 * @param token the value as the type presents it
 */
export function fitsBy(rule: Rule, token: string, type: ColumnType): boolean {
  if (rule === currentRule) return true;
  if (!isArrayType(type)) return type !== 'dateTime' || isExtendedDateTime(decodeString(token));
  return itemKind(type) !== 'dateTime' || elementsOf(token).every((element) => isExtendedDateTime(decodeString(element)));
}
