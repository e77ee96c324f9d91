/** Changes the columns of a table: which there are, their types, names and order (docs/decisions/0077). */
import type { ColumnType } from './column-type.ts';
import { isSafe } from './convert-token.ts';
import { checkColumnCount, isReservedColumnId, reservedRefusal, unknownRefusal } from './decide-schema.ts';
import { displayColumns } from './display-columns.ts';
import type { Refusal } from './refusal.ts';
import { currentType, findColumn, schemaOf } from './table-schema.ts';
import type { ColumnChanges, GivenColumnChange, SchemaColumn, TableSchema } from './table-schema.ts';

/** The most types that a column can have in its life. If this number changed, replay would decide differently. */
const typesMax = 100;

/** The change of a column to a type that some values of its present type may not fit. */
export interface UnsafeChange {
  readonly id: string;
  /** The place of the change in the request, for messages. */
  readonly place: string;
  readonly type: ColumnType;
}

export interface ChangedColumns {
  /** The same object if nothing changes. */
  readonly schema: TableSchema;
  /** Whether existing rows read differently from now on. */
  readonly rereads: boolean;
  readonly unsafe: readonly UnsafeChange[];
}

type Refused = { readonly refusal: Refusal };

/** Applies the changes at a version. Refuses the first one that cannot be made. */
export function changeColumns(
  before: TableSchema,
  { remove, change, add, order }: ColumnChanges,
  version: bigint,
  columnsMax: number,
): ChangedColumns | Refused {
  const wrong = checkNamed(before, remove, 'remove');
  if (wrong !== null) return { refusal: wrong };
  const removed = new Set(remove);
  const kept = removed.size === 0 ? before : { columns: before.columns.filter(({ id }) => !removed.has(id)) };

  const displayed = displayColumns(kept, change);
  if ('refusal' in displayed) return displayed;
  const retyped = retypeColumns(displayed.schema, change, version);
  if ('refusal' in retyped) return retyped;

  const clash = checkAdded(retyped.schema, add);
  if (clash !== null) return { refusal: clash };
  const added = schemaOf(add, version).columns;
  const columns = [...retyped.schema.columns, ...added];
  const tooMany = added.length === 0 ? null : checkColumnCount(columns.length, columnsMax);
  if (tooMany !== null) return { refusal: tooMany };

  const misplaced = checkNamed({ columns }, order, 'order');
  if (misplaced !== null) return { refusal: misplaced };
  const ordered = inOrder(columns, order);
  const isSame =
    ordered.length === before.columns.length && ordered.every((column, at) => column === before.columns[at]);
  const isReordered = ordered.some((column, at) => column !== columns[at]);
  return {
    schema: isSame ? before : { columns: ordered },
    rereads: removed.size > 0 || retyped.isChanged || isReordered,
    unsafe: retyped.unsafe,
  };
}

/** Refuses the first ID that the schema lacks, or that occurs twice in the list. */
function checkNamed(schema: TableSchema, ids: readonly string[], list: string): Refusal | null {
  const seen = new Set<string>();
  for (const [at, id] of ids.entries()) {
    if (findColumn(schema, id) === undefined) return unknownRefusal(`${list}[${at}]`, id);
    if (seen.has(id)) return repeatedRefusal(`${list}[${at}]`, id);
    seen.add(id);
  }
  return null;
}

function checkAdded(schema: TableSchema, added: readonly { readonly id: string }[]): Refusal | null {
  const seen = new Set<string>();
  for (const [at, { id }] of added.entries()) {
    const place = `add[${at}].id`;
    if (isReservedColumnId(id)) return reservedRefusal(place, id);
    if (seen.has(id)) return repeatedRefusal(place, id);
    if (findColumn(schema, id) !== undefined) {
      const message = `${place}: the table has a column ${JSON.stringify(id)} already`;
      return { type: 'column_id_not_unique', message };
    }
    seen.add(id);
  }
  return null;
}

function repeatedRefusal(place: string, id: string): Refusal {
  return { type: 'column_id_not_unique', message: `${place}: the column ID ${JSON.stringify(id)} occurs twice` };
}

/** Gives columns other types. The schema has a column for each ID. */
function retypeColumns(
  schema: TableSchema,
  change: readonly GivenColumnChange[],
  version: bigint,
): { readonly schema: TableSchema; readonly isChanged: boolean; readonly unsafe: UnsafeChange[] } | Refused {
  const types = new Map<string, ColumnType>();
  const unsafe: UnsafeChange[] = [];
  for (const [at, { id, type }] of change.entries()) {
    const column = findColumn(schema, id)!;
    if (type === undefined || type === currentType(column)) continue;
    const place = `columns[${at}].type`;
    if (column.types.length >= typesMax) {
      const message = `${place}: the column ${JSON.stringify(id)} has had ${typesMax} types, and can have no other one`;
      return { refusal: { type: 'limit_exceeded', message } };
    }
    types.set(id, type);
    if (!isSafe(currentType(column), type)) unsafe.push({ id, place, type });
  }
  if (types.size === 0) return { schema, isChanged: false, unsafe };
  const columns = schema.columns.map((column) => {
    const type = types.get(column.id);
    return type === undefined ? column : { ...column, types: [...column.types, { since: version, type }] };
  });
  return { schema: { columns }, isChanged: true, unsafe };
}

/** The named columns first, in this order, then the others as they are. */
function inOrder(columns: readonly SchemaColumn[], order: readonly string[]): readonly SchemaColumn[] {
  if (order.length === 0) return columns;
  const named = new Set(order);
  const byId = new Map(columns.map((column) => [column.id, column]));
  return [...order.map((id) => byId.get(id)!), ...columns.filter(({ id }) => !named.has(id))];
}
