/** The results of the models' queries in the model of Postgres. */
import { bodyFormOf } from '../../projections/tables/read/stored-body.ts';
import type { Extent, Table } from '../../projections/tables/table.ts';
import { onReadModel, type Handler, type Handlers, type Values } from './handler.ts';
import { decodeRows } from './stored-rows.ts';
import type { TableRow, View } from './view.ts';

function tableOf(view: View, id: unknown): Table | null {
  const table = view.get('tables', String(id)) as Table | null;
  return table === null || table.deleted ? null : table;
}

/** One row, or none. */
function rows(row: object | null): readonly TableRow[] {
  return row === null ? [] : [row as TableRow];
}

/** The extent of the present generation of a table that has this row. */
function extentOf(view: View, { id, generation }: Table, { version, ordinal, index }: TableRow): Extent | undefined {
  return (view.all('extents') as unknown as readonly Extent[]).find((one) => {
    return (
      one.tableId === id &&
      one.version === version &&
      one.ordinal === ordinal &&
      one.generation === generation &&
      Number(index) < one.rows
    );
  });
}

/** The row at an index of an extent, as `rowAtIndex` finds it. */
function rowAt(
  view: View,
  { key, segment, first }: Pick<Extent, 'key' | 'segment' | 'first'>,
  index: number,
  mayHaveChange = true,
): TableRow {
  const change = mayHaveChange ? view.get('changes', `${key} ${index}`) : null;
  const stored = change === null ? view.get('segment_rows', `${segment} ${first + index}`) : null;
  return {
    rowIndex: index,
    changeVersion: change?.['version'] ?? null,
    changeBody: change?.['body'] ?? null,
    tailVersion: stored?.['version'] ?? null,
    storedBody: stored?.['body'] ?? null,
  };
}

/** A query of one table of a team. It finds nothing if the team has no such table. */
function ofTable(find: (view: View, table: Table, values: Values) => TableRow): Handler {
  return onReadModel((view, values) => {
    const [tableId, teamId] = values;
    const table = tableOf(view, tableId);
    return table === null || table.teamId !== teamId ? [] : [find(view, table, values)];
  });
}

export const modelStatements: Handlers = {
  select_teams: onReadModel((view, [ids]) => (ids as readonly string[]).flatMap((id) => rows(view.get('teams', id)))),
  select_tables: onReadModel((view, [ids]) => (ids as readonly string[]).flatMap((id) => rows(tableOf(view, id)))),
  select_schemas: onReadModel((view, [ids]) =>
    (ids as readonly string[]).flatMap((id) => {
      const table = tableOf(view, id);
      return rows(table && view.get('table_schemas', `${id} ${table.schemaVersion}`));
    }),
  ),
  select_tails: onReadModel((view, [ids]) =>
    (ids as readonly string[]).flatMap((id) => {
      const tail = tableOf(view, id)?.tail ?? null;
      return rows(tail === null ? null : view.get('extents', String(tail)));
    }),
  ),
  select_rows: onReadModel((view, values, [text]) =>
    decodeRows(text!, values).flatMap((row) => {
      const table = tableOf(view, row['tableId']);
      const extent = table === null ? undefined : extentOf(view, table, row);
      return extent ? { ...extent, ...rowAt(view, extent, Number(row['index'])) } : [];
    }),
  ),
  select_rows_of_extents: onReadModel((view, values, [text]) =>
    decodeRows(text!, values).map(({ at, index, mayHaveChange, ...extent }) => {
      return { at, ...rowAt(view, extent as unknown as Extent, Number(index), String(mayHaveChange) !== 'false') };
    }),
  ),
  select_row_keys: onReadModel((view, values, [text]) =>
    decodeRows(text!, values).flatMap(({ at, tableId, since, hash }) => {
      const found = view.get('row_keys', `${tableId} ${since} ${hash}`);
      if (found === null) return [];
      const { version, ordinal } = view.get('extents', String(found['extent']))!;
      return { at, extent: found['extent'], index: found['index'], version, ordinal, retainedId: null };
    }),
  ),
  read_row: ofTable((view, table, [, , version, ordinal, index]) => {
    const found = { suspended: false, schemaVersion: table.schemaVersion };
    const extent = extentOf(view, table, { version, ordinal, index });
    if (!extent) return { ...found, body: null, etag: 0n, form: null };
    const { changeVersion, changeBody, tailVersion, storedBody } = rowAt(view, extent, index);
    const versions = [changeVersion, tailVersion, extent.version, table.widened].filter((one) => one !== null);
    const { stored, decidedAt, wrap, rule } = bodyFormOf(extent);
    return {
      ...found,
      body: changeVersion === null ? storedBody : changeBody,
      etag: (versions as bigint[]).reduce((a, b) => (a > b ? a : b)),
      form: changeVersion === null ? `${stored} ${decidedAt} ${wrap ? 't' : 'f'} ${rule}` : null,
    };
  }),
  read_table_version: ofTable((_, { version }) => ({ version })),
  read_schema: onReadModel((view, [tableId, version]) => rows(view.get('table_schemas', `${tableId} ${version}`))),
};
