/** Mistakes in rows, as the service's readers and decisions tell them, with the line of the file. */
import { MalformedBody } from '../../src/language/values/malformed-body.ts';
import { MalformedFile } from './malformed-file.ts';

/** Where a message of the service begins to say more than the row. */
const behindRow = /^(?:rows|header)\[\d+\](?:: |\.)?/;

/** `line`: null if the message names no place. */
export function malformedRow(message: string, line: number | null): MalformedFile {
  return new MalformedFile(line, line === null ? message : message.replace(behindRow, ''));
}

/** What `read` returns. Throws MalformedFile for a MalformedBody. */
export function readingRows<T>(read: () => T, lineOf: (message: string) => number | null): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof MalformedBody ? malformedRow(error.message, lineOf(error.message)) : error;
  }
}
