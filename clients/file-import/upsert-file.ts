/**
 * Upserts the rows of a file into a table, in requests one after the other: a later row with the same key patches an
 * earlier one. If a request fails, the rows before it have taken effect. Then the whole file can be sent again: only
 * rows without a key are added twice.
 */
import { formParameters } from '../../src/language/formats/delimited-form.ts';
import { compress, compression } from '../typescript/src/compress.ts';
import type { Changed, ChunkRemarks, Table } from '../typescript/src/index.ts';
import type { ChunkLimits } from './chunk.ts';
import { cutterFor } from './cut-file.ts';
import { placed, toldInFile, worthwhile, type FileReading, type OpenFile } from './import-file.ts';
import { Places } from './places.ts';
import { FileRemarks } from './remarks.ts';

/** The names of the columns stand in each row that the service records, so rows of CSV become longer. */
const limits: ChunkLimits = { rows: 250, bytes: 250_000 };

type Counts = Pick<Changed, 'added' | 'patched' | 'unchanged' | 'droppedCells'>;

export interface UpsertResult extends Counts, ChunkRemarks, Pick<Changed, 'version'> {
  readonly rows: number;
}

/**
 * Throws as `importFile` does, except for OutcomeUnknown: what took effect does not matter for a repetition.
 */
export async function upsertFile(table: Table, options: FileReading): Promise<UpsertResult> {
  const { source, format, encoding, form, sheet, onSchemaError, signal, onRecognised, columnsOf } = options;
  const cutter = cutterFor(format, {
    form,
    sheet,
    onRecognised,
    columnsOf,
    limits,
    refusesLongCells: onSchemaError !== 'dropColumns',
  });
  const file: OpenFile = { source, cutter, places: new Places() };
  const remarks = new FileRemarks();
  const counts = { added: 0, patched: 0, unchanged: 0, droppedCells: 0 };
  let version: Changed['version'] | null = null;
  let bytes = 0;
  for await (const { body, serial, fileBytes } of placed(file, encoding, signal)) {
    const { mediaType } = cutter;
    const sent = { mediaType, form: formParameters(cutter.form), onSchemaError, signal };
    const changed = await toldInFile(file, serial, async () =>
      body.length < worthwhile
        ? table.upsertBody(body, sent)
        : table.upsertBody(await compress(body), { ...sent, encoding: compression }),
    );
    remarks.add(changed);
    for (const what of ['added', 'patched', 'unchanged', 'droppedCells'] as const) counts[what] += changed[what];
    ({ version } = changed);
    bytes += fileBytes;
    options.onProgress(file.places.rows, bytes);
  }
  return { ...counts, ...remarks.take(), rows: file.places.rows, version: version ?? (await table.version()) };
}
