/**
 * What a chunk of CSV or TSV says of its columns, in its header and in its URL. A URL has little room: services and
 * proxies refuse a long one, whatever it says.
 */
import { columnIdsOf } from '../../src/language/formats/delimited-header.ts';
import { formParameters, type DelimitedForm } from '../../src/language/formats/delimited-form.ts';
import type { Dialect } from '../../src/language/formats/dialect.ts';
import { MalformedFile } from './malformed-file.ts';

/** From so many bytes on, the columns that names mean are written into the header, in place of the names. */
const shortBytes = 1024;

/** The most bytes that a form may take in a URL. The service reads 16 KiB of a request before its body. */
const formBytesMax = 12 * 1024;

/** The cells of a header, and the form of the chunks below it. */
interface NamedColumns {
  readonly names: readonly string[];
  readonly form: DelimitedForm;
}

/** The same columns, with their IDs as names if it takes too much room to say which they are. */
export function withShortForm({ names, form }: NamedColumns): NamedColumns {
  const { columns, ...others } = form;
  if (columns === undefined || bytesInUrl({ columns }) < shortBytes) return { names, form };
  const ids = names.map(columnIdsOf([], columns, names));
  // A name in another normal form than NFC would mean the column in NFC.
  const inOtherForms = ids.filter((id) => id.normalize('NFC') !== id);
  return {
    names: ids,
    form:
      inOtherForms.length === 0
        ? others
        : { ...others, columns: Object.fromEntries(inOtherForms.map((id) => [id, id])) },
  };
}

/** Throws MalformedFile for a form that takes too much room in a URL. */
export function requireShort(form: DelimitedForm): void {
  const bytes = bytesInUrl(form);
  if (bytes <= formBytesMax) return;
  const [longest] = Object.entries(form)
    .map(([name, value]) => [name, bytesInUrl({ [name]: value })] as const)
    .toSorted(([, a], [, b]) => b - a)[0]!;
  throw new MalformedFile(
    null,
    `what is said of it (${longest} above all) takes ${bytes} bytes in a URL, and may take ${formBytesMax}: say it of fewer columns`,
  );
}

function bytesInUrl(form: DelimitedForm): number {
  return new URLSearchParams(formParameters(form)).toString().replaceAll('+', '%20').length;
}

/** Cells as a line of this dialect; null if it cannot have them: without quotes, its marks cannot be in a cell. */
export function headerLineIn(cells: readonly string[], { delimiter, quote, escape, comment }: Dialect): string | null {
  if (quote !== null) {
    const marks = escape === null ? [quote] : [quote, escape];
    const written = (cell: string): string =>
      marks.reduce((text, mark) => text.replaceAll(mark, () => mark + mark), cell);
    return cells.map((cell) => `${quote}${written(cell)}${quote}`).join(delimiter);
  }
  const line = cells.join(delimiter);
  const isLost =
    line === '' ||
    (comment !== null && line.startsWith(comment)) ||
    cells.some((cell) => cell.includes(delimiter) || /[\n\r]/.test(cell));
  return isLost ? null : line;
}
