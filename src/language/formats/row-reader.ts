/** The common interface of the readers of all formats. */
import type { RowBlock } from './block-writer.ts';
import type { BodyMembers } from './envelope-reader.ts';
import type { RowReaderLimits } from './row-limits.ts';

/**
 * A well-formed body whose rows no table takes. Other refusals of the request may come before this one
 * (docs/spec/decisions.md 2).
 */
export interface RowsRefusal {
  readonly type: 'limit_exceeded' | 'column_id_not_unique' | 'column_id_reserved';
  /** Begins with the place, such as `rows[3].age: `. */
  readonly message: string;
}

/**
 * Reads a body as it arrives, however it is cut into chunks, in bounded memory. Every method throws MalformedBody,
 * after which the reader must not be used.
 */
export interface RowReader {
  /** Why no table takes the rows that were read so far; null if nothing is known against them. */
  readonly refusal: RowsRefusal | null;
  /**
   * Reads the next bytes of the body and returns the blocks that are full, which the caller must consume. The chunk is
   * not kept.
   */
  push(chunk: Uint8Array): Iterable<RowBlock>;
  /** Ends the body. */
  end(): RowsEnd;
}

export interface RowsEnd {
  readonly blocks: RowBlock[];
  /**
   * Whether the body was read to its end. A row that is too long, or one column too many, ends the reading: what
   * follows is passed over.
   */
  readonly isWhole: boolean;
  /**
   * The other members of the object that contained the rows; null for a bare array, NDJSON, CSV and TSV. Contains
   * `rows` only if that was not an array. It has no prototype.
   */
  readonly envelope: BodyMembers | null;
  /** Whether the body had rows, or an array or header for them. */
  readonly hasRows: boolean;
  readonly remarks: Remarks;
}

/** What the client is told of a body that was taken, though it may not be what was meant. */
export interface Remarks {
  /** How many lines of CSV or TSV had fewer cells than the header. */
  readonly shortLines: number;
  /**
   * What was made of forms that CSV and TSV do not have by the book: short texts in ASCII, without semicolons; at most
   * `notesMax`.
   */
  readonly notes: readonly string[];
}

export const notesMax = 10;
export const noRemarks: Remarks = { shortLines: 0, notes: [] };

/** `place`: names the value in JSON, such as `rows[3].age: `. */
export function longCellRefusal(place: string, { cellBytes }: RowReaderLimits): RowsRefusal {
  return { type: 'limit_exceeded', message: `${place}a value must not be longer than ${cellBytes} bytes` };
}
