import type { BoundStatement } from '../../src/database/combine.ts';
import type { RowsStatement } from '../../src/database/rows-statement.ts';
import type { Steps } from '../../src/time-slices.ts';

/** A statement that is to be bound to its rows, in steps; none if there are no rows. */
export function storing<Row extends object>(rows: readonly Row[], statement: RowsStatement<Row>): Steps<BoundStatement>[] {
  return rows.length === 0 ? [] : [statement.binding(rows)];
}
