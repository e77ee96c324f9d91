/** What the queries of the models find in the model of Postgres. */
import { formOf } from '../../projections/tables/read/stored-body.ts';
import type { Extent, Table } from '../../projections/tables/table.ts';
import type { Statement } from '../../src/storage/database/pipelined-client.ts';
import { decodeRows } from './stored-rows.ts';
import type { Row, View } from './view.ts';

// oxlint-disable-next-line typescript/no-explicit-any
type Values = readonly any[];
type Find = (view: View, values: Values, statement: Statement) => readonly Row[];

function tableOf(view: View, id: unknown): Table | null {
  const table = view.get('tables', String(id)) as Table | null;
  return table === null || table.deleted ? null : table;
}

/** No row, or one. */
function rows(row: object | null): readonly Row[] {
  return row === null ? [] : [row as Row];
}

function extents(view: View): readonly Extent[] {
  return view.all('extents') as unknown as readonly Extent[];
}

/** The row at an index of an extent, as `rowAtIndex` finds it. */
function rowAt(
  view: View,
  { key, segment, first }: Pick<Extent, 'key' | 'segment' | 'first'>,
  index: number,
  mayHaveChange = true,
): Row {
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

function byIds(table: string): Find {
  return (view, [ids]) => (ids as readonly string[]).flatMap((id) => rows(view.get(table, id)));
}

const finds: Readonly<Record<string, Find>> = {
  select_teams: byIds('teams'),
  select_tokens: byIds('tokens'),
  select_tables: (view, [ids]) => (ids as readonly string[]).flatMap((id) => rows(tableOf(view, id))),
  select_schemas: (view, [ids]) =>
    (ids as readonly string[]).flatMap((id) => {
      const table = tableOf(view, id);
      return rows(table && view.get('table_schemas', `${id} ${table.schemaVersion}`));
    }),
  select_tails: (view, [ids]) =>
    (ids as readonly string[]).flatMap((id) => {
      const tail = tableOf(view, id)?.tail ?? null;
      return rows(tail === null ? null : view.get('extents', String(tail)));
    }),
  select_extents: (view, values, statement) =>
    decodeRows(statement, values).flatMap(({ tableId, version, ordinal }) => {
      return extents(view).filter(
        (extent) => extent.tableId === tableId && extent.version === version && extent.ordinal === ordinal,
      );
    }) as unknown as Row[],
  // Garbage is not collected.
  select_issued_ids: () => [],
  select_rows: (view, values, statement) =>
    decodeRows(statement, values).flatMap(({ tableId, version, ordinal, index }) => {
      const generation = tableOf(view, tableId)?.generation;
      const extent = extents(view).find((one) => {
        return (
          one.tableId === tableId &&
          one.version === version &&
          one.ordinal === ordinal &&
          one.generation === generation &&
          Number(index) < one.rows
        );
      });
      return extent ? { ...extent, ...rowAt(view, extent, Number(index)) } : [];
    }),
  select_rows_of_extents: (view, values, statement) =>
    decodeRows(statement, values).map(({ at, index, mayHaveChange, ...extent }) => {
      return { at, ...rowAt(view, extent as unknown as Extent, Number(index), String(mayHaveChange) !== 'false') };
    }),
  select_segments: () => [],
  read_row: (view, [tableId, teamId, version, ordinal, index]) => {
    const table = tableOf(view, tableId);
    if (table === null || table.teamId !== teamId) return [];
    const found = { suspended: false, form: null, schemaVersion: table.schemaVersion };
    const extent = extents(view).find((one) => {
      return (
        one.tableId === tableId &&
        one.version === version &&
        one.ordinal === ordinal &&
        one.generation === table.generation &&
        index < one.rows
      );
    });
    if (!extent) return [{ ...found, body: null, etag: 0n }];
    const { changeVersion, changeBody, tailVersion, storedBody } = rowAt(view, extent, index);
    const versions = [changeVersion, tailVersion, extent.version, table.widened].filter(
      (one) => one !== null,
    ) as bigint[];
    const { stored, decidedAt, wrap, rule } = formOf(extent);
    return [
      {
        ...found,
        body: changeVersion === null ? storedBody : changeBody,
        etag: versions.reduce((a, b) => (a > b ? a : b)),
        form: changeVersion === null ? `${stored} ${decidedAt} ${wrap ? 't' : 'f'} ${rule}` : null,
      },
    ];
  },
  read_row_by_retained_id: (view, [tableId, teamId]) => {
    const table = tableOf(view, tableId);
    return table === null || table.teamId !== teamId
      ? []
      : [{ suspended: false, body: null, etag: 0n, form: null, schemaVersion: 0n }];
  },
  read_table_version: (view, [tableId, teamId]) => {
    const table = tableOf(view, tableId);
    return table === null || table.teamId !== teamId ? [] : [{ version: table.version }];
  },
  read_schema: (view, [tableId, version]) => {
    const schema = view.get('table_schemas', `${tableId} ${version}`);
    return rows(schema);
  },
};

/** Null for other statements. */
export function modelStatements(statement: Statement): ((view: View, values: Values) => readonly Row[]) | null {
  const find = finds[statement.name.replace(/_1$/, '')];
  return find ? (view, values) => find(view, values, statement) : null;
}
