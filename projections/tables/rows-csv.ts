/** Rows as the CSV text of an answer, in UTF-8: a header, which begins with `$rowID`, and a line for each row. */
import { rowIdSuffix } from '../../src/events/row-id.ts';
import { DelimitedRowWriter, type WrittenColumn } from '../../src/formats/delimited-row-writer.ts';
import { rowIdKey } from '../../src/formats/row-scanner.ts';
import { decodeString } from '../../src/values/json-text.ts';
import { eachCell } from '../../src/values/row-text.ts';
import { currentType, type TableSchema } from '../../src/values/table-schema.ts';
import type { RowsText } from './rows-json.ts';

/** The columns of rows of a schema: `$rowID`, and those of the schema in their order. */
export function writtenColumns({ columns }: TableSchema): WrittenColumn[] {
  return [{ id: rowIdKey, isJson: false }, ...columns.map((column) => ({ id: column.id, isJson: currentType(column) === 'json' }))];
}

/** After so many rows their text is put into bytes: a text that grows takes several times as many. */
const rowsAtOnce = 64;

export class RowsCsv implements RowsText {
  readonly #writer: DelimitedRowWriter;
  readonly #parts: Buffer[] = [];
  #count = 0;

  /** `columns`: those of the rows, `$rowID` first. */
  constructor(columns: readonly WrittenColumn[]) {
    this.#writer = new DelimitedRowWriter(',', columns);
  }

  get count(): number {
    return this.#count;
  }

  add(prefix: string, index: number, body: string): void {
    this.addRetained(prefix + rowIdSuffix(index), body);
  }

  addRetained(id: string, body: string): void {
    this.#writer.set(rowIdKey, `"${id}"`);
    eachCell(body, (key, token) => this.#writer.set(decodeString(key), token));
    this.#writer.endRow();
    this.#count += 1;
    if (this.#count % rowsAtOnce === 0) this.#parts.push(Buffer.from(this.#writer.take()));
  }

  /** The continuation has no place in CSV: it is in a header. */
  page(): Buffer {
    return Buffer.concat([...this.#parts, Buffer.from(this.#writer.take())]);
  }
}
