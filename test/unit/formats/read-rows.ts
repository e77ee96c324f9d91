/** Reads a whole body, for the tests of the formats. */
import type { RowBlock } from '../../../src/formats/block-writer.ts';
import { JsonRowReader } from '../../../src/formats/json-row-reader.ts';
import type { JsonRowReaderOptions } from '../../../src/formats/json-row-reader.ts';
import type { RowsEnd } from '../../../src/formats/row-reader.ts';
import { MalformedBody } from '../../../src/formats/malformed-body.ts';

export type RowsRead = Readonly<RowsEnd>;

export function readRows(
  chunks: readonly (Uint8Array | string)[], options: Partial<JsonRowReaderOptions> = {},
): RowsRead {
  const reader = new JsonRowReader({ form: 'envelope', ...options });
  const blocks = chunks.flatMap((chunk) => reader.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
  const { blocks: last, ...end } = reader.end();
  return { blocks: [...blocks, ...last], ...end };
}

/** The bodies of all rows. */
export function bodiesOf({ blocks }: { readonly blocks: readonly RowBlock[] }): string[] {
  return blocks.flatMap(({ body }) => Buffer.from(body).toString().split('\n'));
}

export interface Refusal {
  readonly type: string;
  readonly message: string;
}

/** What a body is refused with; null if it is not. */
export function refusalOf(read: () => unknown): Refusal | null {
  try {
    read();
    return null;
  } catch (error) {
    if (!(error instanceof MalformedBody)) throw error;
    return { type: error.type, message: error.message };
  }
}
