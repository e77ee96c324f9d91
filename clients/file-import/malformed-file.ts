/** The file is not valid in its format. */
export class MalformedFile extends Error {
  override readonly name = 'MalformedFile';
  /** The line of the mistake, from 1; null if a line has no meaning. */
  readonly line: number | null;
  /** Begins with the cell or the key, such as `cell 3: `, if there is one. */
  readonly reason: string;
  /** The encoding that the text was read by, if the mistake is that it has another one. */
  readonly encoding: string | null;

  constructor(line: number | null, reason: string, encoding: string | null = null) {
    super(`${line === null ? '' : `line ${line}: `}${reason}`);
    this.line = line;
    this.reason = reason;
    this.encoding = encoding;
  }
}
