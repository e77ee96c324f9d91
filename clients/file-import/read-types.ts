/**
 * Finds the types that the service would infer from a whole file, and the cells that make a column text. It reads the
 * file with the service's own code.
 */
import { defaultReaderLimits } from '../../src/language/formats/row-reader-limits.ts';
import { placeInRow } from '../../src/language/formats/row-place.ts';
import { TextCells, type TextColumn } from '../../src/language/formats/text-cells.ts';
import { ProfileChain } from '../../src/language/values/build-profile.ts';
import { decideSchema, type SchemaErrorMode } from '../../src/language/values/decide-schema.ts';
import { currentType } from '../../src/language/values/table-schema.ts';
import { lineOfRow } from './chunk.ts';
import { cutFile, cutterFor } from './cut-file.ts';
import { malformedRow, readingRows } from './malformed-row.ts';
import { Places } from './places.ts';
import type { PreviewOptions, PreviewedColumn } from './preview.ts';
import { readChunk } from './read-chunk.ts';
import { FileRemarks } from './remarks.ts';
import type { Source } from './source.ts';

export interface FileTypes {
  readonly columns: readonly PreviewedColumn[];
  /** Columns of CSV and TSV that became text because of some cells, with the lines of these. */
  readonly texts: readonly TextColumn[];
  readonly rows: number;
  readonly notes: readonly string[];
}

interface TypesOptions extends Omit<PreviewOptions, 'onSchemaError'> {
  readonly onSchemaError: SchemaErrorMode;
  /** Called if the delimiter was detected and is not a comma. */
  readonly onRecognised: (delimiter: string) => void;
}

/**
 * Reads a file to its end, in bounded memory. Throws MalformedFile, also if the rows could not make a table; and the
 * reason of the signal.
 */
export async function readTypes(
  source: Source,
  { format, encoding, form, sheet, onSchemaError, signal, onRecognised }: TypesOptions,
): Promise<FileTypes> {
  const cutter = cutterFor(format, { form, sheet, onRecognised });
  const texts = new TextCells();
  const profiles = new ProfileChain();
  const places = new Places();
  const remarks = new FileRemarks();
  for await (const chunk of cutFile(source, encoding, cutter, signal)) {
    const serial = places.add(chunk);
    texts.placeOf = (row) => lineOfRow(chunk.lines, row);
    const read = readingRows(
      () => readChunk(chunk, cutter, onSchemaError === 'dropColumns', texts),
      (message) => places.find(message, serial, cutter.headerLine)?.line ?? null,
    );
    for (const { profile } of read.blocks) profiles.add(profile);
    remarks.add(read.remarks);
  }
  let line: number | null = null;
  const decided = decideSchema({
    schema: null,
    profile: profiles.build(),
    mode: onSchemaError,
    version: 0n,
    columnsMax: defaultReaderLimits.columns,
    place: ({ row }, columnId) => {
      line = places.lineOf(row);
      return placeInRow(row, columnId);
    },
  });
  if ('refusal' in decided) throw malformedRow(decided.refusal.message, line);
  const columns = decided.schema.columns.map((column) => ({ id: column.id, type: currentType(column) }));
  return { columns, texts: texts.take(), rows: places.rows, notes: [...(cutter.notes ?? []), ...remarks.take().notes] };
}
