/**
 * Random tables, and a writer of CSV in every dialect that a person can name. It shares nothing with the code that
 * reads them.
 */
import type { DelimitedForm } from '../../../../src/language/formats/delimited-form.ts';
import { fc } from '../../../support/property.ts';

/** How a table is written. */
export interface Writing {
  readonly delimiter: string;
  /** Null: no character is special, so no cell may hold a delimiter or a line end. */
  readonly quote: string | null;
  /** Stands before quotes, and before itself, in quoted cells. Null: quotes are doubled. */
  readonly escape: string | null;
  /** Whether a quote inside a cell is written as it is, if the cell needs no quotes otherwise. */
  readonly lenient: boolean;
  readonly newline: '\n' | '\r\n' | '\r';
  /** Whether each cell is quoted, or only those that must be. */
  readonly quotesAll: boolean;
  /** The blanks before and behind each quoted cell. */
  readonly blanks: string;
  readonly hasHeader: boolean;
  readonly byteOrderMark: boolean;
  readonly endsWithNewline: boolean;
  /** What stands before the header, and is not part of the table. */
  readonly skipped: readonly string[];
  /**
   * The mark of lines that are no records, and the texts of such lines: one stands before each record while there are
   * any.
   */
  readonly comment: string | null;
  readonly comments: readonly string[];
}

export interface Table {
  readonly header: readonly string[];
  /** Each as long as the header. */
  readonly rows: readonly (readonly string[])[];
}

/** What a person says of a file that is written so, and sent as CSV with commas. */
export function formOf({ delimiter, quote, escape, lenient, hasHeader, skipped, comment }: Writing): DelimitedForm {
  return {
    ...(delimiter === ',' ? {} : { delimiter }),
    ...(quote === '"' ? {} : { quote: quote ?? 'none' }),
    ...(escape === null ? {} : { escape }),
    ...(lenient ? { lenient } : {}),
    ...(hasHeader ? {} : { header: 'absent' }),
    ...(skipped.length === 0 ? {} : { skipLines: skipped.length }),
    ...(comment === null ? {} : { comment }),
  };
}

export function write({ header, rows }: Table, writing: Writing): string {
  const { newline, comment, byteOrderMark, skipped, hasHeader, endsWithNewline } = writing;
  const comments = [...writing.comments];
  const lines = (hasHeader ? [header, ...rows] : rows).flatMap((record) => {
    const before = comment === null ? undefined : comments.shift();
    return [...(before === undefined ? [] : [`${comment}${before}`]), writeRecord(record, writing)];
  });
  return `${byteOrderMark ? '\ufeff' : ''}${[...skipped, ...lines].join(newline)}${endsWithNewline ? newline : ''}`;
}

function writeRecord(record: readonly string[], writing: Writing): string {
  return record.map((cell, at) => writeCell(cell, at === 0, record.length === 1, writing)).join(writing.delimiter);
}

function writeCell(cell: string, isFirst: boolean, isAlone: boolean, writing: Writing): string {
  const { quote, escape, blanks } = writing;
  if (quote === null || !(writing.quotesAll || needsQuotes(cell, isFirst, isAlone, writing, quote))) return cell;
  const inside =
    escape === null
      ? cell.replaceAll(quote, () => quote + quote)
      : [...cell]
          .map((character) => (character === quote || character === escape ? escape + character : character))
          .join('');
  return blanks + quote + inside + quote + blanks;
}

function needsQuotes(
  cell: string,
  isFirst: boolean,
  isAlone: boolean,
  { delimiter, lenient, comment }: Writing,
  quote: string,
): boolean {
  const special = ['\n', '\r', '\u001a', delimiter].some((character) => cell.includes(character));
  const hasQuote = lenient ? cell.replace(/^[ \t]+/, '').startsWith(quote) : cell.includes(quote);
  return (
    special ||
    hasQuote ||
    (isAlone && cell === '') ||
    (isFirst && cell.startsWith('\ufeff')) ||
    (isFirst && comment !== null && cell.startsWith(comment))
  );
}

const delimiters = [',', ';', '\t', '|', ':', '^', '~', ' ', '·', '→', '😀'];
const quotes = ['"', '"', "'", '`', '«', null];
const escapes = [null, null, '\\', '$', '¬'];
const commentMarks = [null, null, '#', '%', '№'];

/** All of these are different characters; those that are null do not count. */
const marks = fc
  .record({
    delimiter: fc.constantFrom(...delimiters),
    quote: fc.constantFrom(...quotes),
    escape: fc.constantFrom(...escapes),
    comment: fc.constantFrom(...commentMarks),
  })
  .map((given) => (given.quote === null ? { ...given, escape: null } : given));

const lineText = fc.string({ unit: fc.constantFrom('a', '"', "'", ',', ';', '\\', '#', ' ', 'é', '='), maxLength: 12 });

const writings: fc.Arbitrary<Writing> = marks.chain((given) =>
  fc.record({
    delimiter: fc.constant(given.delimiter),
    quote: fc.constant(given.quote),
    escape: fc.constant(given.escape),
    comment: fc.constant(given.comment),
    lenient: fc.boolean(),
    newline: fc.constantFrom('\n', '\n', '\r\n', '\r'),
    quotesAll: fc.boolean(),
    blanks: given.delimiter === ' ' ? fc.constant('') : fc.constantFrom('', '', ' ', '   '),
    hasHeader: fc.boolean(),
    byteOrderMark: fc.boolean(),
    endsWithNewline: fc.boolean(),
    skipped: fc.oneof(fc.constant([]), fc.array(lineText, { maxLength: 4 })),
    comments: fc.array(lineText, { maxLength: 4 }),
  }),
);

/** Texts in which the marks are frequent, and whatever may be taken for one. */
function cellsFor({
  delimiter,
  quote,
  escape,
  comment,
}: Pick<Writing, 'delimiter' | 'quote' | 'escape' | 'comment'>): fc.Arbitrary<string> {
  const pieces = [delimiter, quote, escape, comment].filter((mark) => mark !== null);
  const unit = fc.constantFrom(
    ...pieces,
    ...pieces,
    'a',
    'b',
    '1',
    '-',
    ' ',
    ' ',
    '\t',
    '\n',
    '\r',
    '\r\n',
    '"',
    "'",
    '\\',
    ',',
    ';',
    '#',
    'é',
    'e\u0301',
    '😀',
    '\u001a',
    '\ufeff',
    '\u2028',
    '\u0001',
  );
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant('') },
    { weight: 5, arbitrary: fc.string({ unit, minLength: 1, maxLength: 8 }) },
  );
}

/** Without quotes a cell can hold no delimiter and no line end, and cannot look like a comment. */
function withoutSpecials(cell: string, { delimiter, comment }: Writing): string {
  const plain = [delimiter, '\n', '\r', '\u001a', '\ufeff'].reduce(
    (text, character) => text.replaceAll(character, ''),
    cell,
  );
  return comment === null ? plain : plain.replaceAll(comment, '');
}

function tablesFor(writing: Writing): fc.Arbitrary<Table> {
  const cell =
    writing.quote === null ? cellsFor(writing).map((text) => withoutSpecials(text, writing)) : cellsFor(writing);
  const names = fc.uniqueArray(
    cell.map((text) => `n${text}`),
    { minLength: 1, maxLength: 5, selector: (name) => name.normalize('NFC') },
  );
  return names.chain((header) => {
    const row = fc.array(cell, { minLength: header.length, maxLength: header.length });
    // Without quotes nothing tells a row of one empty cell from a blank line. Such a file without a header must have a
    // row that says how many columns there are.
    const isWritable = (cells: readonly string[]): boolean =>
      writing.quote !== null || cells.length > 1 || cells[0] !== '';
    return fc.record({
      header: fc.constant(header),
      rows: fc.array(row.filter(isWritable), { minLength: writing.hasHeader ? 0 : 1, maxLength: 8 }),
    });
  });
}

export const writtenTables: fc.Arbitrary<{ readonly table: Table; readonly writing: Writing }> = writings.chain(
  (writing) => fc.record({ table: tablesFor(writing), writing: fc.constant(writing) }),
);

/** The rows by column, without empty cells: as they are read. Names are in NFC. */
export function cellsByColumn(
  { header, rows }: Table,
  { hasHeader }: Pick<Writing, 'hasHeader'>,
): Record<string, string>[] {
  const ids = hasHeader ? header.map((name) => name.normalize('NFC')) : header.map((_, at) => `column_${at + 1}`);
  return rows.map((row) => Object.fromEntries(row.flatMap((cell, at) => (cell === '' ? [] : [[ids[at]!, cell]]))));
}
