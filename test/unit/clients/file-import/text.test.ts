/** The text of files for an import: encodings, byte order marks, and what is no text. */
import { describe, expect, test } from '@jest/globals';
import { refuseWorkbookName, toUtf8 } from '../../../../clients/file-import/text.ts';

/** The text of a file, whose bytes come in pieces of this many. */
async function textOf(
  content: Uint8Array,
  encoding: string,
  file = 'file.csv',
  pieceBytes = Infinity,
): Promise<string> {
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < content.length; at += pieceBytes) yield Buffer.from(content.subarray(at, at + pieceBytes));
  }
  return Buffer.concat(await Array.fromAsync(toUtf8(pieces(), file, encoding))).toString();
}

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

test.each<readonly [string, Uint8Array, string, string]>([
  ['UTF-8', Buffer.from('é😀'), 'utf-8', 'é😀'],
  ['UTF-8 with a byte order mark, which the cutter skips', Buffer.from('\ufeffé'), 'windows-1252', '\ufeffé'],
  ['windows-1252', bytes('61 80 e4 92'), 'windows-1252', 'a€ä’'],
  ['UTF-16', Buffer.from('a€😀,b\n', 'utf16le'), 'utf-16le', 'a€😀,b\n'],
  ['UTF-16 by its byte order mark', Buffer.from('\ufeffa€😀', 'utf16le'), 'utf-8', 'a€😀'],
  ['the other UTF-16 by its byte order mark', utf16be('\ufeffa€😀'), 'utf-8', 'a€😀'],
  ['nothing', Buffer.alloc(0), 'utf-16le', ''],
  ['a byte', Buffer.from('a'), 'windows-1252', 'a'],
])('a text is decoded: %s', async (_what, content, encoding, text) => {
  for (const pieceBytes of [1, 3, Infinity]) expect(await textOf(content, encoding, 'file.csv', pieceBytes)).toBe(text);
});

describe('a file that is no text is refused, with what to do', () => {
  const [ole, zip] = [bytes('d0cf11e0a1b11ae1 0000'), Buffer.from('PK\x03\x04....')];

  test.each<readonly [string, Uint8Array, string, string]>([
    ['a workbook', zip, 'book.xlsx', 'an Excel workbook, not text: its format is xlsx'],
    ['an old workbook, whatever its name', ole, 'book.csv', 'an old Excel workbook'],
    ['an archive', zip, 'file.csv', 'a zip archive, not text: unpack it first'],
  ])('a file that is %s is refused with what to do', async (_what, content, file, reason) => {
    for (const pieceBytes of [1, Infinity]) {
      await expect(textOf(content, 'utf-8', file, pieceBytes)).rejects.toThrow(new RegExp(reason));
    }
  });

  test.each([
    ['half a character', Buffer.from('abc')],
    ['half a pair', bytes('00d8 4100')],
  ])('%s of UTF-16', async (_what, content) => {
    await expect(textOf(content, 'utf-16le')).rejects.toMatchObject({
      reason: 'the text is not utf-16le',
      encoding: 'utf-16le',
    });
  });

  test.each(['book.xlsb', 'BOOK.XLS', 'a/b.xls'])('the name %s is refused', (file) => {
    expect(() => refuseWorkbookName(file)).toThrow('this is an old Excel workbook');
  });

  test.each(['book.csv', 'xls', 'book.xls.csv', 'book.xlsx', 'book.xlsm'])('the name %s is not refused', (file) => {
    expect(() => refuseWorkbookName(file)).not.toThrow();
  });
});
