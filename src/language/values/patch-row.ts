/** Patches a row: merges columns into its body, and detects whether that changes anything (spec 4.4, decisions 4). */
import { fitToken } from './fit-value.ts';
import { decodeString } from './json-text.ts';
import { eachCell } from './row-text.ts';
import type { Cell } from './row-text.ts';
import { fitsBy } from './rule.ts';
import type { Rule } from './rule.ts';
import { columnPlaces, currentType } from './table-schema.ts';
import type { TableSchema } from './table-schema.ts';

/**
 * The body after a patch that was decided under this schema.
 * @param currentBody the body as the schema presents it
 * @param patch the columns to set, as received; the token `null` clears a column
 * @param wrap whether a value that fits the items of an array column becomes an array of one
 * @param rule the rule by which values fit
 * @returns the current body itself if nothing changes. Columns and values that do not fit the schema are left out
 * (`dropColumns`)
 */
export function applyPatch(
  currentBody: string,
  patch: readonly Cell[],
  schema: TableSchema,
  wrap: boolean,
  rule: Rule,
): { readonly body: string; readonly changed: boolean } {
  const places = columnPlaces(schema);
  const values = fittedValues(patch, schema, wrap, rule);
  const ids: string[] = [];
  const cells: string[] = [];
  let changed = false;
  eachCell(currentBody, (key, token) => {
    const id = decodeString(key);
    const value = values.get(id);
    values.delete(id);
    const changes = value !== undefined && (value === null || !sameCell(token, value));
    changed ||= changes;
    if (changes && value === null) return;
    ids.push(id);
    cells.push(`${key}:${changes ? value : token}`);
  });
  // The remaining columns are new in this row.
  for (const [id, value] of values) {
    if (value === null) continue;
    changed = true;
    const place = places.get(id)!;
    const behind = ids.findIndex((other) => places.get(other)! > place);
    const at = behind === -1 ? ids.length : behind;
    ids.splice(at, 0, id);
    cells.splice(at, 0, `${JSON.stringify(id)}:${value}`);
  }
  return changed ? { body: `{${cells.join(',')}}`, changed } : { body: currentBody, changed };
}

/** The values that a patch sets, by column, as the schema presents them; null clears a column. */
function fittedValues(
  patch: readonly Cell[],
  schema: TableSchema,
  wrap: boolean,
  rule: Rule,
): Map<string, string | null> {
  const places = columnPlaces(schema);
  const values = new Map<string, string | null>();
  for (const { id, token } of patch) {
    const place = places.get(id);
    if (place === undefined) continue;
    const type = currentType(schema.columns[place]!);
    const value = token === 'null' ? null : fitToken(token, type, wrap);
    if (value !== undefined && (value === null || fitsBy(rule, { text: token, isCell: false }, value, type)))
      values.set(id, value);
  }
  return values;
}

/** Whether two values are equal: numbers by value, strings by decoded text, arrays and objects deeply. */
export function sameCell(a: string, b: string): boolean {
  if (a === b) return true;
  const kind = a.charCodeAt(0);
  if (kind === 34) return b.charCodeAt(0) === 34 && decodeString(a) === decodeString(b);
  return isSame(JSON.parse(a), JSON.parse(b));
}

function isSame(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSame(valueOf(a, key), valueOf(b, key)))
  );
}

function valueOf(object: object, key: string): unknown {
  return (object as Record<string, unknown>)[key];
}
