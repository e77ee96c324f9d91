/**
 * Previews a file: shows what the service would make of its first rows in a new table. It reads them with the service's
 * own code.
 */
import type { RowBlock } from '../../src/language/formats/block-writer.ts';
import { leftOut } from '../../src/language/formats/delimited-header.ts';
import type { DelimitedForm } from '../../src/language/formats/delimited-form.ts';
import { defaultReaderLimits } from '../../src/language/formats/row-reader-limits.ts';
import { placeInRow } from '../../src/language/formats/row-place.ts';
import { TextCells, type TextColumn } from '../../src/language/formats/text-cells.ts';
import { concatenateAll } from '../../src/language/values/build-profile.ts';
import type { ColumnType } from '../../src/language/values/column-type.ts';
import { decideSchema, type SchemaErrorMode } from '../../src/language/values/decide-schema.ts';
import { holdsCells, presenterOf, receivedForm } from '../../src/language/values/presentation.ts';
import { parseRow } from '../../src/language/values/row-text.ts';
import { currentType, type TableSchema } from '../../src/language/values/table-schema.ts';
import { lineOfRow, type Chunk, type ChunkForm, type SheetName } from './chunk.ts';
import { cutFile, cutterFor } from './cut-file.ts';
import type { Format } from './file-format.ts';
import { malformedRow, readingRows } from './malformed-row.ts';
import { Places } from './places.ts';
import { readChunk } from './read-chunk.ts';
import type { Source } from './source.ts';

const limits = { rows: 1_000, bytes: 1024 * 1024 };
const shownRows = 20;

export interface PreviewOptions {
  readonly format: Format;
  /** The encoding of the text, unless it begins with a byte order mark. */
  readonly encoding: string;
  /**
   * The form of a CSV or TSV file, as far as the person states it. If it lacks the delimiter of CSV, the delimiter is
   * detected from the first records.
   */
  readonly form?: DelimitedForm | undefined;
  /** The name of a sheet of a workbook. By default the first one that is not hidden. */
  readonly sheet?: string | undefined;
  readonly onSchemaError: SchemaErrorMode;
  readonly signal: AbortSignal;
}

export interface Preview {
  /** The given or detected delimiter; null for JSON. */
  readonly delimiter: string | null;
  /** The sheets of a workbook; empty for other files. */
  readonly sheets: readonly SheetName[];
  readonly columns: readonly PreviewedColumn[];
  /** The first 20 rows, with one text per column: a string as it is, other values as JSON, null without a value. */
  readonly rows: readonly (readonly (string | null)[])[];
  /** From how many rows the types were inferred: at most 1,000. */
  readonly rowsRead: number;
  /**
   * Columns of CSV and TSV that became text because of some cells, with the lines of the first of these cells, and what
   * would help.
   */
  readonly texts: readonly TextColumn[];
  /**
   * How the file was read where it does not follow the standard. Only a whole file can tell that a column is left out.
   */
  readonly notes: readonly string[];
  /** Whether these are all rows of the file. */
  readonly isWhole: boolean;
}

export interface PreviewedColumn {
  readonly id: string;
  readonly type: ColumnType;
}

/**
 * Reads at most 1,000 rows or 1 MiB of them. Throws MalformedFile, also if the rows could not make a table; and the
 * reason of the signal.
 */
export async function preview(
  source: Source,
  { format, encoding, form, sheet, onSchemaError, signal }: PreviewOptions,
): Promise<Preview> {
  const cutter = cutterFor(format, { limits, form, sheet });
  const chunks = cutFile(source, encoding, cutter, signal);
  const { value: chunk } = (await chunks.next()) as IteratorYieldResult<Chunk>;
  const { done: isWhole = false } = await chunks.next();
  await chunks.return();
  const read = readTable(chunk, cutter, onSchemaError);
  return {
    delimiter:
      cutter.mediaType === 'application/json' || format === 'xlsx'
        ? null
        : (cutter.form.delimiter ?? (format === 'tsv' ? '\t' : ',')),
    sheets: cutter.sheets ?? [],
    ...read,
    notes: isWhole ? read.notes : read.notes.filter((note) => !note.endsWith(leftOut)),
    rowsRead: chunk.rows,
    isWhole,
  };
}

function readTable(
  chunk: Chunk,
  cutter: ChunkForm,
  mode: SchemaErrorMode,
): Pick<Preview, 'columns' | 'rows' | 'texts' | 'notes'> {
  const places = new Places();
  const serial = places.add(chunk);
  const lineOf = (message: string): number | null => places.find(message, serial, cutter.headerLine)?.line ?? null;
  const texts = new TextCells();
  texts.placeOf = (row) => lineOfRow(chunk.lines, row);
  const { blocks, remarks } = readingRows(() => readChunk(chunk, cutter, mode === 'dropColumns', texts), lineOf);
  const decided = decideSchema({
    schema: null,
    profile: concatenateAll(blocks.map(({ profile }) => profile)),
    mode,
    version: 0n,
    columnsMax: defaultReaderLimits.columns,
    place: ({ row }, columnId) => placeInRow(row, columnId),
  });
  if ('refusal' in decided) throw malformedRow(decided.refusal.message, lineOf(decided.refusal.message));
  const columns = decided.schema.columns.map((column) => ({ id: column.id, type: currentType(column) }));
  return {
    columns,
    rows: firstRows(blocks, decided.schema),
    texts: texts.take(),
    notes: [...(cutter.notes ?? []), ...remarks.notes],
  };
}

/** Rows as they would be in the table. */
function firstRows(blocks: readonly RowBlock[], schema: TableSchema): (string | null)[][] {
  const rows: (string | null)[][] = [];
  for (const { profile, body } of blocks) {
    if (rows.length >= shownRows) break;
    const present = presenterOf(schema, {
      stored: receivedForm(holdsCells(profile)),
      decidedAt: 0n,
      wrap: true,
      rule: profile.rule,
    });
    const bodies = profile.rows === 0 ? [] : new TextDecoder().decode(body).split('\n');
    for (const row of bodies.slice(0, shownRows - rows.length)) {
      const texts = new Map(parseRow(present(row)).map(({ id, token }) => [id, textOf(token)]));
      rows.push(schema.columns.map(({ id }) => texts.get(id) ?? null));
    }
  }
  return rows;
}

function textOf(token: string): string {
  return token.startsWith('"') ? (JSON.parse(token) as string) : token;
}
