import type { Format } from '../file-format.ts';
import type { Chunk, ChunkLimits, Cutter } from './chunk.ts';
import { DelimitedCutter } from './delimited-cutter.ts';
import { JsonCutter } from './json-cutter.ts';
import type { Source } from './source.ts';

export function cutterFor(format: Format, limits?: ChunkLimits): Cutter {
  switch (format) {
    case 'csv': return new DelimitedCutter(',', limits);
    case 'tsv': return new DelimitedCutter('\t', limits);
    case 'json':
    case 'ndjson': return new JsonCutter(format, limits);
  }
}

/** The chunks of a file, in order, read on demand. Throws UserError. */
export async function* cutFile(source: Source, cutter: Cutter): AsyncGenerator<Chunk, void, undefined> {
  for await (const piece of source.pieces()) yield* cutter.push(piece);
  yield* cutter.end();
}
