/** Reads a whole body, for the tests of the formats. */
import type { RowBlock } from '../../../../src/language/formats/block-writer.ts';
import { JsonRowReader } from '../../../../src/language/formats/json-row-reader.ts';
import type { JsonRowReaderOptions } from '../../../../src/language/formats/json-row-reader.ts';
import { MalformedBody } from '../../../../src/language/values/malformed-body.ts';
import type { RowsEnd, RowsRefusal } from '../../../../src/language/formats/row-reader.ts';
import { parseRow } from '../../../../src/language/values/row-text.ts';

export interface RowsRead extends RowsEnd {
  readonly refusal: RowsRefusal | null;
}

export function readRows(
  chunks: readonly (Uint8Array | string)[],
  options: Partial<JsonRowReaderOptions> = {},
): RowsRead {
  const reader = new JsonRowReader({ form: 'envelope', ...options });
  const blocks = chunks.flatMap((chunk) => reader.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
  const { blocks: last, ...end } = reader.end();
  return { blocks: [...blocks, ...last], ...end, refusal: reader.refusal };
}

/** The bodies of all rows. */
export function bodiesOf({ blocks }: { readonly blocks: readonly RowBlock[] }): string[] {
  return blocks.flatMap(({ body }) => Buffer.from(body).toString().split('\n'));
}

/**
 * The texts of the cells of rows of CSV that are not refused, by column. Columns that hold numbers or booleans only are
 * stored as their tokens.
 */
export function cellsRead({ blocks, refusal }: RowsRead): Record<string, string>[] {
  if (refusal !== null) throw new Error(refusal.message);
  if (!blocks.some(({ profile }) => profile.rows > 0)) return [];
  return bodiesOf({ blocks }).map((body) =>
    Object.fromEntries(
      parseRow(body).map(({ id, token }) => [
        id.normalize('NFC'),
        token.startsWith('"') ? (JSON.parse(token) as string) : token,
      ]),
    ),
  );
}

export interface Refusal {
  readonly type: string;
  readonly message: string;
}

/** Why a body is malformed, or why no table takes its rows; null if neither. */
export function refusalOf(read: () => Pick<RowsRead, 'refusal'>): Refusal | null {
  try {
    return read().refusal;
  } catch (error) {
    if (!(error instanceof MalformedBody)) throw error;
    return { type: error.type, message: error.message };
  }
}
