/**
 * The names and IDs of columns in chunks of CSV and TSV: in the header or in the URL. A URL has little room, because
 * services and proxies refuse long ones.
 */
import { columnIdByName } from '../../src/language/formats/delimited-header.ts';
import { formParameters, type DelimitedForm } from '../../src/language/formats/delimited-form.ts';
import type { Dialect } from '../../src/language/formats/dialect.ts';
import { MalformedFile } from './malformed-file.ts';

/** Above this many bytes in the URL, the header gets the column IDs in place of the names. */
const shortBytes = 1024;

/** Maximum of bytes of a form in a URL. The service reads 16 KiB of a request before its body. */
const formBytesMax = 12 * 1024;

/** The cells of a header, and the form of the chunks below it. */
interface NamedColumns {
  readonly names: readonly string[];
  readonly form: DelimitedForm;
}

/** The same columns. If their IDs take too much room in a URL, the IDs become the names in the header. */
export function withShortForm({ names, form }: NamedColumns): NamedColumns {
  const { columns, ...others } = form;
  if (columns === undefined || bytesInUrl({ columns }) < shortBytes) return { names, form };
  const ids = names.map(columnIdByName([], columns, names));
  // The service reads a name in NFC, so that it would mean the column in NFC.
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
    `its options (${longest} above all) take ${bytes} bytes in a URL, more than ${formBytesMax}: set them for fewer columns`,
  );
}

function bytesInUrl(form: DelimitedForm): number {
  return new URLSearchParams(formParameters(form)).toString().replaceAll('+', '%20').length;
}

/** Cells as a line of this dialect; null if that is impossible, because without quotes no cell can contain a mark. */
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
