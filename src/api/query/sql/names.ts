/**
 * The names of a query in the text that the engine runs: of small letters, digits and `_` only, so that a name can
 * never be anything but a name there. It also tells `a` from `A`, which DuckDB does not.
 */
const plain = /^[a-z0-9]+(?:_[a-z0-9]+)*$/;

/** What DuckDB takes for calls of functions where there is no such column. */
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
 * A name as it stands in the text of the engine. Two names never become one; most of small letters, digits and single
 * `_` stay as they are.
 */
export function encodeName(name: string): string {
  return plain.test(name) && !calls.has(name)
    ? name
    : `__${name.replace(/[^a-z0-9]/gu, (character) => `_${character.codePointAt(0)!.toString(16)}_`)}`;
}

/** A name in the text of the engine. */
export function quoteName(name: string): string {
  return `"${encodeName(name)}"`;
}

/** A name of the engine as it was; what is none stays as it is. */
export function decodeName(encoded: string): string {
  if (!/^__[a-z0-9_]+$/.test(encoded)) return encoded;
  const name = encoded
    .slice(2)
    .replace(/_(10[0-9a-f]{4}|[0-9a-f]{1,5})_/g, (_escape, hex: string) => String.fromCodePoint(parseInt(hex, 16)));
  return encodeName(name) === encoded ? name : encoded;
}

/** A text of the engine, such as a message, with the names in it as they were. */
export function decodeNames(text: string): string {
  return text.replace(/\b__[a-z0-9_]+\b/g, decodeName);
}
