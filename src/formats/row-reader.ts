/** What the readers of all formats have in common. */
import type { RowBlock } from './block-writer.ts';
import type { Envelope } from './envelope-reader.ts';

/**
 * Reads a body as it comes in, however it is cut into chunks, in bounded memory. Every method throws MalformedBody, and
 * then the reader is of no use any more.
 */
export interface RowReader {
  /** Takes the next bytes of the body and gives the blocks that are full by then, which must be taken. The chunk is not kept. */
  push(chunk: Uint8Array): Iterable<RowBlock>;
  /** Ends the body. */
  end(): RowsEnd;
}

export interface RowsEnd {
  readonly blocks: RowBlock[];
  /**
   * The other members of the object that the rows were a member of; null for a bare array, CSV and TSV. Has a `rows` of
   * its own only if that was no array. It has no prototype.
   */
  readonly envelope: Envelope | null;
  /** Whether there were rows, or a place for them, at all. */
  readonly hasRows: boolean;
}
