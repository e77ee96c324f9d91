import type { BoundStatement } from '../../src/database/combine.ts';
import type { RowsStatement } from '../../src/database/rows-statement.ts';

/** The statement over these rows; none where there are none. */
export function storing<Row extends object>(rows: readonly Row[], statement: RowsStatement<Row>): BoundStatement[] {
  return rows.length === 0 ? [] : [statement.bind(rows)];
}
