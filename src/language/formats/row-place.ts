/** Names the place of an error in a body. */
import type { ScannedRow } from './row-scanner.ts';

/** The key of the value that contains `position`; null between values and in keys. */
export function keyAt({ columns, starts, ends, count }: ScannedRow, position: number): string | null {
  for (let cell = count - 1; cell >= 0; cell -= 1) {
    if (position < starts[cell]!) continue;
    return ends[cell] === -1 || position < ends[cell]! ? columns[cell]!.id : null;
  }
  return null;
}

/** `rows[3].age`, or `rows[3]["my age"]` for a key that is not a plain word. */
export function placeInRow(row: number, key: string | null): string {
  return placeUnder(`rows[${row}]`, key);
}

/** The same for a row with another place. */
export function placeUnder(place: string, key: string | null): string {
  if (key === null) return place;
  return isWord(key) ? `${place}.${key}` : `${place}[${JSON.stringify(key)}]`;
}

/** `age: `, or `"my age": `; empty without a key. */
export function keyPrefix(key: string | null): string {
  if (key === null) return '';
  return isWord(key) ? `${key}: ` : `${JSON.stringify(key)}: `;
}

function isWord(key: string): boolean {
  return /^[\w$]+$/.test(key);
}
