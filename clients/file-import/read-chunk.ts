import { DelimitedRowReader } from '../../src/language/formats/delimited-row-reader.ts';
import { JsonRowReader } from '../../src/language/formats/json-row-reader.ts';
import { MalformedBody } from '../../src/language/values/malformed-body.ts';
import type { TextCells } from '../../src/language/formats/text-cells.ts';
import type { RowsEnd } from '../../src/language/formats/row-reader.ts';
import type { Chunk, ChunkForm } from './chunk.ts';

type ChunkRows = Pick<RowsEnd, 'blocks' | 'remarks'>;

/**
 * The rows of a chunk, read as the service reads them. Throws MalformedBody, also for rows that no table could take.
 * `dropsCells`: whether cells that no row may hold are dropped. `texts`: collects columns of CSV and TSV that become
 * text.
 */
export function readChunk(
  { body }: Chunk,
  { mediaType, form }: ChunkForm,
  dropsCells: boolean,
  texts?: TextCells,
): ChunkRows {
  const reader =
    mediaType === 'application/json'
      ? new JsonRowReader({ form: 'rows', dropsCells })
      : new DelimitedRowReader({ delimiter: mediaType === 'text/csv' ? ',' : '\t', form, dropsCells, texts });
  const first = [...reader.push(body)];
  const { blocks, remarks } = reader.end();
  if (reader.refusal !== null) throw new MalformedBody('request_validation_error', reader.refusal.message);
  return { blocks: [...first, ...blocks], remarks };
}
