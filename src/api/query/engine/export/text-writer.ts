/** Writes rows as the text of a file. */
export interface TextWriter {
  /** The text before all rows. */
  readonly begin: string;
  /** What stands before and behind each row that is given. */
  readonly before: string;
  readonly behind: string;
  /** Whether `$rowID` may stand before the object of a row, instead of in it. */
  readonly takesIdBefore: boolean;
  /** Adds rows, as `GET .../rows` shows them, in UTF-8. */
  add(rows: Buffer): void;
  /**
   * The text of the rows since the last call. It stays until the second call after this one; rows that are added then
   * are written over it.
   */
  take(): Buffer;
  /** The text behind all rows. */
  readonly end: string;
}
