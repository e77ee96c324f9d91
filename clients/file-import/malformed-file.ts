/** The file is invalid in its format. */
export class MalformedFile extends Error {
  override readonly name = 'MalformedFile';
  /** The line of the mistake, from 1; null if no line applies. */
  readonly line: number | null;
  /** The mistake. It begins with the cell or the key, such as `cell 3: `, if there is one. */
  readonly reason: string;
  /** The encoding with which the text was read, if the mistake is that the text has another one. */
  readonly encoding: string | null;

  constructor(line: number | null, reason: string, encoding: string | null = null) {
    super(`${line === null ? '' : `line ${line}: `}${reason}`);
    this.line = line;
    this.reason = reason;
    this.encoding = encoding;
  }
}
