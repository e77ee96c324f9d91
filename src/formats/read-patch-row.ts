/** The body of a patch: one row object. */
import { BlockWriter } from './block-writer.ts';
import type { RowBlock } from './block-writer.ts';
import { RefusedText, UnfinishedText, skipByteOrderMark } from './json-scanner.ts';
import { MalformedBody, emptyBody, requireUtf8, unfinishedBody } from './malformed-body.ts';
import { defaultRowLimits } from './row-limits.ts';
import type { RowLimits } from './row-limits.ts';
import { keyAt, keyPrefix } from './row-place.ts';
import { RowScanner, rowIdKey } from './row-scanner.ts';

export interface PatchRow {
  /** One row. Its body keeps nulls, because a null clears a column. */
  readonly block: RowBlock;
  /** The value of `$rowID`; absent if the row has none. */
  readonly rowId?: unknown;
}

export interface PatchRowOptions {
  /** Column IDs whose order is already fixed: they come first in the body. */
  readonly columns?: readonly string[];
  /** Whether cells that no row may hold are left out, and all cells counted (`onSchemaError=dropColumns`). */
  readonly dropsCells?: boolean;
  readonly limits?: Partial<RowLimits>;
}

/**
 * Reads the whole body of a patch.
 * @throws MalformedBody
 */
export function readPatchRow(bytes: Uint8Array, { columns = [], dropsCells = false, limits = {} }: PatchRowOptions = {}): PatchRow {
  const allLimits = { ...defaultRowLimits, ...limits };
  const scanner = new RowScanner(columns, allLimits, { keepsNulls: true, dropsCells });
  scanner.bytes = Buffer.allocUnsafe(bytes.length + 1);
  scanner.bytes.set(bytes);
  scanner.bytes[bytes.length] = 0;
  scanner.end = bytes.length;
  scan(scanner);

  const { columns: cells, starts, ends, count } = scanner.row;
  const rowIdCell = cells.findIndex(({ id }, cell) => cell < count && id === rowIdKey);
  const rowId = rowIdCell === -1
    ? {}
    : { rowId: JSON.parse(scanner.text(starts[rowIdCell]!, ends[rowIdCell]!)) as unknown };
  const writer = new BlockWriter(scanner, allLimits);
  writer.add(scanner.row);
  return { block: writer.close()!, ...rowId };
}

/** Reads the scanner's text as exactly one row. */
function scan(scanner: RowScanner): void {
  try {
    const start = scanner.space(skipByteOrderMark(scanner));
    if (start === scanner.end) throw emptyBody();
    const end = scanner.space(scanner.scanRow(start));
    if (end < scanner.end) scanner.unexpected(end);
  } catch (error) {
    if (error instanceof UnfinishedText) throw unfinishedBody();
    if (!(error instanceof RefusedText)) throw error;
    requireUtf8(scanner.bytes, 0, error.position);
    throw new MalformedBody(error.type, `${keyPrefix(keyAt(scanner.row, error.position))}${error.message}`);
  }
  requireUtf8(scanner.bytes, 0, scanner.end);
}
