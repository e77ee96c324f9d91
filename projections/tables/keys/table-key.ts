/** The key of a table: the columns in which no two of its rows may be equal (docs/decisions/0078). */
import { isArrayType } from '../../../src/language/values/column-type.ts';
import type { Refusal } from '../../../src/language/values/refusal.ts';
import type { KeyColumn, RowKey } from '../../../src/language/values/row-key.ts';
import { currentType, findColumn, type TableSchema } from '../../../src/language/values/table-schema.ts';
import type { Table } from '../table.ts';
import type { EndedKeyChange, KeyIndex } from './key-changes.ts';

export interface TableKey extends KeyIndex {
  readonly columns: readonly KeyColumn[];
}

const known = new WeakMap<TableSchema, { readonly keyColumns: string; readonly key: TableKey }>();

/** The key of a table, with the present types of its columns; null if the table has none. */
export function keyOf(
  { id: tableId, keyColumns, keySince }: Pick<Table, 'id' | 'keyColumns' | 'keySince'>,
  schema: TableSchema,
): TableKey | null {
  if (keyColumns === null || keySince === null) return null;
  const before = known.get(schema);
  // Requests that declare different keys share the table's schema object.
  if (before?.keyColumns === keyColumns && before.key.since === keySince && before.key.tableId === tableId)
    return before.key;
  const columns = columnIdsOf(keyColumns).map((id) => ({ id, type: currentType(findColumn(schema, id)!) }));
  const key = { tableId, since: keySince, columns };
  known.set(schema, { keyColumns, key });
  return key;
}

/** The IDs of the columns of a key, as a table stores them. */
export function columnIdsOf(key: string): readonly string[] {
  return JSON.parse(key) as readonly string[];
}

/** The columns whose types must stay, because they are in the key of the table. */
export function fixedColumns({ keyColumns }: Pick<Table, 'keyColumns'>): ReadonlySet<string> | undefined {
  return keyColumns === null ? undefined : new Set(columnIdsOf(keyColumns));
}

/**
 * Why these columns cannot be the key of a table with this schema; null if they can. `place`: of the list, for
 * messages.
 */
export function checkGivenKey(ids: readonly string[], schema: TableSchema, place: string): Refusal | null {
  for (const [at, id] of ids.entries()) {
    const column = findColumn(schema, id);
    const name = `${place}[${at}]: the column ${JSON.stringify(id)}`;
    if (column === undefined)
      return {
        type: 'column_id_not_found',
        message: `${place}[${at}]: the table has no column ${JSON.stringify(id)}`,
      };
    if (ids.indexOf(id) !== at) return { type: 'column_id_not_unique', message: `${name} occurs twice` };
    const type = currentType(column);
    if (type === 'json' || isArrayType(type))
      return { type: 'request_validation_error', message: `${name} is ${type}; a key has columns of scalar types` };
  }
  return null;
}

/** The most characters of a value in a message. */
const shownLength = 100;

/** The key of a row for messages: `email = "ada@example.org"`. */
export function shownKey({ columns }: TableKey, { tokens }: RowKey): string {
  return tokens.map((token, at) => `${JSON.stringify(columns[at]!.id)} = ${shortened(token)}`).join(', ');
}

function shortened(token: string): string {
  return token.length <= shownLength ? token : `${token.slice(0, shownLength).toWellFormed()}...`;
}

/** The fields of a table for the key that an event declares; null removes the key. */
export function declared(columnIds: readonly string[] | null, version: bigint): Pick<Table, 'keyColumns' | 'keySince'> {
  return columnIds === null
    ? { keyColumns: null, keySince: null }
    : { keyColumns: JSON.stringify(columnIds), keySince: version };
}

/** Ends the index of the key of a table, if it has one. */
export function endKey({ id: tableId, keySince }: Table): readonly EndedKeyChange[] {
  return keySince === null ? [] : [{ kind: 'endedKey', tableId, since: keySince }];
}
