/** Converts the text of a file to UTF-8. Refuses files that are not text, and says what to do. */
import { MalformedFile } from './malformed-file.ts';

const utf8 = 'utf-8';
type Decoder = InstanceType<typeof TextDecoder>;

/** The encoding of a text that begins with this byte order mark. */
const byteOrderMarks: readonly (readonly [bytes: Buffer, encoding: string])[] = [
  [Buffer.from([0xef, 0xbb, 0xbf]), utf8],
  [Buffer.from([0xff, 0xfe]), 'utf-16le'],
  [Buffer.from([0xfe, 0xff]), 'utf-16be'],
];

/**
 * Signatures: of the older format of Excel, which a newer workbook also has if it is protected with a password; and of
 * a zip archive, which every newer workbook is.
 */
const oleSignature = Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
const zipSignature = Buffer.from('PK\x03\x04', 'latin1');

const isWorkbook = 'this is an Excel workbook, not text: its format is xlsx';
const isOldWorkbook =
  'this is an old Excel workbook, or one that is protected with a password: open it in Excel, save it as .xlsx without a password, and import that file';
const isNoWorkbook = 'this is not a workbook (.xlsx), which would be a zip archive';
const isArchive = 'this is a zip archive, not text: unpack it first';

/**
 * Throws MalformedFile for the file name of a workbook in an older format of Excel, which cannot be read in any format.
 */
export function refuseWorkbookName(file: string): void {
  if (/\.xlsb?$/i.test(file)) throw new MalformedFile(null, isOldWorkbook);
}

/** What is wrong with the first bytes of a file; null if nothing is wrong. `format`: the expected format. */
export function signatureProblem(beginning: Uint8Array, format: 'text' | 'xlsx', file = ''): string | null {
  if (startsWith(beginning, oleSignature)) return isOldWorkbook;
  const isZip = startsWith(beginning, zipSignature);
  if (format === 'xlsx') return isZip ? null : isNoWorkbook;
  if (!isZip) return null;
  return /\.xls[xm]$/i.test(file) ? isWorkbook : isArchive;
}

/**
 * The bytes of a text in UTF-8. A byte order mark overrides the given encoding. Bytes in UTF-8 pass unchanged and
 * unchecked. Throws MalformedFile.
 */
export async function* toUtf8(
  pieces: AsyncIterable<Uint8Array>,
  file: string,
  encoding: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  let decoder: Decoder | null | undefined;
  for await (const piece of withWholeBeginning(pieces)) {
    if (decoder === undefined) {
      const problem = signatureProblem(piece, 'text', file);
      if (problem !== null) throw new MalformedFile(null, problem);
      const found = byteOrderMarks.find(([bytes]) => startsWith(piece, bytes))?.[1] ?? encoding;
      decoder = found === utf8 ? null : new TextDecoder(found, { fatal: true });
    }
    yield decoder === null ? piece : decode(decoder, piece);
  }
  if (decoder) yield decode(decoder);
}

/** Makes the first piece long enough for any signature. */
async function* withWholeBeginning(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
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

function startsWith(bytes: Uint8Array, beginning: Buffer): boolean {
  return beginning.every((byte, at) => bytes[at] === byte);
}

/** Decodes a piece; without a piece, the rest at the end. */
function decode(decoder: Decoder, piece?: Uint8Array): Uint8Array {
  try {
    return Buffer.from(decoder.decode(piece, { stream: piece !== undefined }));
  } catch (error) {
    if ((error as Error).name !== 'TypeError') throw error;
    throw new MalformedFile(null, `the text is not ${decoder.encoding}`, decoder.encoding);
  }
}
