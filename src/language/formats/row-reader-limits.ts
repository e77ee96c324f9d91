/** Limits of rows (docs/spec/decisions.md 2) and of the blocks they are cut into (ARCHITECTURE.md, "block"). */
export interface RowReaderLimits {
  /** Rows and bytes of the bodies (with the line feeds between them) of one block. */
  readonly blockRows: number;
  readonly blockBytes: number;
  /** Bytes of a row and of a value, as they were received. */
  readonly rowBytes: number;
  readonly cellBytes: number;
  /** Bytes of a column's ID in UTF-8, and distinct columns in one body. */
  readonly columnIdBytes: number;
  readonly columns: number;
  /** Bytes of all members of a body except its rows. */
  readonly envelopeBytes: number;
}

export const defaultReaderLimits: RowReaderLimits = {
  blockRows: 10_000,
  blockBytes: 512 * 1024,
  rowBytes: 512 * 1024,
  cellBytes: 256 * 1024,
  columnIdBytes: 256,
  columns: 2000,
  envelopeBytes: 1024 * 1024,
};
