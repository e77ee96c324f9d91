/**
 * Classifies CSV and TSV cells: the types that a text fits, its natural type, and how a column of a type presents it
 * (docs/spec/decisions.md 2, "A CSV/TSV cell that fits" and "Inference"; decisions 6). The text is never empty: an
 * empty cell is an empty column.
 */
import { JsonScanner, RefusedText, UnfinishedText } from './json-scanner.ts';
import { arrayTypes, isArrayType, itemKind, scalarTraits, scalarTypesWith, typeBit } from './column-type.ts';
import type { ColumnType, TypeSet } from './column-type.ts';
import { fitToken } from './fit-value.ts';
import { skipBlanks, stringEnd } from './json-text.ts';
import { classify } from './json-value.ts';
import type { Classified } from './json-value.ts';
import { storedAs } from './profile.ts';
import type { CellForm } from './rule.ts';
import { isDigit } from './scan-text.ts';
import { isDate } from './scan-time.ts';
import { momentOfText, numberOfText } from './spelled-cells.ts';
import { naturalOfString, stringTypes } from './string-types.ts';

const json = typeBit('json');
const boolean = typeBit('boolean');
const date = typeBit('date');
const dateTime = typeBit('dateTime');
/** Types that depend on the JSON value in a text. */
const typesOfJson = scalarTypesWith(({ json: form }) => form !== 'string') | arrayTypes;

/** A number with more digits before the point counts as a code: of a card, an account or an article. */
const naturalDigitsMax = 15;
/** A plus before more digits counts as the plus of a phone number. */
const signedDigitsMax = 6;
/** A number with fewer characters and no exponent is always finite. */
const surelyFiniteLength = 300;

/**
 * Classifies a cell by its text.
 * @param candidates the types to test ; fewer cost less
 * @param form how the cell is written
 * @returns `natural` is never null. `stored` is number or boolean if the text is exactly such a token and its natural
 * type is that, so that it may be stored as one.
 */
export function classifyCell(text: string, candidates: TypeSet, form: CellForm): Classified {
  const fits = stringTypes(text, candidates & ~json);
  const token = jsonOfCell(text, form);
  if (token === undefined) {
    if (isBoolean(text)) return { fits: fits | (candidates & boolean), natural: 'boolean', stored: storedAs.string };
    const moment = form.dateFormat === null ? undefined : momentOfText(text, form.dateFormat);
    if (moment !== undefined) {
      const isDay = isDate(moment);
      return {
        fits: fits | (candidates & (isDay ? date | dateTime : dateTime)),
        natural: isDay ? 'date' : 'dateTime',
        stored: storedAs.string,
      };
    }
    return { fits, natural: naturalOfString(text), stored: storedAs.string };
  }
  if (token === 'null') return { fits: fits | (candidates & json), natural: 'string', stored: storedAs.string };

  const value = classify(token, candidates & typesOfJson);
  if (value.stored === storedAs.boolean && token !== text) {
    // JSON allows white space around `true`, but the type boolean does not.
    return { fits: fits | (value.fits & json), natural: 'string', stored: storedAs.string };
  }
  const isScalar = value.stored === storedAs.boolean || (value.natural === 'number' && isNaturalNumber(token, text));
  return {
    fits: fits | value.fits,
    natural: isScalar ? value.natural : 'string',
    stored: isScalar && token === text ? value.stored : storedAs.string,
  };
}

/**
 * A cell as a column of this type presents it, as JSON text.
 * @param wrap whether a cell that fits the items of an array type becomes an array of one (docs/spec/decisions.md 6)
 * @param form how the cell is written
 * @returns undefined if it misfits, and for `null` in a `json` column, where it counts as empty
 */
export function fitCell(text: string, type: ColumnType, wrap: boolean, form: CellForm): string | undefined {
  if (isArrayType(type)) {
    const token = jsonOfCell(text, form);
    const array = token?.startsWith('[') ? fitToken(token, type, false) : undefined;
    if (array !== undefined || !wrap) return array;
    const item = fitCell(text, itemKind(type), false, form);
    return item === undefined ? undefined : `[${item}]`;
  }
  switch (scalarTraits[type].json) {
    case 'string':
      return stringTypes(text, typeBit(type)) === 0 ? momentAs(type, text, form) : JSON.stringify(text);
    case 'boolean':
      return isBoolean(text) ? text.toLowerCase() : undefined;
    case 'number':
    case 'any': {
      const token = jsonOfCell(text, form);
      return token === undefined || token === 'null' ? undefined : fitToken(token, type, false);
    }
  }
}

/** A text in the date format of the file, as a column of this type presents it; undefined if it misfits. */
function momentAs(type: ColumnType, text: string, { dateFormat }: CellForm): string | undefined {
  if (dateFormat === null || (type !== 'date' && type !== 'dateTime')) return undefined;
  const moment = momentOfText(text, dateFormat);
  return moment === undefined || (type === 'date' && !isDate(moment)) ? undefined : `"${moment}"`;
}

function isBoolean(text: string): boolean {
  if (text.length !== 4 && text.length !== 5) return false;
  const lower = text.toLowerCase();
  return lower === 'true' || lower === 'false';
}

/** Whether a number token has few enough digits before its point or exponent, and its text is no phone number. */
function isNaturalNumber(token: string, text: string): boolean {
  if (token.length > signedDigitsMax && text.trimStart().startsWith('+') && digitsEnd(token, 0) > signedDigitsMax)
    return false;
  if (token.length <= naturalDigitsMax) return true;
  const start = token.charCodeAt(0) === 45 ? 1 : 0;
  return digitsEnd(token, start) - start <= naturalDigitsMax;
}

/**
 * The JSON value in a text: without surrounding white space, on one line, with numbers as in JSON. Undefined if the
 * text is no JSON that a row may hold. Does not check that integers are exact.
 */
function jsonOfCell(text: string, { numbers }: CellForm): string | undefined {
  const start = skipBlanks(text, 0);
  const first = text.charCodeAt(start);
  let end: number;
  if (first === 45 || isDigit(first)) {
    end = numberEnd(text, start);
    if (
      numbers !== 'json' &&
      (numbers === 'plain' ? end === -1 : end !== text.length || (numbers === ',' && text.includes('.')))
    ) {
      return numberOfText(withoutBlanks(text), numbers);
    }
  } else if (first === 43 || first === 46 || (first === 44 && numbers === ','))
    return numbers === 'json' ? undefined : numberOfText(withoutBlanks(text), numbers);
  else if (first === 34 || first === 91 || first === 123) return nestedJson(text);
  else if (first === 116) end = wordEnd(text, start, 'true');
  else if (first === 102) end = wordEnd(text, start, 'false');
  else if (first === 110) end = wordEnd(text, start, 'null');
  else return undefined;
  if (end === -1 || skipBlanks(text, end) !== text.length) return undefined;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

/** The text without the white space of JSON around it. */
function withoutBlanks(text: string): string {
  let end = text.length;
  while (isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(skipBlanks(text, 0), end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 10 || code === 13;
}

function wordEnd(text: string, start: number, word: string): number {
  return text.startsWith(word, start) ? start + word.length : -1;
}

function digitsEnd(text: string, start: number): number {
  let at = start;
  while (isDigit(text.charCodeAt(at))) at += 1;
  return at;
}

/** The index after the finite JSON number that begins at `start`; -1 if there is none. */
function numberEnd(text: string, start: number): number {
  let at = text.charCodeAt(start) === 45 ? start + 1 : start;
  const integer = at;
  at = text.charCodeAt(at) === 48 ? at + 1 : digitsEnd(text, at);
  if (at === integer) return -1;
  if (text.charCodeAt(at) === 46) {
    const fraction = at + 1;
    at = digitsEnd(text, fraction);
    if (at === fraction) return -1;
  }
  const hasExponent = (text.charCodeAt(at) | 32) === 101;
  if (hasExponent) {
    at += 1;
    const sign = text.charCodeAt(at);
    const exponent = sign === 43 || sign === 45 ? at + 1 : at;
    at = digitsEnd(text, exponent);
    if (at === exponent) return -1;
  }
  const isSurelyFinite = !hasExponent && at - start < surelyFiniteLength;
  return isSurelyFinite || Number.isFinite(Number(text.slice(start, at))) ? at : -1;
}

/** `jsonOfCell` for a text that begins as a string, an array or an object. */
function nestedJson(text: string): string | undefined {
  const scanner = new JsonScanner();
  // The scanner needs a zero after the text.
  scanner.bytes = Buffer.from(`${text}\0`);
  scanner.end = scanner.bytes.length - 1;
  try {
    const start = scanner.space(0);
    const end = scanner.value(start);
    if (scanner.space(end) !== scanner.end) return undefined;
    return inOneLine(scanner.text(start, end));
  } catch (error) {
    if (error instanceof RefusedText || error instanceof UnfinishedText) return undefined;
    throw error;
  }
}

/** Removes line breaks and tabs from valid JSON text: row bodies are joined by line feeds. */
function inOneLine(token: string): string {
  if (!/[\n\r\t]/.test(token)) return token;
  let line = '';
  for (let at = skipBlanks(token, 0); at < token.length; at = skipBlanks(token, at)) {
    const end = token.charCodeAt(at) === 34 ? stringEnd(token, at) : at + 1;
    line += token.slice(at, end);
    at = end;
  }
  return line;
}
