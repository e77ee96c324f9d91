import { DelimitedRowReader } from '../../src/formats/delimited-row-reader.ts';
import { JsonRowReader } from '../../src/formats/json-row-reader.ts';
import type { RowsEnd } from '../../src/formats/row-reader.ts';
import type { Chunk, Cutter } from './chunk.ts';

export type ChunkRows = Pick<RowsEnd, 'blocks' | 'remarks'>;

/** The rows of a chunk, as the service reads them. Throws MalformedBody. `dropsCells`: whether cells that no row may hold are left out. */
export function readChunk({ body }: Chunk, { mediaType }: Cutter, dropsCells: boolean): ChunkRows {
  const reader = mediaType === 'application/json'
    ? new JsonRowReader({ form: 'rows', dropsCells })
    : new DelimitedRowReader({ delimiter: mediaType === 'text/csv' ? ',' : '\t', dropsCells });
  const first = [...reader.push(body)];
  const { blocks, remarks } = reader.end();
  return { blocks: [...first, ...blocks], remarks };
}
