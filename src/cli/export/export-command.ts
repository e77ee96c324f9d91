/** `tablog export`. */
import { rowIdKey } from '../../language/formats/row-scanner.ts';
import { plainCsv, type CsvForm } from '../../api/query/language/export-format.ts';
import type { ClientFlags } from '../client/client-settings.ts';
import { findTable } from '../client/find-table.ts';
import { openClient } from '../client/open-client.ts';
import { exportFormatOf, type TextFileFormat, type WholeFormat } from '../file-format.ts';
import { interruption } from '../interruption.ts';
import { rateOf, showNumber, showProgress } from '../rows-progress.ts';
import { UserError } from '../user-error.ts';
import { writeToFile, writeToStdout } from './destination.ts';
import { pagesText, type Written } from './pages-text.ts';
import { exportWriterFor } from './export-writer.ts';
import { exportWhole } from './service-file.ts';
import { fetchPage, readTable } from './table-pages.ts';

export interface ExportFlags extends ClientFlags {
  readonly format?: TextFileFormat | WholeFormat;
  readonly output?: string;
  readonly rowIds?: boolean;
  readonly delimiter?: CsvForm['delimiter'];
  readonly excel?: boolean;
}

/**
 * Exports a table, and reports the result on stderr. Throws UserError.
 *
 * The command makes text formats of pages, although the service has `/export`: that always writes `$rowID`, does not
 * say how many rows there are, and breaks off if the query engine needs the room of the table's copy.
 */
export async function runExport(idOrName: string, flags: ExportFlags): Promise<void> {
  const started = performance.now();
  const { output, format: given } = flags;
  const isFile = output !== undefined && output !== '-';
  const chosen = exportFormatOf(isFile ? output : null, given);
  const csv = csvFormOf(flags, chosen);
  const signal = interruption();
  let progress = showProgress('Writing', null, false);
  const ended = new AbortController();
  const client = await openClient(flags, AbortSignal.any([signal, ended.signal]), (words) => progress.say(words));
  const found = await findTable(client, idOrName);
  if (found === null) throw new UserError(`There is no table ${JSON.stringify(idOrName)}.`);
  const durationOf = (ms: number): string => `${Math.round(ms / 10) / 100} s`;
  if (typeof chosen === 'string') {
    const written = await exportWhole({ format: chosen, client, table: found, file: isFile ? output : null, signal });
    ended.abort();
    if (written !== null) progress.say(`${written}, in ${durationOf(performance.now() - started)}.`);
    return;
  }
  const { format, compression } = chosen;
  const table = await readTable(client, found.id);
  const writer = exportWriterFor(
    format,
    flags.rowIds ? [{ id: rowIdKey, isJson: false }, ...table.columns] : table.columns,
    csv,
  );
  const exported: Written = { rows: 0, hasMore: false, versions: [] };
  // No bar if the rows go to the same terminal.
  progress = showProgress('Writing', table.rows, process.stderr.isTTY && (isFile || !process.stdout.isTTY));
  const text = pagesText({
    read: (continuation) => fetchPage(client, table.id, continuation),
    writer,
    written: exported,
    onPage: () => progress.update(exported.rows, exported.rows),
  });
  try {
    if (isFile) await writeToFile(output, text, compression, signal);
    else if (!(await writeToStdout(text, compression, signal))) return;
  } finally {
    progress.stop();
    // Cancel the request for the next page, which nobody needs any more.
    ended.abort();
  }
  const ms = performance.now() - started;
  const into = isFile ? ` written to ${output}` : ' written';
  progress.say(
    `${showNumber(exported.rows)} rows of the table ${JSON.stringify(table.name)} (${table.id})${into}, ` +
      `${describeVersions(exported.versions)}, in ${durationOf(ms)} (${showNumber(rateOf(exported.rows, ms))} rows/s).`,
  );
}

/** How to write CSV. Throws UserError for flags of CSV if another format is chosen. */
function csvFormOf({ delimiter, excel }: ExportFlags, chosen: TextFileFormat | WholeFormat): CsvForm {
  if (typeof chosen !== 'string' && chosen.format === 'csv')
    return { delimiter: delimiter ?? plainCsv.delimiter, excel: excel ?? plainCsv.excel };
  if (delimiter !== undefined) throw new UserError('--delimiter is for CSV.');
  if (excel !== undefined)
    throw new UserError(
      `--excel is for CSV: ${chosen === 'xlsx' ? 'a workbook does not need it' : 'with --format xlsx an export is a workbook'}.`,
    );
  return plainCsv;
}

/** A page is one snapshot, but pages may be of different versions. */
function describeVersions(versions: readonly string[]): string {
  if (versions.length <= 1) return `version ${versions[0]}`;
  return `versions ${versions[0]} to ${versions.at(-1)} (the table changed meanwhile: its pages may be of different versions)`;
}
