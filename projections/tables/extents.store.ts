/** Extents, their rows and the changes on them, as a batch reads and writes them: set-based, a statement a kind. */
import type { BoundStatement } from '../../src/database/combine.ts';
import type { ResultRow, Statement, Tx } from '../../src/database/pipelined-client.ts';
import { RowsStatement } from '../../src/database/rows-statement.ts';
import type { RowAddress } from '../../src/events/event.ts';
import { receivedForm } from '../../src/values/presentation.ts';
import type { Extent, StoredRow, Table, TailRow } from './table.ts';

const extentColumns = `extents.key, extents.table_id, extents.version, extents.ordinal, extents.generation, extents.schema_version,
  extents.wrap, extents.presented, extents.cells, extents.kept, extents.segment, extents.first, extents.rows, extents.bytes, extents.changed, extents.deleted`;
const extentColumnCount = 16;

function toExtent(row: ResultRow): Extent {
  const [key, tableId, version, ordinal, generation, schemaVersion, wrap, presented, cells, kept, segment, first, rows,
    bytes, changed, deleted] = row;
  return {
    key, tableId, version, ordinal, generation, schemaVersion, wrap, presented, cells, kept, segment, first, rows, bytes,
    changed, deleted,
  };
}

const selectTails: Statement = {
  name: 'select_tails',
  text: `select ${extentColumns} from tables join extents on extents.key = tables.tail
    where tables.id = any($1::uuid[]) and not tables.deleted`,
};

/** The open tail extents of these tables. */
export async function findTails(tx: Tx, tableIds: readonly string[]): Promise<Extent[]> {
  const { rows } = await tx.query(selectTails, [tableIds]);
  return rows.map(toExtent);
}

/** The extent that a version gave to a table under an ordinal. */
export interface WantedExtent {
  readonly tableId: string;
  readonly version: bigint;
  readonly ordinal: number;
}

const selectExtents = new RowsStatement<WantedExtent>(
  'select_extents',
  [['uuid', (extent) => extent.tableId], ['int8', (extent) => extent.version], ['int4', (extent) => extent.ordinal]],
  (rows) => `select ${extentColumns} from ${rows} as wanted(table_id, version, ordinal)
    join lateral (
      select * from extents where extents.table_id = wanted.table_id and extents.version = wanted.version
        and extents.ordinal = wanted.ordinal limit 1
    ) extents on true`,
);

/** These extents, of whatever generation; those that never were are left out. Versions past those of Postgres never were. */
export async function findExtents(tx: Tx, wanted: readonly WantedExtent[]): Promise<Extent[]> {
  const possible = wanted.filter(({ version, ordinal }) => version < 2n ** 63n && ordinal < 2 ** 31);
  if (possible.length === 0) return [];
  const { statement, values } = selectExtents.bind(possible);
  const { rows } = await tx.query(statement, values);
  return rows.map(toExtent);
}

const selectExtentsOfSegments: Statement = {
  name: 'select_extents_of_segments',
  text: `select ${extentColumns} from unnest($2::uuid[], $3::int8[]) as shown(table_id, generation)
    join extents on extents.table_id = shown.table_id and extents.generation = shown.generation
    where extents.segment = any($1::int8[]) and extents.kept is not null`,
};

/** The extents of these segments in the present generations of these tables. */
export async function findExtentsOfSegments(
  tx: Tx,
  segments: readonly bigint[],
  tables: readonly Pick<Table, 'id' | 'generation'>[],
): Promise<Extent[]> {
  const values = [segments, tables.map(({ id }) => id), tables.map(({ generation }) => generation)];
  const { rows } = await tx.query(selectExtentsOfSegments, values);
  return rows.map(toExtent);
}

type WantedRow = RowAddress & { readonly tableId: string };

/** The limits keep each look-up a probe of an index: without them the planner may read whole tables once for each row. */
const selectRows = new RowsStatement<WantedRow>(
  'select_rows',
  [
    ['uuid', (row) => row.tableId], ['int8', (row) => row.version], ['int4', (row) => row.ordinal],
    ['int4', (row) => row.index],
  ],
  (rows) => `select ${extentColumns}, wanted.index, change.version, change.body, stored.version, stored.body
    from ${rows} as wanted(table_id, version, ordinal, index)
    join lateral (
      select extents.* from extents join tables on tables.id = extents.table_id and tables.generation = extents.generation
        and not tables.deleted
      where extents.table_id = wanted.table_id and extents.version = wanted.version
        and extents.ordinal = wanted.ordinal and wanted.index < extents.rows limit 1
    ) extents on true
    left join lateral (
      select version, body from changes where changes.extent = extents.key and changes.index = wanted.index limit 1
    ) change on true
    left join lateral (
      select version, body from segment_rows where change.version is null
        and segment_rows.segment = extents.segment and segment_rows.index = extents.first + wanted.index limit 1
    ) stored on true`,
);

/** These rows of present generations as they are stored; those that never were are left out. */
export async function findRows(tx: Tx, wanted: readonly WantedRow[]): Promise<StoredRow[]> {
  const { statement, values } = selectRows.bind(wanted);
  const { rows } = await tx.query(statement, values);
  return rows.map((row) => {
    const [index, ...stored] = row.slice(extentColumnCount);
    return toStoredRow(toExtent(row), index, stored);
  });
}

interface WantedRowOfExtent {
  readonly extent: Extent;
  readonly index: number;
}

const selectRowsOfExtents = new RowsStatement<WantedRowOfExtent>(
  'select_rows_of_extents',
  [
    ['int8', ({ extent }) => extent.key], ['int8', ({ extent }) => extent.segment],
    ['int4', ({ extent, index }) => extent.first + index], ['int4', ({ index }) => index], ['int4', (_, at) => at],
  ],
  (rows) => `select wanted.place, change.version, change.body, stored.version, stored.body
    from ${rows} as wanted(extent, segment, segment_index, index, place)
    left join lateral (
      select version, body from changes where changes.extent = wanted.extent and changes.index = wanted.index limit 1
    ) change on true
    left join lateral (
      select version, body from segment_rows where change.version is null
        and segment_rows.segment = wanted.segment and segment_rows.index = wanted.segment_index limit 1
    ) stored on true`,
);

/** Rows of extents that are known already. Each index is one of its extent's. */
export async function findRowsOfExtents(tx: Tx, wanted: readonly WantedRowOfExtent[]): Promise<StoredRow[]> {
  const { statement, values } = selectRowsOfExtents.bind(wanted);
  const { rows } = await tx.query(statement, values);
  return rows.map(([place, ...stored]) => {
    const { extent, index } = wanted[place]!;
    return toStoredRow(extent, index, stored);
  });
}

function toStoredRow(extent: Extent, index: number, stored: ResultRow): StoredRow {
  const [changeVersion, changeBody, tailVersion, body] = stored;
  if (changeVersion !== null) {
    return { extent, index, version: changeVersion, body: changeBody, stored: 'presented', decidedAt: changeVersion };
  }
  if (body === null) throw new Error(`row ${index} of extent ${extent.key} has no body: the read model is damaged`);
  const { presented, cells, schemaVersion } = extent;
  const version = tailVersion ?? extent.version;
  if (presented !== null) return { extent, index, version, body, stored: 'presented', decidedAt: presented };
  return { extent, index, version, body, stored: receivedForm(cells), decidedAt: schemaVersion };
}

const upsertExtents = new RowsStatement<Extent>(
  'upsert_extents',
  [
    ['int8', (extent) => extent.key], ['uuid', (extent) => extent.tableId], ['int8', (extent) => extent.version],
    ['int4', (extent) => extent.ordinal], ['int8', (extent) => extent.generation], ['int8', (extent) => extent.schemaVersion],
    ['bool', (extent) => extent.wrap], ['int8', (extent) => extent.presented], ['bool', (extent) => extent.cells],
    ['text', (extent) => (extent.kept === null ? null : Buffer.from(extent.kept).toString('base64'))], ['int8', (extent) => extent.segment],
    ['int4', (extent) => extent.first], ['int4', (extent) => extent.rows], ['int4', (extent) => extent.bytes],
    ['bool', (extent) => extent.changed], ['int4', (extent) => extent.deleted],
  ],
  (rows) => `insert into extents (key, table_id, version, ordinal, generation, schema_version, wrap, presented, cells, kept, segment,
      first, rows, bytes, changed, deleted)
    select key, table_id, version, ordinal, generation, schema_version, wrap, presented, cells, decode(kept, 'base64'), segment,
      first, rows, bytes, changed, deleted
    from ${rows} as given(key, table_id, version, ordinal, generation, schema_version, wrap, presented, cells, kept, segment,
      first, rows, bytes, changed, deleted)
    on conflict (key) do update set rows = excluded.rows, bytes = excluded.bytes, changed = excluded.changed,
      deleted = excluded.deleted`,
);

export function storeExtents(extents: readonly Extent[]): BoundStatement {
  return upsertExtents.bind(extents);
}

const insertTailRows = new RowsStatement<TailRow>(
  'insert_tail_rows',
  [
    ['int8', (row) => row.segment], ['int4', (row) => row.index], ['int8', (row) => row.version],
    ['lines', (row) => row.body],
  ],
  (rows) => `insert into segment_rows (segment, index, version, body) select * from ${rows} as given`,
);

export function storeTailRows(rows: readonly TailRow[]): BoundStatement {
  return insertTailRows.bind(rows);
}

/** No row body is an empty text, so an empty line stands for a deletion. */
const upsertChanges = new RowsStatement<StoredRow>(
  'upsert_changes',
  [
    ['int8', (row) => row.extent.key], ['int4', (row) => row.index], ['int8', (row) => row.version],
    ['lines', (row) => row.body ?? ''],
  ],
  (rows) => `insert into changes (extent, index, version, body)
    select extent, index, version, nullif(body, '') from ${rows} as given(extent, index, version, body)
    on conflict (extent, index) do update set version = excluded.version, body = excluded.body`,
);

export function storeChanges(rows: readonly StoredRow[]): BoundStatement {
  return upsertChanges.bind(rows);
}
