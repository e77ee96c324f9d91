/**
 * Schemas in the notation of decision tests: `a:number b:array<date>`; with the versions of types,
 * `a:10:number<20:string`.
 */
import type { ColumnType } from '../../src/language/values/column-type.ts';
import { currentType, type GivenColumn, type TableSchema } from '../../src/language/values/table-schema.ts';

/**
 * The version at which a table was created. Its columns were created then too, unless the text gives another version.
 */
export const createdAt = 10n;

export function schemaFrom(text: string): TableSchema {
  const columns = text
    .split(' ')
    .filter((column) => column !== '')
    .map((column) => {
      const [id, types] = [column.slice(0, column.indexOf(':')), column.slice(column.indexOf(':') + 1)];
      const entries = types.split(/<(?=\d)/).map((entry) => {
        const [, since, type] = /^(?:(\d+):)?(.+)$/.exec(entry)!;
        return { since: since === undefined ? createdAt : BigInt(since), type: type as ColumnType };
      });
      return { id, types: entries };
    });
  return { columns };
}

/** The columns of `a:number b:array<date>`, as a client gives them. */
export function columnsFrom(text: string): GivenColumn[] {
  return schemaFrom(text).columns.map((column) => ({ id: column.id, type: currentType(column) }));
}
