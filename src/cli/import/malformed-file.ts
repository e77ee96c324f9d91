import { UserError } from '../run-to-end.ts';

/** The file cannot be read as its format says. */
export class MalformedFile extends UserError {
  /** The line of the file in which the mistake is, from 1; null where lines say nothing. */
  readonly line: number | null;
  readonly reason: string;

  constructor(line: number | null, reason: string, file = 'the file') {
    super(`${file}${line === null ? '' : `, line ${line}`}: ${reason}`);
    this.line = line;
    this.reason = reason;
  }

  /** The same of a file with a name. */
  within(file: string): MalformedFile {
    return new MalformedFile(this.line, this.reason, file);
  }
}
