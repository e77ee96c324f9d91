/** The common interface of the readers of all formats. */
import type { RowBlock } from './block-writer.ts';
import type { BodyMembers } from './envelope-reader.ts';
import type { RowReaderLimits } from './row-reader-limits.ts';

/**
 * The refusal of a well-formed body whose rows no table could take. Other refusals of the request may come before it
 * (docs/spec/decisions.md 2).
 */
export interface RowsRefusal {
  readonly type: 'limit_exceeded' | 'column_id_not_unique' | 'column_id_reserved';
  /** Begins with the place, such as `rows[3].age: `. */
  readonly message: string;
}

/**
 * Reads a body as it arrives, in chunks of any size, in bounded memory. Every method throws MalformedBody. After that,
 * do not use the reader.
 */
export interface RowReader {
  /** Why no table could take the rows that were read so far; null if no reason is known. */
  readonly refusal: RowsRefusal | null;
  /**
   * Reads the next bytes of the body and returns the full blocks, which the caller must consume. Keeps no reference to
   * the chunk.
   */
  push(chunk: Uint8Array): Iterable<RowBlock>;
  /** Ends the body. */
  end(): RowsEnd;
}

export interface RowsEnd {
  readonly blocks: RowBlock[];
  /**
   * Whether the body was read to its end. A row that is too long, or a column too many, ends the reading, and the rest
   * is ignored.
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

/** Remarks for the client on a body that was accepted, but may have been read in an unexpected way. */
export interface Remarks {
  /** How many lines of CSV or TSV had fewer cells than the header. */
  readonly shortLines: number;
  /**
   * How the body was read where CSV or TSV does not follow the standard. Short texts in ASCII, without semicolons; at
   * most `notesMax`.
   */
  readonly notes: readonly string[];
}

export const notesMax = 10;
export const noRemarks: Remarks = { shortLines: 0, notes: [] };

/** `place`: the value in JSON with a colon, such as `rows[3].age: `. */
export function longCellRefusal(place: string, { cellBytes }: RowReaderLimits): RowsRefusal {
  return { type: 'limit_exceeded', message: `${place}a value must not be longer than ${cellBytes} bytes` };
}
