import type { BoundStatement } from '../../storage/database/combine.ts';
import type { RowsStatement } from '../../storage/database/rows-statement.ts';
import type { Steps } from '../../language/time-slices.ts';

/** A statement to be bound to its rows, in steps; none if there are no rows. */
export function storing<Row extends object>(
  rows: readonly Row[],
  statement: RowsStatement<Row>,
): Steps<BoundStatement>[] {
  return rows.length === 0 ? [] : [statement.binding(rows)];
}
