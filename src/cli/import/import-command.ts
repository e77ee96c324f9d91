/** `tablog import`. */
import { importFile, type ImportResult } from '../../../clients/file-import/import-file.ts';
import { matchColumns, type NamedColumn } from '../../../clients/file-import/match-columns.ts';
import { readTypes } from '../../../clients/file-import/read-types.ts';
import { upsertFile } from '../../../clients/file-import/upsert-file.ts';
import { refuseWorkbookName } from '../../../clients/file-import/text.ts';
import { withoutSheetForm } from '../../../clients/file-import/workbook/workbook-cutter.ts';
import type { Changed, ChunkRemarks, OnSchemaError, Tablog, Version } from '../../../clients/typescript/src/index.ts';
import type { DelimitedForm } from '../../language/formats/delimited-form.ts';
import { findTable } from '../client/find-table.ts';
import { openClient } from '../client/open-client.ts';
import type { ClientFlags } from '../client/client-settings.ts';
import { writeOut } from '../console.ts';
import { formatOf, type FileFormat } from '../file-format.ts';
import { interruption } from '../interruption.ts';
import { rateOf, showNumber, showProgress } from '../rows-progress.ts';
import { UserError } from '../user-error.ts';
import {
  describeDeleted,
  describeDelimiter,
  describeLeftOver,
  describeMatches,
  describeNote,
  describeShortLines,
  describeText,
  describeTexts,
  describeType,
  importFailure,
} from './describe-import.ts';
import { flagOfForm, formOfFlags, type FormFlags } from './import-flags.ts';
import { parseVersion, type NamedImportTarget } from './import-request.ts';
import { sourceName, openSource } from './source.ts';

export interface ImportFlags extends ClientFlags, FormFlags {
  readonly table: string;
  readonly create?: boolean;
  readonly overwrite?: boolean;
  readonly upsert?: boolean;
  /** The IDs of the columns of the key. */
  readonly key?: readonly string[];
  readonly onSchemaError: OnSchemaError;
  readonly ifMatch?: string;
  readonly format?: FileFormat;
  readonly sheet?: string;
  readonly encoding: string;
  readonly parallel: number;
  readonly json?: boolean;
  readonly showTypes?: boolean;
}

/**
 * Writes the types that the service would infer from a file, and the cells that prevent more specific types. Uses no
 * service. Rejects with UserError.
 */
export async function runShowTypes(file: string, flags: ImportFlags): Promise<void> {
  try {
    const { format, compression, form } = readingOf(file, flags);
    const say = (words: string): void => void process.stderr.write(`${words}\n`);
    const read = await readTypes(await openSource(file, compression), {
      format,
      encoding: flags.encoding,
      form,
      sheet: flags.sheet,
      onSchemaError: flags.onSchemaError,
      signal: interruption(),
      onRecognised: (delimiter) => say(describeDelimiter(delimiter)),
    });
    for (const note of read.notes) say(describeNote(note));
    const texts = new Map(read.texts.map((column) => [column.id, column]));
    if (flags.json)
      writeOut(
        JSON.stringify({
          rows: read.rows,
          columns: read.columns,
          texts: read.texts.map(({ first, ...column }) => ({
            ...column,
            first: first.map(({ place, text }) => ({ line: place, text })),
          })),
        }),
      );
    else writeOut(read.columns.map((column) => describeType(column, texts.get(column.id))).join('\n'));
  } catch (error) {
    throw importFailure(error, sourceName(file));
  }
}

/** Imports a file, and reports the result. Throws UserError. */
export async function runImport(file: string, flags: ImportFlags): Promise<void> {
  try {
    await importAndReport(file, flags);
  } catch (error) {
    throw importFailure(error, sourceName(file));
  }
}

async function importAndReport(file: string, flags: ImportFlags): Promise<void> {
  const started = performance.now();
  const ifMatch = flags.ifMatch === undefined ? undefined : parseVersion(flags.ifMatch);
  const { format, compression, form, isDelimited } = readingOf(file, flags);
  const signal = interruption();
  let progress = showProgress('Uploading', null, false);
  const say = (words: string): void => progress.say(words);
  const client = await openClient(flags, signal, say);
  if (flags.key !== undefined && !flags.upsert) throw new UserError('--key is for --upsert.');
  const target = flags.upsert ? await findKeyed(client, flags, say) : await findTarget(client, flags, ifMatch);
  const columns =
    (isDelimited || format === 'xlsx') && form.columns === undefined && form.header !== 'absent'
      ? await columnsOf(client, target)
      : null;
  const source = await openSource(file, compression);
  try {
    progress = showProgress('Uploading', source.size, process.stderr.isTTY);
    const reading = {
      source,
      format,
      encoding: flags.encoding,
      form,
      sheet: flags.sheet,
      onSchemaError: flags.onSchemaError,
      signal,
      onRecognised: (delimiter: string) => say(describeDelimiter(delimiter)),
      ...(columns !== null && {
        columnsOf: (names: readonly string[]) => {
          const matched = matchColumns(names, columns);
          if (matched.byDisplayName.length > 0) say(describeMatches(matched.columns, matched.byDisplayName));
          return matched.columns;
        },
      }),
      onProgress: (rows: number, bytes: number) => progress.update(rows, bytes),
    };
    const result =
      target.kind === 'upsert'
        ? { ...(await upsertFile(client.table(target.tableID), reading)), tableID: target.tableID, texts: [] }
        : await importFile({
            ...reading,
            client,
            target,
            parallel: flags.parallel,
            onDeleted: (stashID) => say(describeDeleted(stashID)),
            onLeftOver: (stashID, error) => say(describeLeftOver(stashID, error)),
          });
    progress.stop();
    if (result.shortLines > 0) say(describeShortLines(result.shortLines));
    for (const note of result.notes) say(describeNote(note));
    // Only a new table has inferred types.
    if (target.kind === 'create') await sayTexts(file, result.texts, flags, signal, say);
    report(result, target, performance.now() - started, flags);
  } finally {
    progress.stop();
  }
}

interface FileReading extends ReturnType<typeof formatOf> {
  readonly form: DelimitedForm;
  readonly isDelimited: boolean;
}

/** How the file is read. Throws UserError. */
function readingOf(file: string, flags: ImportFlags): FileReading {
  if (flags.format === undefined) refuseWorkbookName(file);
  const { format, compression } = formatOf(file, flags.format);
  const isDelimited = format === 'csv' || format === 'tsv';
  const form = formOfFlags(flags, format === 'tsv' ? '\t' : ',');
  const flag = flagOfForm(format === 'xlsx' ? withoutSheetForm(form) : form);
  if (flag !== null && !isDelimited) throw new UserError(`${flag} is for CSV and TSV.`);
  if (flags.sheet !== undefined && format !== 'xlsx') throw new UserError('--sheet is for workbooks (.xlsx).');
  return { format, compression, form, isDelimited };
}

/**
 * Writes which columns became text because of some cells. To find the cells, it reads the file again, unless that is
 * stdin.
 */
async function sayTexts(
  file: string,
  names: readonly string[],
  flags: ImportFlags,
  signal: AbortSignal,
  say: (words: string) => void,
): Promise<void> {
  if (names.length === 0) return;
  if (file === '-') return say(describeTexts(names));
  const { format, compression, form } = readingOf(file, flags);
  const { texts } = await readTypes(await openSource(file, compression), {
    format,
    encoding: flags.encoding,
    form,
    sheet: flags.sheet,
    onSchemaError: flags.onSchemaError,
    signal,
    onRecognised: () => undefined,
  });
  for (const column of texts) say(describeText(column));
}

/** The columns of the target table; null for a new table. */
async function columnsOf(
  client: Tablog,
  target: NamedImportTarget | KeyedTarget,
): Promise<readonly NamedColumn[] | null> {
  if (target.kind === 'create') return null;
  const { schema } = await client.table(target.tableID).describe();
  return schema.columns;
}

/** A table whose rows a file is upserted into. */
interface KeyedTarget {
  readonly kind: 'upsert';
  readonly tableID: string;
  readonly name: string;
}

/** The table, which has the key of the flags. Declares the key if the table has none. */
async function findKeyed(client: Tablog, flags: ImportFlags, say: (words: string) => void): Promise<KeyedTarget> {
  const found = await findTable(client, flags.table);
  if (found === null)
    throw new UserError(
      `There is no table ${JSON.stringify(flags.table)} to upsert into. The first time, import without --upsert.`,
    );
  const { id: tableID, name } = found;
  const table = client.table(tableID);
  const { key = null } = (await table.describe()).schema;
  if (key === null && flags.key === undefined)
    throw new UserError(`The table ${JSON.stringify(name)} has no key. Name its columns with --key.`);
  if (
    key !== null &&
    flags.key !== undefined &&
    JSON.stringify(key.toSorted()) !== JSON.stringify(flags.key.toSorted())
  )
    throw new UserError(
      `The key of the table ${JSON.stringify(name)} is ${key.join(',')}, not ${flags.key.join(',')}.`,
    );
  if (key === null) {
    await table.update({ key: [...flags.key!] });
    say(`The key of the table is now ${flags.key!.join(',')}.`);
  }
  return { kind: 'upsert', tableID, name };
}

async function findTarget(
  client: Tablog,
  flags: ImportFlags,
  ifMatch: Version | undefined,
): Promise<NamedImportTarget> {
  if (flags.create) return { kind: 'create', name: flags.table };
  const table = await findTable(client, flags.table);
  if (table !== null)
    return { kind: flags.overwrite ? 'overwrite' : 'add', tableID: table.id, name: table.name, ifMatch };
  if (ifMatch !== undefined)
    throw new UserError(`There is no table ${JSON.stringify(flags.table)}, so --if-match cannot match.`);
  return { kind: 'create', name: flags.table };
}

function report(
  result: Omit<ImportResult, keyof ChunkRemarks | 'texts'> & Partial<Pick<Changed, 'added' | 'patched' | 'unchanged'>>,
  target: NamedImportTarget | KeyedTarget,
  ms: number,
  { json, onSchemaError }: ImportFlags,
): void {
  const { rows, tableID, version: etag, droppedCells, added, patched, unchanged } = result;
  const version = etag.slice(1, -1);
  const mayDrop = onSchemaError === 'dropColumns';
  const seconds = Math.round(ms / 10) / 100;
  const rowsPerSecond = rateOf(rows, ms);
  if (json) {
    const action = { create: 'created', add: 'added', overwrite: 'overwritten', upsert: 'upserted' }[target.kind];
    writeOut(
      JSON.stringify({
        tableID,
        name: target.name,
        action,
        rows,
        ...(target.kind === 'upsert' && { added, patched, unchanged }),
        version,
        ...(mayDrop && { droppedCells }),
        seconds,
        rowsPerSecond,
      }),
    );
    return;
  }
  const table = `table ${JSON.stringify(target.name)} (${tableID})`;
  const counted = `${showNumber(rows)} ${rows === 1 ? 'row' : 'rows'}`;
  const what = {
    create: `${counted} imported into the new ${table}`,
    add: `${counted} added to the ${table}`,
    overwrite: `${counted} replaced all rows of the ${table}`,
    upsert: `${counted} upserted into the ${table}: ${showNumber(added ?? 0)} added, ${showNumber(patched ?? 0)} patched, ${showNumber(unchanged ?? 0)} unchanged`,
  }[target.kind];
  const dropped = !mayDrop ? '' : `, ${showNumber(droppedCells)} cells dropped`;
  writeOut(`${what}${dropped}, version ${version}, in ${seconds} s (${showNumber(rowsPerSecond)} rows/s).`);
}
