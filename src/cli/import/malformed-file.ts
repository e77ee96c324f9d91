import { UserError } from '../user-error.ts';

/** The file is not valid in its format. */
export class MalformedFile extends UserError {
  /** The line of the mistake, from 1; null if a line has no meaning. */
  readonly line: number | null;
  readonly reason: string;

  constructor(line: number | null, reason: string, file = 'the file') {
    super(`${file}${line === null ? '' : `, line ${line}`}: ${reason}`);
    this.line = line;
    this.reason = reason;
  }

  /** The same error, with the name of the file. */
  within(file: string): MalformedFile {
    return new MalformedFile(this.line, this.reason, file);
  }
}
