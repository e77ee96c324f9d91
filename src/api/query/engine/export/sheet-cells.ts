/**
 * Cells of a sheet in SpreadsheetML (ECMA-376, part 1, 18.3.1). A text stays a text even if it begins like a formula.
 */
import type { ColumnType } from '../../../../language/values/column-type.ts';
import { decodeString } from '../../../../language/values/json-text.ts';
import { daysOf, microsecondsOfDay, microsecondsSince1970 } from '../../../../language/values/moments.ts';

/** A column of a file. */
export interface SheetColumn {
  readonly id: string;
  readonly type: ColumnType;
}

/** The maximum length of a cell in UTF-16 code units, and of a sheet in rows, including the header. */
export const cellTextMax = 32_767;
export const sheetRowsMax = 1_048_576;

/** The formats of cells, by their numbers. The first is the default. */
const formats = {
  general: null,
  date: 'yyyy-mm-dd',
  dateTime: 'yyyy-mm-dd hh:mm:ss',
  exactDateTime: 'yyyy-mm-dd hh:mm:ss.000',
  time: 'hh:mm:ss',
  exactTime: 'hh:mm:ss.000',
} as const;
type Format = keyof typeof formats;
const formatNames = Object.keys(formats) as Format[];

/** The first number for a custom format. Lower numbers are built into Excel. */
const firstFormat = 164;

const numberFormats = formatNames
  .slice(1)
  .map((name, at) => `<numFmt numFmtId="${firstFormat + at}" formatCode="${formats[name]}"/>`);

const cellFormats = formatNames.map((_, at) => {
  const number = at === 0 ? 'numFmtId="0"' : `numFmtId="${firstFormat + at - 1}" applyNumberFormat="1"`;
  return `<xf ${number} fontId="0" fillId="0" borderId="0" xfId="0"/>`;
});

/** The part of a workbook with the formats of cells. Excel refuses it without fonts, fills and borders. */
export const styles = [
  '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n',
  '<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">',
  `<numFmts count="${numberFormats.length}">${numberFormats.join('')}</numFmts>`,
  '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>',
  '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>',
  '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>',
  '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>',
  `<cellXfs count="${cellFormats.length}">${cellFormats.join('')}</cellXfs>`,
  '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
].join('');

/** The XML of a cell. `place` is like `B7`; `token` is the value as JSON. */
export function cellXml(place: string, type: ColumnType, token: string): string {
  switch (type) {
    case 'number':
      return isExact(token) ? `<c r="${place}"><v>${Number(token) + 0}</v></c>` : textCell(place, token);
    case 'boolean':
      return `<c r="${place}" t="b"><v>${token === 'true' ? 1 : 0}</v></c>`;
    case 'date':
    case 'dateTime':
    case 'time': {
      const text = decodeString(token);
      const moment = momentOf(type, text);
      return moment === null
        ? textCell(place, text)
        : `<c r="${place}" s="${formatNames.indexOf(moment.format)}"><v>${moment.serial}</v></c>`;
    }
    default:
      return textCell(place, sheetText(type, token));
  }
}

/** The text of a cell that is shown as a text. */
export function sheetText(type: ColumnType, token: string): string {
  return token.startsWith('"') && type !== 'json' ? decodeString(token) : token;
}

/**
 * The XML of a text within the cell. Shared strings are not possible, because the file is sent before all of its texts
 * are known.
 */
export function textCell(place: string, text: string): string {
  return `<c r="${place}" t="inlineStr"><is><t xml:space="preserve">${escapeText(text)}</t></is></c>`;
}

/** The letters of a column; the first column is 0. */
export function lettersOf(column: number): string {
  return (column < 26 ? '' : lettersOf(Math.floor(column / 26) - 1)) + String.fromCharCode(65 + (column % 26));
}

const markup: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

const escaped =
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  /[&<>]|[\0-\x08\v\f\r\x0e-\x1f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|_(?=x[0-9A-Fa-f]{4}_)/g;

/**
 * Escapes markup. Characters that XML cannot contain, and texts that look like an escape, become `_x0000_` (ECMA-376,
 * part 1, 22.9.2.19). So does a carriage return, which would be read as a line feed.
 */
function escapeText(text: string): string {
  return text.replace(escaped, (found) => markup[found] ?? hexOf(found));
}

function hexOf(unit: string): string {
  return `_x${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;
}

/**
 * The largest and the smallest number of Excel
 * (https://support.microsoft.com/office/1672b34d-7043-467e-8e27-269d656771c3).
 */
const numberMax = 9.99999999999999e307;
const numberMin = 2.2251e-308;

/** Whether a double has all digits of a number, and is in the range of Excel. */
function isExact(token: string): boolean {
  const number = Number(token);
  const size = Math.abs(number);
  if (size > numberMax || (size < numberMin && size > 0)) return false;
  const shortest = String(number);
  return token === shortest || decimalOf(token) === decimalOf(shortest);
}

/** The canonical spelling of a number with all its digits. */
function decimalOf(token: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  return short === '' ? '0' : `${sign}${short}e${Number(exponent) - fraction.length + digits.length - short.length}`;
}

interface Moment {
  readonly format: Format;
  readonly serial: number;
}

/** Days from 1899-12-30, from which Excel counts, to 1970-01-01. */
const daysTo1970 = 25_569;
/** Before this day, Excel counts as if 1900 had a 29th of February. */
const firstOfMarch1900 = -25_508;
const [firstDay, lastDay] = [-25_567, 2_932_896];
const microsecondsOfWholeDay = 86_400_000_000;

/**
 * The serial number of a moment in Excel; null if it is out of range or too exact. A date-time with a zone is converted
 * to UTC. A time of day with a zone gives null, and stays a text.
 */
function momentOf(type: 'date' | 'dateTime' | 'time', text: string): Moment | null {
  if (type === 'date') return momentAt(daysOf(text), 0, 'date', 'date');
  // Excel has milliseconds.
  if (/\.\d{3}\d*[1-9]/.test(text)) return null;
  if (type === 'time') {
    if (!/^[\d:.]+$/.test(text)) return null;
    const microseconds = microsecondsOfDay(text);
    return {
      format: microseconds % 1_000_000 === 0 ? 'time' : 'exactTime',
      serial: microseconds / microsecondsOfWholeDay,
    };
  }
  const microseconds = microsecondsSince1970(text);
  const rest = Number(((microseconds % 86_400_000_000n) + 86_400_000_000n) % 86_400_000_000n);
  return momentAt(Number((microseconds - BigInt(rest)) / 86_400_000_000n), rest, 'dateTime', 'exactDateTime');
}

function momentAt(day: number, microseconds: number, format: Format, exact: Format): Moment | null {
  if (day < firstDay || day > lastDay) return null;
  const serial = day + daysTo1970 - (day < firstOfMarch1900 ? 1 : 0) + microseconds / microsecondsOfWholeDay;
  return { format: microseconds % 1_000_000 === 0 ? format : exact, serial };
}
