/**
 * The names of files, and references to files in rows. A file's URL is `…/files/<name>/<file name>`; a row that
 * contains it references the file (spec sections 3 and 4.9).
 */
/** Bytes of a name. */
export const nameBytes = 16;
const nameLength = Math.ceil((nameBytes * 4) / 3);
const wholeName = new RegExp(`^[\\w-]{${nameLength}}$`);

/**
 * Whether the text has the form of a name from `newFileName` (new-file-name.ts), in its canonical spelling. Only such
 * texts become part of a path.
 */
export function isFileName(text: string): boolean {
  return wholeName.test(text) && Buffer.from(text, 'base64url').toString('base64url') === text;
}

/** The path of a file's URL, from the root of the service. `fileName` is the client's name for the file: any text. */
export function filePath(name: string, fileName: string): string {
  return `/files/${name}/${encodeURIComponent(fileName.toWellFormed())}`;
}

/** A file that a row references, and the index of that row. */
export interface FileReference {
  readonly index: number;
  readonly file: string;
}

/** The path of a URL. JSON escapes put backslashes before its second slash, more on each level of nested JSON. */
const pathOfFile = new RegExp(`/files\\\\*/([\\w-]{${nameLength}})`, 'g');

/**
 * A JSON escape of a character that may occur in such a path: `-`, `/`, digits, letters, `_` and the backslash. The
 * pattern matches at most once per run of backslashes: without that a row of only backslashes would take minutes.
 */
const escapedCharacter = /(?<!\\)\\+u00(2[df]|3\d|[46][1-9a-f]|5[\dacf]|7[\da])/gi;
const pathStart = '/files';
const escapeStart = '\\u00';

const noNames: readonly string[] = [];

/**
 * The names of the files whose URLs occur in the JSON text of a row, without duplicates. A URL may be anywhere in a
 * string, on any level, escaped or not. JSON within a string counts too, because a cell of CSV may become a list. A
 * false positive is harmless: it only keeps a file for longer.
 */
export function fileNamesIn(row: string): readonly string[] {
  if (!mayNameFiles(row)) return noNames;
  const text = row.includes(escapeStart) ? row.replaceAll(escapedCharacter, toCharacter) : row;
  return [...new Set(Array.from(text.matchAll(pathOfFile), ([, name]) => name!))];
}

/** The files that rows reference. The JSON texts of the rows are joined by line feeds, in UTF-8. */
export function fileReferencesIn(rows: Uint8Array): FileReference[] {
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  // Most blocks contain neither text, and a search in bytes is much faster than a search in a string.
  if (!bytes.includes(pathStart) && !bytes.includes(escapeStart)) return [];
  // latin1 is enough: names and escapes are ASCII, and all bytes of other UTF-8 characters are above ASCII.
  const text = bytes.toString('latin1');
  if (!mayNameFiles(text)) return [];
  return text.split('\n').flatMap((row, index) => fileNamesIn(row).map((file) => ({ index, file })));
}

/** A quick check that rules out nearly all texts. */
function mayNameFiles(text: string): boolean {
  return text.includes(pathStart) || (text.includes(escapeStart) && text.search(escapedCharacter) !== -1);
}

function toCharacter(_: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}
