/** The body of a patch: one row object. */
import { BlockWriter } from './block-writer.ts';
import type { RowBlock } from './block-writer.ts';
import { RefusedText, UnfinishedText, skipByteOrderMark } from '../values/json-scanner.ts';
import { MalformedBody, emptyBody, requireUtf8, unfinishedBody } from '../values/malformed-body.ts';
import { defaultReaderLimits } from './row-reader-limits.ts';
import type { RowReaderLimits } from './row-reader-limits.ts';
import { keyAt, keyPrefix } from './row-place.ts';
import { longCellRefusal } from './row-reader.ts';
import type { RowsRefusal } from './row-reader.ts';
import { RowScanner, rowIdKey } from './row-scanner.ts';

export interface PatchRow {
  /**
   * One row. Its body keeps nulls, because a null clears a column. Empty if the row is too long or has too many
   * columns.
   */
  readonly block: RowBlock;
  /** Why no table could take the row; null if no reason is known. */
  readonly refusal: RowsRefusal | null;
  /** The value of `$rowID`; absent if the row has none. */
  readonly rowId?: unknown;
}

interface PatchRowOptions {
  /** Column IDs whose order is already fixed: they come first in the body. */
  readonly columns?: readonly string[];
  /** Whether cells that no row may hold are dropped, and all cells counted (`onSchemaError=dropColumns`). */
  readonly dropsCells?: boolean;
  readonly limits?: Partial<RowReaderLimits>;
}

/**
 * Reads the whole body of a patch.
 * @throws MalformedBody
 */
export function readPatchRow(
  bytes: Uint8Array,
  { columns = [], dropsCells = false, limits = {} }: PatchRowOptions = {},
): PatchRow {
  const allLimits = { ...defaultReaderLimits, ...limits };
  const scanner = new RowScanner(columns, allLimits, { keepsNulls: true, dropsCells });
  scanner.bytes = Buffer.allocUnsafe(bytes.length + 1);
  scanner.bytes.set(bytes);
  scanner.bytes[bytes.length] = 0;
  scanner.end = bytes.length;
  const cut = scan(scanner);
  if (cut !== null) Object.assign(scanner.row, { start: 0, end: 2, count: 0, clean: false, longCell: -1 });

  const { columns: cells, starts, ends, count, longCell } = scanner.row;
  const rowIdCell = cells.findIndex(({ id }, cell) => cell < count && id === rowIdKey);
  const rowId =
    rowIdCell === -1 ? {} : { rowId: JSON.parse(scanner.text(starts[rowIdCell]!, ends[rowIdCell]!)) as unknown };
  const writer = new BlockWriter(scanner, allLimits);
  writer.add(scanner.row);
  const long = longCell === -1 ? null : longCellRefusal(keyPrefix(keyAt(scanner.row, longCell)), allLimits);
  return { block: writer.close()!, refusal: cut ?? long, ...rowId };
}

/**
 * Reads the scanner's text as exactly one row. Returns the refusal of the limit that ended the reading; null if none
 * did.
 */
function scan(scanner: RowScanner): RowsRefusal | null {
  try {
    const start = scanner.space(skipByteOrderMark(scanner));
    if (start === scanner.end) throw emptyBody();
    const end = scanner.space(scanner.scanRow(start));
    if (end < scanner.end) scanner.unexpected(end);
  } catch (error) {
    if (error instanceof UnfinishedText) throw unfinishedBody(null);
    if (!(error instanceof RefusedText)) throw error;
    requireUtf8(scanner.bytes, 0, error.position);
    const message = `${keyPrefix(keyAt(scanner.row, error.position))}${error.message}`;
    if (error.type === 'limit_exceeded') return { type: error.type, message };
    throw new MalformedBody(error.type, message);
  }
  requireUtf8(scanner.bytes, 0, scanner.end);
  return null;
}
