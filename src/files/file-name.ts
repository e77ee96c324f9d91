/**
 * The names of files, and where rows name them. A file's URL is `…/files/<name>/<file name>`; whoever has stored that in a row
 * needs the file (spec sections 3 and 4.9).
 */
/** The bytes that a name is made of. */
export const nameBytes = 16;
const nameLength = Math.ceil((nameBytes * 4) / 3);
const wholeName = new RegExp(`^[\\w-]{${nameLength}}$`);

/** Whether `newFileName` (new-file-name.ts) could have given it: of some bytes there is one spelling. Nothing else becomes part of a path. */
export function isFileName(text: string): boolean {
  return wholeName.test(text) && Buffer.from(text, 'base64url').toString('base64url') === text;
}

/** The path of a file's URL, from the root of the service on. `fileName` is the client's name for it: any text. */
export function filePath(name: string, fileName: string): string {
  return `/files/${name}/${encodeURIComponent(fileName.toWellFormed())}`;
}

/** A file that a row names, and the place of the row among others. */
export interface FileReference {
  readonly index: number;
  readonly file: string;
}

/** The path of a URL, with as many backslashes before its second slash as the levels of JSON give it that it stands in. */
const pathOfFile = new RegExp(`/files\\\\*/([\\w-]{${nameLength}})`, 'g');

/**
 * An escape of JSON for a character that such a path is written with: `-`, `/`, digits, letters, `_` and the backslash. It is tried
 * once for each run of backslashes, however long that is: else a row of nothing but those would take minutes.
 */
const escapedCharacter = /(?<!\\)\\+u00(2[df]|3\d|[46][1-9a-f]|5[\dacf]|7[\da])/gi;
const escapeStart = '\\u00';

const noNames: readonly string[] = [];

/**
 * The names of the files whose URLs stand in the JSON text of a row, each once: anywhere in a string, on any level, with escapes or
 * without. JSON within a string counts too, because a cell of CSV may become a list. What only looks like a URL does no harm: a
 * file is kept for longer.
 */
export function fileNamesIn(row: string): readonly string[] {
  if (!mayNameFiles(row)) return noNames;
  const text = row.includes(escapeStart) ? row.replaceAll(escapedCharacter, toCharacter) : row;
  return [...new Set(Array.from(text.matchAll(pathOfFile), ([, name]) => name!))];
}

/** The files that rows name whose JSON texts are joined by line feeds, in UTF-8. */
export function fileReferencesIn(rows: Uint8Array): FileReference[] {
  // What names and escapes are made of is ASCII, and no byte of any other character is.
  const text = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength).toString('latin1');
  if (!mayNameFiles(text)) return [];
  return text.split('\n').flatMap((row, index) => fileNamesIn(row).map((file) => ({ index, file })));
}

/** Tells quickly that a text names no file, which is so for nearly all. */
function mayNameFiles(text: string): boolean {
  return text.includes('/files') || (text.includes(escapeStart) && text.search(escapedCharacter) !== -1);
}

function toCharacter(_: string, hex: string): string {
  return String.fromCharCode(Number.parseInt(hex, 16));
}
