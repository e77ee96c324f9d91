/**
 * How a copy lies in its file. A statement that adds a row holds a block of memory for each column at once, and for a
 * list several: with blocks of the engine's default size, a row of 1,000 columns would take 500 MB. So the more columns
 * a table has, the smaller are the blocks of its copy.
 */
import { isArrayType } from '../../../language/values/column-type.ts';
import { currentType, type SchemaColumn } from '../../../language/values/table-schema.ts';

export interface Layout {
  /** A power of two. */
  readonly blockBytes: number;
  /** A thread reads so many rows at a time. */
  readonly rowGroupRows: number;
}

/**
 * What the engine keeps in memory of a column besides its blocks, and of each row group of it. It does not count them
 * to its bound.
 */
const keptBytesOfColumn = 10 * 1024;
const keptBytesOfGroup = 1024;

/**
 * DuckDB keeps two segments for a column: its values, and which of them are NULL. For a list it keeps two more, those
 * of the items.
 */
const segmentsOfCell = 2;
const segmentsOfList = 4;

/** How many columns all copies have (row-writer.ts). */
const placeColumns = 9;
const segmentsOfPlace = placeColumns * segmentsOfCell;

/** So many bytes are held by a statement that adds a row, as long as the smallest blocks of the engine allow it. */
const heldBytes = 8 * 1024 * 1024;
const blockBytesMin = 16 * 1024;
const blockBytesMax = 256 * 1024;

/** With half of the engine's default, two threads share a table of 100,000 rows. */
const rowGroupRowsMax = 61_440;
const rowGroupRowsMin = 4096;

/** The engine takes multiples of this. */
const vectorRows = 2048;

/** With more segments than this, a row group has fewer rows: it is in memory as a whole before it is written. */
const segmentsOfLargeGroup = 256;

/** How many segments a copy with these columns has at least: each takes a block while a row is added. */
export function segmentsOf(columns: readonly SchemaColumn[]): number {
  return columns.reduce(
    (sum, column) => sum + (isArrayType(currentType(column)) ? segmentsOfList : segmentsOfCell),
    segmentsOfPlace,
  );
}

/** The layout of a copy with so many segments. */
export function layoutOf(segments: number): Layout {
  const blockBytes = 2 ** Math.floor(Math.log2(heldBytes / segments));
  const rows = Math.floor((rowGroupRowsMax * Math.min(segmentsOfLargeGroup / segments, 1)) / vectorRows) * vectorRows;
  return {
    blockBytes: Math.min(Math.max(blockBytes, blockBytesMin), blockBytesMax),
    rowGroupRows: Math.max(rows, rowGroupRowsMin),
  };
}

/** Whether a copy with this layout may have so many segments: columns were added since. */
export function isGoodFor({ blockBytes }: Layout, segments: number): boolean {
  return blockBytes === blockBytesMin || blockBytes * segments <= heldBytes * 2;
}

/** How many bytes a statement that adds a row holds at once. The copy keeps them in memory until it is saved. */
export function holdsFor({ blockBytes }: Layout, segments: number): number {
  return blockBytes * segments;
}

/** How many bytes the engine keeps of a copy besides its blocks, about. */
export function keepsFor({ rowGroupRows }: Layout, columns: number, rows: number): number {
  return (placeColumns + columns) * (keptBytesOfColumn + Math.ceil(rows / rowGroupRows) * keptBytesOfGroup);
}
