/** Patching a row: merging columns into its body, and whether that changes anything (spec 4.4, decisions 4). */
import { fitToken } from './fit-value.ts';
import { decodeString } from './json-text.ts';
import { formatRow, parseRow } from './row-text.ts';
import type { Cell } from './row-text.ts';
import { columnPlaces, currentType } from './table-schema.ts';
import type { TableSchema } from './table-schema.ts';

/**
 * The body after a patch that was decided under this schema.
 * @param currentBody as the schema presents it
 * @param patch the columns to set, as received; the token `null` clears a column
 * @param wrap whether a value that fits the items of an array column is taken as an array of one
 * @returns the current body itself if nothing changes; what the schema does not take is left out (`dropColumns`)
 */
export function applyPatch(
  currentBody: string, patch: readonly Cell[], schema: TableSchema, wrap: boolean,
): { readonly body: string; readonly changed: boolean } {
  const places = columnPlaces(schema);
  const tokens = new Map(parseRow(currentBody).map(({ id, token }) => [id, token]));
  let changed = false;
  for (const { id, token } of patch) {
    const place = places.get(id);
    if (place === undefined) continue;
    if (token === 'null') {
      changed = tokens.delete(id) || changed;
      continue;
    }
    const fitted = fitToken(token, currentType(schema.columns[place]!), wrap);
    const current = tokens.get(id);
    if (fitted === undefined || (current !== undefined && sameCell(current, fitted))) continue;
    tokens.set(id, fitted);
    changed = true;
  }
  if (!changed) return { body: currentBody, changed };
  const cells = Array.from(tokens, ([id, token]): Cell => ({ id, token }));
  return { body: formatRow(cells.sort((a, b) => places.get(a.id)! - places.get(b.id)!)), changed };
}

/** Whether two values are the same: numbers by value, strings by what they say, arrays and objects deeply. */
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
  return keys.length === Object.keys(b).length
    && keys.every((key) => Object.hasOwn(b, key) && isSame(valueOf(a, key), valueOf(b, key)));
}

function valueOf(object: object, key: string): unknown {
  return (object as Record<string, unknown>)[key];
}
