import type { RowBlock } from '../../src/formats/block-writer.ts';
import { DelimitedRowReader } from '../../src/formats/delimited-row-reader.ts';
import { JsonRowReader } from '../../src/formats/json-row-reader.ts';
import type { Chunk, Cutter } from './chunk.ts';

/** The rows of a chunk, as the service reads them. Throws MalformedBody. `dropsCells`: whether cells that no row may hold are left out. */
export function readChunk({ body }: Chunk, { mediaType }: Cutter, dropsCells: boolean): RowBlock[] {
  const reader = mediaType === 'application/json'
    ? new JsonRowReader({ form: 'rows', dropsCells })
    : new DelimitedRowReader({ delimiter: mediaType === 'text/csv' ? ',' : '\t', dropsCells });
  return [...reader.push(body), ...reader.end().blocks];
}
