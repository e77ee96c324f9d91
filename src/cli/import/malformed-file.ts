import { UserError } from '../run-to-end.ts';

/** The file cannot be read as its format says. */
export class MalformedFile extends UserError {
  /** The line of the file in which the mistake is, from 1; null where lines say nothing. */
  readonly line: number | null;
  readonly reason: string;

  constructor(line: number | null, reason: string) {
    super(line === null ? reason : `line ${line}: ${reason}`);
    this.line = line;
    this.reason = reason;
  }
}
