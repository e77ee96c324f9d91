import type { Delimiter } from '../../src/formats/delimited-records.ts';
import type { Chunk, ChunkLimits, Cutter, FileCutter } from './chunk.ts';
import { DelimitedCutter } from './delimited-cutter.ts';
import type { Format, TextFormat } from './file-format.ts';
import { JsonCutter } from './json-cutter.ts';
import type { Source } from './source.ts';
import { toUtf8 } from './text.ts';
import { WorkbookCutter } from './workbook/workbook-cutter.ts';

export interface CutterOptions {
  readonly limits?: ChunkLimits | undefined;
  /** The delimiter of the cells. If absent, it is a tab for TSV, and for CSV it is recognised from the first records. */
  readonly delimiter?: Delimiter | undefined;
  /** Called if it was recognised, and is no comma. */
  readonly onRecognised?: (delimiter: Delimiter) => void;
  /** The name of the sheet of a workbook. If absent, it is the first that is not hidden. */
  readonly sheet?: string | undefined;
}

export function cutterFor(format: TextFormat, options?: CutterOptions): Cutter;
export function cutterFor(format: Format, options?: CutterOptions): FileCutter;
export function cutterFor(format: Format, { limits, delimiter, onRecognised, sheet }: CutterOptions = {}): FileCutter {
  switch (format) {
    case 'csv': return new DelimitedCutter(delimiter ?? null, limits, onRecognised);
    case 'tsv': return new DelimitedCutter(delimiter ?? '\t', limits);
    case 'json':
    case 'ndjson': return new JsonCutter(format, limits);
    case 'xlsx': return new WorkbookCutter(sheet ?? null, limits);
  }
}

/** The chunks of a file, in order, read on demand. Throws MalformedFile, and the reason of the signal. */
export async function* cutFile(source: Source, encoding: string, cutter: FileCutter, signal: AbortSignal): AsyncGenerator<Chunk, void, undefined> {
  if ('cut' in cutter) {
    yield* cutter.cut(source, signal);
    return;
  }
  for await (const piece of toUtf8(source.pieces(signal), source.name, encoding)) yield* cutter.push(piece);
  yield* cutter.end();
}
