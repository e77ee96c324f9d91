/** Changes the display names of a table's columns. IDs, types and order stay. */
import type { Refusal } from './refusal.ts';
import { findColumn } from './table-schema.ts';
import type { GivenColumnChange, SchemaColumn, TableSchema } from './table-schema.ts';

/** The schema with these display names; the same object if nothing changes. Types in `given` are passed over. */
export function displayColumns(
  schema: TableSchema,
  given: readonly GivenColumnChange[],
): { readonly schema: TableSchema } | { readonly refusal: Refusal } {
  const names = new Map<string, string | null | undefined>();
  for (const [at, { id, displayName }] of given.entries()) {
    const place = `columns[${at}].id`;
    if (findColumn(schema, id) === undefined) {
      return {
        refusal: { type: 'column_id_not_found', message: `${place}: the table has no column ${JSON.stringify(id)}` },
      };
    }
    if (names.has(id)) {
      return {
        refusal: {
          type: 'column_id_not_unique',
          message: `${place}: the column ID ${JSON.stringify(id)} occurs twice`,
        },
      };
    }
    names.set(id, displayName);
  }
  const columns = schema.columns.map((column) => {
    const name = names.get(column.id);
    return name === undefined || name === (column.displayName ?? null) ? column : shownAs(column, name);
  });
  return columns.every((column, at) => column === schema.columns[at]) ? { schema } : { schema: { columns } };
}

function shownAs({ id, types }: SchemaColumn, displayName: string | null): SchemaColumn {
  return displayName === null ? { id, types } : { id, displayName, types };
}
