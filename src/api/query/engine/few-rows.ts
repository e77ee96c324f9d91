/**
 * Statements that write a few rows into a copy. They contain the rows as literals, so they need not be prepared, and
 * run together with the other statements of a change. For many rows, RowWriter is faster.
 */
import type { CopiedChange, CopiedRow } from '../../../../projections/tables/copied-rows.ts';
import { rowValues } from '../../../language/values/row-text.ts';
import { quoteText } from '../sql/literals.ts';
import { partTable } from './parts.ts';
import { byPart, forever, type WrittenTable } from './row-writer.ts';
import type { StoredType } from './stored-type.ts';

/** The maximum number of rows for these statements. */
export const fewRowsMax = 8;

/** The statements that add a row with its number. */
export function addRow(to: WrittenTable, row: CopiedRow, n: bigint): string[] {
  return inserts(to, row, row.body, String(n), '');
}

/** The statements that end the row at a place, and add the changed row with the same number. */
export function changeRow(to: WrittenTable, { body, ...row }: CopiedChange): string[] {
  const { table, since } = to;
  const { version, ordinal, index } = row;
  const replaced = `until = ${forever} AND since < ${since} AND "version" = ${version} AND "ordinal" = ${ordinal} AND "index" = ${index}`;
  return [
    ...(body === null ? [] : inserts(to, row, body, 'n', ` FROM ${table} WHERE ${replaced}`)),
    `UPDATE ${table} SET until = ${since} WHERE ${replaced}`,
  ];
}

/** One INSERT for each part. `n` is the row's number in SQL, which may be read `from` the old row. */
function inserts(
  { table, columns, since }: WrittenTable,
  { version, ordinal, index, rowVersion, rowId }: Omit<CopiedRow, 'body'>,
  body: string,
  n: string,
  from: string,
): string[] {
  const cells = rowValues(body);
  return byPart(columns).map(([part, ofPart]) => {
    const place =
      part === 0
        ? [n, version, ordinal, index, rowVersion, quoteText(rowId), since, forever, quoteText(body)]
        : [n, since];
    const cellTexts = ofPart.map(({ id, stored }) => (cells.has(id) ? cellText(stored, cells.get(id)) : 'NULL'));
    return `INSERT INTO ${partTable(table, part)} SELECT ${[...place, ...cellTexts].join(', ')}${from}`;
  });
}

/** The stored value of a cell, in SQL. `json` is the parsed cell. */
function cellText({ prepare, read }: StoredType, json: unknown): string {
  const given = prepare === null ? JSON.stringify(json) : prepare(json);
  // Like `json_extract_string`.
  return given === 'null' ? 'NULL' : read(quoteText(given.startsWith('"') ? (JSON.parse(given) as string) : given));
}
