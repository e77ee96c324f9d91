/** Reads a whole body of CSV or TSV, for the tests of the formats. */
import { DelimitedRowReader } from '../../../../src/language/formats/delimited-row-reader.ts';
import type { DelimitedRowReaderOptions } from '../../../../src/language/formats/delimited-row-reader.ts';
import type { RowsRead } from './read-rows.ts';

export function readCells(
  chunks: readonly (Uint8Array | string)[],
  options: Partial<DelimitedRowReaderOptions> = {},
): RowsRead {
  const reader = new DelimitedRowReader({ delimiter: ',', ...options });
  const blocks = chunks.flatMap((chunk) => [...reader.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)]);
  const { blocks: last, ...end } = reader.end();
  return { blocks: [...blocks, ...last], ...end, refusal: reader.refusal };
}
