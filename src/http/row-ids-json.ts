import { rowIdPrefix, rowIdSuffix } from '../events/row-id.ts';
import type { RowRange } from '../events/outcome.ts';

/** The IDs of added rows as a JSON array, in the order of the input (spec section 1, rule 3). */
export function rowIdsJson(ranges: readonly RowRange[] = []): string {
  const ids: string[] = [];
  for (const { version, ordinal, first, count } of ranges) {
    const prefix = rowIdPrefix(version, ordinal);
    for (let index = first; index < first + count; index += 1) ids.push(`"${prefix}${rowIdSuffix(index)}"`);
  }
  return `[${ids.join(',')}]`;
}
