/** The text of a file, in UTF-8 whatever its encoding is. What is no text is refused with what to do. */
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
 * Of the older format of Excel, which a newer workbook has too if it is protected with a password; and of a zip
 * archive, which the newer one is.
 */
const oleSignature = Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
const zipSignature = Buffer.from('PK\x03\x04', 'latin1');

const isWorkbook = 'this is a workbook of Excel, not text: its format is xlsx';
const isOldWorkbook =
  'this is a workbook of an older form of Excel, or one that is protected with a password: open it there, save it as .xlsx without a password, and import that';
const isNoWorkbook = 'this is no workbook (.xlsx), which is a zip archive';
const isArchive = 'this is a zip archive, not text: unpack it first';

/**
 * Throws MalformedFile for the name of a workbook of an older form of Excel, which has no format that could be told
 * instead.
 */
export function refuseWorkbookName(file: string): void {
  if (/\.xlsb?$/i.test(file)) throw new MalformedFile(null, isOldWorkbook);
}

/** What is wrong with the first bytes of a file; null: nothing. `format`: what it is to be. */
export function signatureProblem(beginning: Uint8Array, format: 'text' | 'xlsx', file = ''): string | null {
  if (startsWith(beginning, oleSignature)) return isOldWorkbook;
  const isZip = startsWith(beginning, zipSignature);
  if (format === 'xlsx') return isZip ? null : isNoWorkbook;
  if (!isZip) return null;
  return /\.xls[xm]$/i.test(file) ? isWorkbook : isArchive;
}

/**
 * The bytes of a text in UTF-8. A byte order mark counts more than the encoding that was given. Bytes that are UTF-8
 * already come as they are, unchecked. Throws MalformedFile.
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

/** The first piece is long enough for any signature. */
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

/** Without a piece: what is left at the end. */
function decode(decoder: Decoder, piece?: Uint8Array): Uint8Array {
  try {
    return Buffer.from(decoder.decode(piece, { stream: piece !== undefined }));
  } catch (error) {
    if ((error as Error).name !== 'TypeError') throw error;
    throw new MalformedFile(null, `the text is not ${decoder.encoding}`, decoder.encoding);
  }
}
