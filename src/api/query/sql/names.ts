/**
 * Encodes the names of a query for the text that the engine runs. An encoded name has only lowercase letters, digits
 * and `_`, so it can never be anything but a name. The encoding distinguishes `a` from `A`, which DuckDB does not.
 */
const plain = /^[a-z0-9]+(?:_[a-z0-9]+)*$/;

/** Names that DuckDB treats as function calls if there is no such column. */
const calls: ReadonlySet<string> = new Set([
  'current_catalog',
  'current_date',
  'current_role',
  'current_schema',
  'current_time',
  'current_timestamp',
  'current_user',
  'localtime',
  'localtimestamp',
  'session_user',
  'user',
]);

/**
 * The encoded form of a name. Different names have different encodings. Most names of lowercase letters, digits and
 * single `_` stay as they are.
 */
export function encodeName(name: string): string {
  return plain.test(name) && !calls.has(name)
    ? name
    : `__${name.replace(/[^a-z0-9]/gu, (character) => `_${character.codePointAt(0)!.toString(16)}_`)}`;
}

/** An encoded name in double quotes. */
export function quoteName(name: string): string {
  return `"${encodeName(name)}"`;
}

/** Decodes a name. A text that is not an encoded name stays as it is. */
export function decodeName(encoded: string): string {
  if (!/^__[a-z0-9_]+$/.test(encoded)) return encoded;
  const name = encoded
    .slice(2)
    .replace(/_(10[0-9a-f]{4}|[0-9a-f]{1,5})_/g, (_escape, hex: string) => String.fromCodePoint(parseInt(hex, 16)));
  return encodeName(name) === encoded ? name : encoded;
}

/** Decodes the names in a text of the engine, such as a message. */
export function decodeNames(text: string): string {
  return text.replace(/\b__[a-z0-9_]+\b/g, decodeName);
}
