/** The text of a file, in UTF-8 whatever its encoding is. What is no text is refused with what to do. */
import { TextDecoder } from 'node:util';
import { InvalidArgumentError } from 'commander';
import { MalformedFile } from './malformed-file.ts';

const utf8 = 'utf-8';

/** The encoding of a text that begins with this byte order mark. */
const byteOrderMarks: readonly (readonly [bytes: Buffer, encoding: string])[] = [
  [Buffer.from([0xef, 0xbb, 0xbf]), utf8], [Buffer.from([0xff, 0xfe]), 'utf-16le'], [Buffer.from([0xfe, 0xff]), 'utf-16be'],
];

/** Of the older format of Excel, and of a zip archive, which the newer one is. */
const oleSignature = Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
const zipSignature = Buffer.from('PK\x03\x04', 'latin1');

const isWorkbook = 'this is a workbook of Excel, not text: open it there, save it as "CSV UTF-8", and import that';
const isArchive = 'this is a zip archive, not text: unpack it first';

/** Parses `--encoding`: a name that the Encoding Standard has. */
export function parseEncoding(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    // TextDecoder throws only for a name that it does not know.
    throw new InvalidArgumentError('It must be the name of an encoding, such as utf-8, windows-1252, latin1 or utf-16le.');
  }
}

/** Throws MalformedFile for the name of a workbook of Excel, whose format no other flag can tell. */
export function refuseWorkbookName(file: string): void {
  if (hasWorkbookName(file)) throw new MalformedFile(null, isWorkbook, file);
}

/**
 * The bytes of a text in UTF-8. A byte order mark counts more than the encoding that was given. Bytes that are UTF-8 already come as they are,
 * unchecked. Throws MalformedFile.
 */
export async function* toUtf8(pieces: AsyncIterable<Buffer>, file: string, encoding: string): AsyncGenerator<Buffer, void, undefined> {
  let decoder: TextDecoder | null | undefined;
  for await (const piece of withWholeBeginning(pieces)) {
    if (decoder === undefined) {
      refuseSignature(piece, file);
      const found = byteOrderMarks.find(([bytes]) => bytes.equals(piece.subarray(0, bytes.length)))?.[1] ?? encoding;
      decoder = found === utf8 ? null : new TextDecoder(found, { fatal: true });
    }
    yield decoder === null ? piece : decode(decoder, piece);
  }
  if (decoder) yield decode(decoder);
}

/** The first piece is long enough for any signature. */
async function* withWholeBeginning(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let beginning: Buffer | null = Buffer.alloc(0);
  for await (const piece of pieces) {
    if (beginning === null) {
      yield piece;
      continue;
    }
    beginning = Buffer.concat([beginning, piece]);
    if (beginning.length < oleSignature.length) continue;
    yield beginning;
    beginning = null;
  }
  if (beginning !== null && beginning.length > 0) yield beginning;
}

function refuseSignature(beginning: Buffer, file: string): void {
  if (beginning.subarray(0, oleSignature.length).equals(oleSignature)) throw new MalformedFile(null, isWorkbook);
  if (beginning.subarray(0, zipSignature.length).equals(zipSignature)) throw new MalformedFile(null, hasWorkbookName(file) ? isWorkbook : isArchive);
}

function hasWorkbookName(file: string): boolean {
  return /\.xls[xmb]?$/i.test(file);
}

/** Without a piece: what is left at the end. */
function decode(decoder: TextDecoder, piece?: Buffer): Buffer {
  try {
    return Buffer.from(decoder.decode(piece, { stream: piece !== undefined }));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error;
    throw new MalformedFile(null, `the text is not ${decoder.encoding}; if it is of another encoding, give --encoding`);
  }
}
