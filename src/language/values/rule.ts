/**
 * A rule determines which values fit a type. Rules have numbers. Cells are judged again whenever stored rows are read,
 * so a new rule must not change what an earlier one dropped. Profiles record the rule of their rows (`Profile.rule`).
 *
 * * 1: `dateTime` takes only the extended form, with a `T` between day and time.
 * * 2: it also takes a blank there, and the basic form.
 * * 3: an integer that a double cannot hold is its text: in a column of texts, and within `json`. (Before, it fitted no
 * type.) And a `number` takes cells such as `.5`, `5.` and `+3`.
 *
 * The number of the rule is in the lowest four bits. The bits above record how the person stated the form of cells
 * (docs/decisions/0070): two bits for the decimal separator, and two for the order of dates.
 */
import { dateFormats, type DateFormat } from './date-format.ts';
import { isArrayType, itemKind } from './column-type.ts';
import type { ColumnType } from './column-type.ts';
import { decodeString, elementsOf, hasOnlyExactNumbers } from './json-text.ts';
import { isExtendedDateTime } from './scan-time.ts';

export type Rule = number;

/** The rule for rows that come now, if the request states no form of cells. */
export const currentRule: Rule = 3;

/**
 * The language of events (src/language/events/language.ts) that a rule needs. Processes that read only an earlier
 * language would read the rows differently without noticing. The first language has the rules 1 and 2.
 */
export function languageOfRule(rule: Rule): number {
  return rule <= 2 ? 1 : 2;
}

const generations = 0xf;
const decimals = [null, '.', ','] as const;
const decimalUnit = generations + 1;
const dateFormatUnit = 4 * decimalUnit;
const rulesEnd = 4 * dateFormatUnit;

/** How cells are written. */
export interface CellForm {
  /**
   * How numbers are written. `json`: as in JSON. `plain`: also `.5`, `5.` and `+3`. A decimal separator: with that
   * separator, and possibly with separators of thousands.
   */
  readonly numbers: 'json' | 'plain' | '.' | ',';
  /** How dates are written, besides ISO 8601. */
  readonly dateFormat: DateFormat | null;
}

/** Whether this version knows the rule. If not, it must not read the rows. */
export function isKnownRule(rule: Rule): boolean {
  const generation = generationOf(rule);
  return generation >= 1 && generation <= currentRule && rule < rulesEnd && (rule >>> 4) % 4 < decimals.length;
}

/** The rule for cells that come now. */
export function ruleOfCells({
  decimal,
  dateFormat,
}: {
  readonly decimal?: '.' | ',';
  readonly dateFormat?: DateFormat;
}): Rule {
  const decimalBits = decimals.indexOf(decimal ?? null);
  const dateBits = dateFormat === undefined ? 0 : dateFormats.indexOf(dateFormat) + 1;
  return currentRule + decimalUnit * decimalBits + dateFormatUnit * dateBits;
}

/** How cells of this rule are written. */
export function cellFormOf(rule: Rule): CellForm {
  const known = cellForms.get(rule);
  if (known !== undefined) return known;
  const decimal = decimals[(rule >>> 4) & 3] ?? null;
  const form: CellForm = {
    numbers: decimal ?? (generationOf(rule) < 3 ? 'json' : 'plain'),
    dateFormat: dateFormats[((rule >>> 6) & 3) - 1] ?? null,
  };
  cellForms.set(rule, form);
  return form;
}

/** Rules are numbers of one byte, so there are at most 256 entries. */
const cellForms = new Map<Rule, CellForm>();

/** How cells are written if the request states no form. */
export const plainCells: CellForm = cellFormOf(currentRule);

/**
 * The rule for several parts. If their cells are written differently, only the rules of the parts tell how to read
 * them.
 */
export function joinedRule(a: Rule, b: Rule): Rule {
  return Math.min(generationOf(a), generationOf(b)) | Math.max(a & ~generations, b & ~generations);
}

function generationOf(rule: Rule): number {
  return rule & generations;
}

/** A received value: a JSON value as JSON text, or the text of a CSV or TSV cell. */
interface ReceivedValue {
  readonly text: string;
  readonly isCell: boolean;
}

/**
 * Whether a value that fits a type by the current rule also fitted by this one. The form of its cell is judged before.
 * @param token the value as the type presents it
 */
export function fitsBy(rule: Rule, received: ReceivedValue, token: string, type: ColumnType): boolean {
  const generation = generationOf(rule);
  return generation >= 3 || (fitsByRule2(received, token, type) && (generation >= 2 || fitsByRule1(token, type)));
}

function fitsByRule2({ text, isCell }: ReceivedValue, token: string, type: ColumnType): boolean {
  const isCellOfText = isCell && (isArrayType(type) ? itemKind(type) : type) !== 'json' && isTextIn(token, text);
  return isCellOfText || hasOnlyExactNumbers(text);
}

/** Whether a cell's text became a string, or an array with that string. */
function isTextIn(token: string, text: string): boolean {
  const string = JSON.stringify(text);
  return token === string || token === `[${string}]`;
}

function fitsByRule1(token: string, type: ColumnType): boolean {
  if (!isArrayType(type)) return type !== 'dateTime' || isExtendedDateTime(decodeString(token));
  return (
    itemKind(type) !== 'dateTime' || elementsOf(token).every((element) => isExtendedDateTime(decodeString(element)))
  );
}
