/** Turns mistakes in rows, as the service's code reports them, into mistakes in the file. */
import { MalformedBody } from '../../src/language/values/malformed-body.ts';
import { MalformedFile } from './malformed-file.ts';

/** The part of a message that names the row. */
const behindRow = /^(?:rows|header)\[\d+\](?:: |\.)?/;

/** `line`: null if the message names no place. */
export function malformedRow(message: string, line: number | null): MalformedFile {
  return new MalformedFile(line, line === null ? message : message.replace(behindRow, ''));
}

/** Calls `read`. Turns a MalformedBody into a MalformedFile. */
export function readingRows<T>(read: () => T, lineOf: (message: string) => number | null): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof MalformedBody ? malformedRow(error.message, lineOf(error.message)) : error;
  }
}
