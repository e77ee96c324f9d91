/** Rows as the CSV text of an answer, in UTF-8: a header that begins with `$rowID`, and a line per row. */
import { rowIdSuffix } from '../../src/language/events/row-id.ts';
import { DelimitedRowWriter, type WrittenColumn } from '../../src/language/formats/delimited-row-writer.ts';
import { rowIdKey } from '../../src/language/formats/row-scanner.ts';
import { currentType, type TableSchema } from '../../src/language/values/table-schema.ts';
import type { RowsText } from './rows-json.ts';

/** The columns of rows of a schema: `$rowID`, and those of the schema in their order. */
export function writtenColumns({ columns }: TableSchema): WrittenColumn[] {
  return [
    { id: rowIdKey, isJson: false },
    ...columns.map((column) => ({ id: column.id, isJson: currentType(column) === 'json' })),
  ];
}

export class RowsCsv implements RowsText {
  readonly #writer: DelimitedRowWriter;
  #count = 0;

  /** `columns`: the columns of the rows, `$rowID` first. */
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
    this.#writer.add(Buffer.from(`{"${rowIdKey}":"${id}"${body === '{}' ? '}' : `,${body.slice(1)}`}`));
    this.#count += 1;
  }

  /** CSV has no place for the continuation; a header of the answer has it. */
  page(): Buffer {
    return this.#writer.take();
  }
}
