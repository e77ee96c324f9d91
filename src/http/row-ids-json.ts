import type { RowQueries } from '../../projections/tables/rows.queries.ts';
import { rowIdPrefix, rowIdSuffix } from '../events/row-id.ts';
import type { RowRange } from '../events/outcome.ts';

/** The IDs of a team's rows as a JSON array, in the order of the input (spec section 1, rule 3). */
export async function rowIdsJson(rows: RowQueries, teamId: string, ranges: readonly RowRange[] = []): Promise<string> {
  const ids: string[] = [];
  for (const range of ranges) {
    const { version, ordinal, first, count } = range;
    const prefix = rowIdPrefix(version, ordinal);
    const kept = range.keeps ? await rows.keptIds(teamId, range) : null;
    for (let index = first; index < first + count; index += 1) ids.push(`"${kept?.get(index) ?? prefix + rowIdSuffix(index)}"`);
  }
  return `[${ids.join(',')}]`;
}
