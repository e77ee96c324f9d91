/** Names the place in a body where something is refused. */
import type { ScannedRow } from './row-scanner.ts';

/** The key of the value in which `position` stands; null if it stands between values or in a key. */
export function keyAt({ columns, starts, ends, count }: ScannedRow, position: number): string | null {
  for (let cell = count - 1; cell >= 0; cell -= 1) {
    if (position < starts[cell]!) continue;
    return ends[cell] === -1 || position < ends[cell]! ? columns[cell]!.id : null;
  }
  return null;
}

/** `rows[3].age`, or `rows[3]["my age"]` for a key that is no plain word. */
export function placeName(row: number, key: string | null): string {
  if (key === null) return `rows[${row}]`;
  return /^[\w$]+$/.test(key) ? `rows[${row}].${key}` : `rows[${row}][${JSON.stringify(key)}]`;
}
