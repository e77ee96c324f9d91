/**
 * The layout of a copy in its file. A statement that adds a row holds a block of memory for each column at once, and
 * several for a list. With blocks of the engine's default size, a row of 1,000 columns would take 500 MB. So a table
 * with more columns gets a copy with smaller blocks.
 */
import { isArrayType } from '../../../language/values/column-type.ts';
import { currentType, type SchemaColumn } from '../../../language/values/table-schema.ts';

export interface Layout {
  /** A power of two. */
  readonly blockBytes: number;
  /** The rows of a row group, which one thread reads at a time. */
  readonly rowGroupRows: number;
}

/**
 * Bytes that the engine keeps in memory for a column in addition to its blocks, and for each row group of a column. It
 * does not count them against its memory limit.
 */
const keptBytesOfColumn = 10 * 1024;
const keptBytesOfGroup = 1024;

/**
 * DuckDB keeps two segments for a column: its values, and which of them are NULL. For a list it keeps two more, for the
 * items.
 */
const segmentsOfCell = 2;
const segmentsOfList = 4;

/** The number of columns that every copy has (row-writer.ts). */
const placeColumns = 9;
const segmentsOfPlace = placeColumns * segmentsOfCell;

/**
 * The bytes that a statement that adds a row should hold at most. With the engine's smallest blocks it may hold more.
 */
const heldBytes = 8 * 1024 * 1024;
const blockBytesMin = 16 * 1024;
const blockBytesMax = 256 * 1024;

/** Half of the engine's default, so that two threads share a table of 100,000 rows. */
const rowGroupRowsMax = 61_440;
const rowGroupRowsMin = 4096;

/** Row groups must have a multiple of this many rows. */
const vectorRows = 2048;

/**
 * With more segments than this, a row group has fewer rows, because it is in memory as a whole before it is written.
 */
const segmentsOfLargeGroup = 256;

/** The minimum number of segments of a copy with these columns. Each takes a block while a row is added. */
export function segmentsOf(columns: readonly SchemaColumn[]): number {
  return columns.reduce(
    (sum, column) => sum + (isArrayType(currentType(column)) ? segmentsOfList : segmentsOfCell),
    segmentsOfPlace,
  );
}

/** The layout for a copy with this many segments. */
export function layoutOf(segments: number): Layout {
  const blockBytes = 2 ** Math.floor(Math.log2(heldBytes / segments));
  const rows = Math.floor((rowGroupRowsMax * Math.min(segmentsOfLargeGroup / segments, 1)) / vectorRows) * vectorRows;
  return {
    blockBytes: Math.min(Math.max(blockBytes, blockBytesMin), blockBytesMax),
    rowGroupRows: Math.max(rows, rowGroupRowsMin),
  };
}

/** Whether this layout still suits a copy to which columns were added, so that it has this many segments. */
export function isGoodFor({ blockBytes }: Layout, segments: number): boolean {
  return blockBytes === blockBytesMin || blockBytes * segments <= heldBytes * 2;
}

/** The bytes that a statement that adds a row holds at once. The copy keeps them in memory until it is saved. */
export function holdsFor({ blockBytes }: Layout, segments: number): number {
  return blockBytes * segments;
}

/** The approximate bytes that the engine keeps for a copy in addition to its blocks. */
export function keepsFor({ rowGroupRows }: Layout, columns: number, rows: number): number {
  return (placeColumns + columns) * (keptBytesOfColumn + Math.ceil(rows / rowGroupRows) * keptBytesOfGroup);
}
