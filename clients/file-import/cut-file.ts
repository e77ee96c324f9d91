import type { DelimitedForm } from '../../src/language/formats/delimited-form.ts';
import { conflictIn } from '../../src/language/formats/dialect.ts';
import type { Chunk, ChunkLimits, Cutter, FileCutter } from './chunk.ts';
import { DelimitedCutter, type DelimitedCutterOptions } from './delimited-cutter.ts';
import type { Format, TextFormat } from './file-format.ts';
import { JsonCutter } from './json-cutter.ts';
import { MalformedFile } from './malformed-file.ts';
import type { Source } from './source.ts';
import { toUtf8 } from './text.ts';
import { WorkbookCutter } from './workbook/workbook-cutter.ts';

export interface CutterOptions {
  readonly limits?: ChunkLimits | undefined;
  /**
   * The form of a CSV or TSV file, as far as the person states it. If it lacks the delimiter of CSV, the delimiter is
   * detected from the first records.
   */
  readonly form?: DelimitedForm | undefined;
  /** Called if the delimiter was detected and is not a comma. */
  readonly onRecognised?: DelimitedCutterOptions['onRecognised'];
  /**
   * Called with the names in the header of CSV or TSV. Returns the column IDs of the table for names that differ from
   * their ID.
   */
  readonly columnsOf?: DelimitedCutterOptions['columnsOf'];
  /** Whether a cell that is too long for a row is refused before its chunk is made. Otherwise the service decides. */
  readonly refusesLongCells?: boolean | undefined;
  /** The name of a sheet of a workbook. By default the first one that is not hidden. */
  readonly sheet?: string | undefined;
}

/** Throws MalformedFile for marks that contradict each other. */
export function cutterFor(format: TextFormat, options?: CutterOptions): Cutter;
export function cutterFor(format: Format, options?: CutterOptions): FileCutter;
export function cutterFor(format: Format, { form = {}, sheet, ...options }: CutterOptions = {}): FileCutter {
  const { limits } = options;
  switch (format) {
    case 'csv':
      return new DelimitedCutter({ ...options, form: withoutConflict(form, ','), usual: ',' });
    case 'tsv':
      return new DelimitedCutter({ ...options, form: withoutConflict(form, '\t'), usual: '\t' });
    case 'json':
    case 'ndjson':
      return new JsonCutter(format, limits, options.refusesLongCells);
    case 'xlsx':
      return new WorkbookCutter({ ...options, form, sheet: sheet ?? null });
  }
}

function withoutConflict(form: DelimitedForm, usual: string): DelimitedForm {
  const conflict = conflictIn(form, usual);
  if (conflict !== null) throw new MalformedFile(null, `${conflict.name}: ${conflict.reason}`);
  return form;
}

/** Yields the chunks of a file in order, read on demand. Throws MalformedFile, and the reason of the signal. */
export async function* cutFile(
  source: Source,
  encoding: string,
  cutter: FileCutter,
  signal: AbortSignal,
): AsyncGenerator<Chunk, void, undefined> {
  if ('cut' in cutter) {
    yield* cutter.cut(source, signal);
    return;
  }
  for await (const piece of toUtf8(source.pieces(signal), source.name, encoding)) yield* cutter.push(piece);
  yield* cutter.end();
}
