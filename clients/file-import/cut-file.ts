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
   * What a person said of CSV or TSV. The delimiter of CSV is recognised from the first records, unless it was said.
   */
  readonly form?: DelimitedForm | undefined;
  /** Called if the delimiter was recognised, and is no comma. */
  readonly onRecognised?: DelimitedCutterOptions['onRecognised'];
  /**
   * Called with the names in the header of CSV or TSV: which columns of a table they mean, where a name does not mean
   * itself.
   */
  readonly columnsOf?: DelimitedCutterOptions['columnsOf'];
  /**
   * Whether a cell that is longer than a row may hold is refused, before its chunk is made. Else the service says what
   * becomes of it.
   */
  readonly refusesLongCells?: boolean | undefined;
  /** The name of the sheet of a workbook. If absent, it is the first that is not hidden. */
  readonly sheet?: string | undefined;
}

/** Throws MalformedFile for marks that cannot be beside each other. */
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

/** The chunks of a file, in order, read on demand. Throws MalformedFile, and the reason of the signal. */
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
