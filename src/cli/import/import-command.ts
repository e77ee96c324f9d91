/** `tablog import`. */
import type { Delimiter } from '../../formats/delimited-records.ts';
import type { OnSchemaError, Tablog, Version } from '../../../clients/typescript/src/index.ts';
import { findTable } from '../client/find-table.ts';
import { openClient } from '../client/open-client.ts';
import type { ClientFlags } from '../client/client-settings.ts';
import { writeOut } from '../console.ts';
import { formatOf, type FileFormat } from '../file-format.ts';
import { interruption } from '../interruption.ts';
import { rateOf, showNumber, showProgress } from '../rows-progress.ts';
import { UserError } from '../user-error.ts';
import { importFile, type ImportResult } from './import.ts';
import { parseVersion, type Target } from './import-request.ts';
import { refuseWorkbookName } from './text.ts';

export interface ImportFlags extends ClientFlags {
  readonly table: string;
  readonly create?: boolean;
  readonly overwrite?: boolean;
  readonly onSchemaError: OnSchemaError;
  readonly ifMatch?: string;
  readonly format?: FileFormat;
  readonly delimiter?: Delimiter;
  readonly encoding: string;
  readonly parallel: number;
  readonly json?: boolean;
}

/** Imports a file, and reports the result. Throws UserError. */
export async function runImport(file: string, flags: ImportFlags): Promise<void> {
  const started = performance.now();
  const ifMatch = flags.ifMatch === undefined ? undefined : parseVersion(flags.ifMatch);
  if (flags.format === undefined) refuseWorkbookName(file);
  const format = formatOf(file, flags.format);
  if (flags.delimiter !== undefined && format.format.endsWith('json')) throw new UserError('--delimiter is for CSV and TSV: JSON has none.');
  const signal = interruption();
  let progress = showProgress('Uploading', null, false);
  const say = (words: string): void => progress.say(words);
  const client = await openClient(flags, signal, say);
  const target = await findTarget(client, flags, ifMatch);
  try {
    const result = await importFile({
      client, file, format, encoding: flags.encoding, delimiter: flags.delimiter, target, onSchemaError: flags.onSchemaError, parallel: flags.parallel, signal, say,
      onStart: (size) => {
        progress = showProgress('Uploading', size, process.stderr.isTTY);
      },
      onProgress: (rows, bytes) => progress.update(rows, bytes),
    });
    progress.stop();
    if (result.shortLines > 0) say(describeShortLines(result.shortLines));
    report(result, target, performance.now() - started, flags);
  } finally {
    progress.stop();
  }
}

async function findTarget(client: Tablog, flags: ImportFlags, ifMatch: Version | undefined): Promise<Target> {
  if (flags.create) return { kind: 'create', name: flags.table };
  const table = await findTable(client, flags.table);
  if (table !== null) return { kind: flags.overwrite ? 'overwrite' : 'add', tableID: table.id, name: table.name, ifMatch };
  if (ifMatch !== undefined) throw new UserError(`There is no table ${JSON.stringify(flags.table)}, and so none of that version.`);
  return { kind: 'create', name: flags.table };
}

function describeShortLines(count: number): string {
  return `${count === 1 ? 'A line has' : `${showNumber(count)} lines have`} fewer cells than the header: the columns of the missing cells are empty.`;
}

function report({ rows, tableID, version: etag, droppedCells }: ImportResult, target: Target, ms: number, { json, onSchemaError }: ImportFlags): void {
  const version = etag.slice(1, -1);
  const mayDrop = onSchemaError === 'dropColumns';
  const seconds = Math.round(ms / 10) / 100;
  const rowsPerSecond = rateOf(rows, ms);
  if (json) {
    const action = { create: 'created', add: 'added', overwrite: 'overwritten' }[target.kind];
    writeOut(JSON.stringify({ tableID, name: target.name, action, rows, version, ...(mayDrop && { droppedCells }), seconds, rowsPerSecond }));
    return;
  }
  const table = `table ${JSON.stringify(target.name)} (${tableID})`;
  const what = {
    create: `${showNumber(rows)} rows imported into the new ${table}`,
    add: `${showNumber(rows)} rows added to the ${table}`,
    overwrite: `${showNumber(rows)} rows put in the place of all in the ${table}`,
  }[target.kind];
  const dropped = !mayDrop ? '' : `, without ${showNumber(droppedCells)} dropped cells`;
  writeOut(`${what}${dropped}, version ${version}, in ${seconds} s (${showNumber(rowsPerSecond)} rows/s).`);
}
