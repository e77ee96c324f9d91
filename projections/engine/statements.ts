import type { BoundStatement } from '../../src/database/combine.ts';
import type { RowsStatement } from '../../src/database/rows-statement.ts';

/** Binds a statement to its rows; gives no statement if there are no rows. */
export function storing<Row extends object>(rows: readonly Row[], statement: RowsStatement<Row>): BoundStatement[] {
  return rows.length === 0 ? [] : [statement.bind(rows)];
}
