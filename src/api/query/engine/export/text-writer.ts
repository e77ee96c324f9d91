/** Writes rows as the text of a file. */
export interface TextWriter {
  /** The text before the rows. */
  readonly begin: string;
  /** The texts before and after each row that `add` gets. */
  readonly before: string;
  readonly behind: string;
  /** Whether `$rowID` may precede the object of a row instead of being in it. */
  readonly takesIdBefore: boolean;
  /** Adds rows in UTF-8, in the form of `GET .../rows`. */
  add(rows: Buffer): void;
  /**
   * The text of the rows since the last call. It is valid until the second call after this one, whose rows overwrite
   * it.
   */
  take(): Buffer;
  /** The text after the rows. */
  readonly end: string;
}
