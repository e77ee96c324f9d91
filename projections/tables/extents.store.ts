/** Reads and writes extents, their rows and changes: set-based, one statement per kind. */
import type { Statement, Tx } from '../../src/storage/database/pipelined-client.ts';
import { RowsStatement } from '../../src/storage/database/rows-statement.ts';
import type { RowAddress } from '../../src/language/events/row-id.ts';
import type { RowIdIssuer } from '../../src/language/events/row-id-runs.ts';
import { storedSegmentRows } from '../segments/segment.entity.ts';
import { toStoredRow, type FoundRow } from './read/read-rows.ts';
import { rowAtIndex } from './read/shown-rows.ts';
import { isShownNow, latest } from './read/table-at.ts';
import { storedChanges, storedExtents } from './table.entity.ts';
import type { Extent, IssuedIds, StoredRow, Table, WantedPlace } from './table.ts';

const extentColumns = storedExtents.columns();

const selectTails: Statement<Extent> = {
  name: 'select_tails',
  text: `select ${extentColumns} from tables join extents on extents.key = tables.tail
    where tables.id = any($1::uuid[]) and not tables.deleted`,
};

/** The open tail extents of these tables. */
export async function findTails(tx: Tx, tableIds: readonly string[]): Promise<Extent[]> {
  return (await tx.query(selectTails, [tableIds])).rows;
}

const selectExtentsByKey: Statement<Extent> = {
  name: 'select_extents_by_key',
  text: `select ${extentColumns} from unnest($1::int8[]) as wanted(key)
    join lateral (select * from extents where extents.key = wanted.key limit 1) extents on true`,
};

/** The extents with these local keys. */
export async function findExtentsByKey(tx: Tx, keys: readonly bigint[]): Promise<Extent[]> {
  return keys.length === 0 ? [] : (await tx.query(selectExtentsByKey, [keys])).rows;
}

/** Names an extent: the event of this version added it to the table under this ordinal. */
type WantedExtent = Pick<Extent, 'tableId' | 'version' | 'ordinal'>;

const wantedExtent = storedExtents.parameters('tableId', 'version', 'ordinal');

const selectExtents = new RowsStatement<WantedExtent, Extent>(
  'select_extents',
  wantedExtent,
  (rows) => `select ${extentColumns} from ${rows('wanted')}
    join lateral (
      select * from extents where extents.table_id = wanted.table_id and extents.version = wanted.version
        and extents.ordinal = wanted.ordinal limit 1
    ) extents on true`,
);

/** Whether Postgres can represent both numbers. */
const isPossible = ({ version, ordinal }: RowIdIssuer): boolean => version < 2n ** 63n && ordinal < 2 ** 31;

/**
 * These extents, of any generation that is not forgotten. Leaves out unknown extents, and extents with numbers that
 * Postgres cannot represent.
 */
export async function findExtents(tx: Tx, wanted: readonly WantedExtent[]): Promise<Extent[]> {
  const possible = wanted.filter(isPossible);
  return possible.length === 0 ? [] : selectExtents.find(tx, possible);
}

/**
 * A pack is unpacked once if it may have wanted entries, however many. `is true` prevents a join: the planner would
 * execute it as nested loops, because it underestimates the entries of packs.
 */
const selectIssuedIds: Statement<IssuedIds> = {
  name: 'select_issued_ids',
  text: `with wanted as materialized (
      select version, ordinal from unnest($2::int8[], $3::int4[]) as wanted(version, ordinal)
    ), packs as materialized (
      select distinct pack.version, pack.ordinal from wanted cross join lateral (
        select * from issued_ids where table_id = $1 and (version, ordinal) <= (wanted.version, wanted.ordinal)
        order by version desc, ordinal desc limit 1
      ) pack where (pack.last_version, pack.last_ordinal) >= (wanted.version, wanted.ordinal)
    ) select $1::uuid as "tableId", entry.* from packs
    cross join lateral (select * from issued_ids where table_id = $1 and version = packs.version
    and ordinal = packs.ordinal limit 1) issued
    cross join lateral unnest(issued.versions, issued.ordinals, issued.rows, issued.retained) entry(version, ordinal,
    rows, retained)
    where ((entry.version, entry.ordinal) in (select version, ordinal from wanted)) is true`,
};

/**
 * The row IDs that these extents of forgotten generations issued. Leaves out unknown extents, and extents with numbers
 * that Postgres cannot represent.
 */
export async function findIssuedIds(tx: Tx, tableId: string, wanted: readonly RowIdIssuer[]): Promise<IssuedIds[]> {
  const possible = wanted.filter(isPossible);
  if (possible.length === 0) return [];
  return (
    await tx.query(selectIssuedIds, [
      tableId,
      possible.map(({ version }) => version),
      possible.map(({ ordinal }) => ordinal),
    ])
  ).rows;
}

const selectExtentsOfSegments: Statement<Extent> = {
  name: 'select_extents_of_segments',
  text: `select ${extentColumns} from unnest($2::uuid[], $3::int8[]) as shown(table_id, generation)
    join extents on extents.table_id = shown.table_id and extents.generation = shown.generation
    where extents.segment = any($1::int8[]) and extents.retained is not null`,
};

/** The extents of these segments in the present generations of these tables. */
export async function findExtentsOfSegments(
  tx: Tx,
  segments: readonly bigint[],
  tables: readonly Pick<Table, 'id' | 'generation'>[],
): Promise<Extent[]> {
  const values = [segments, tables.map(({ id }) => id), tables.map(({ generation }) => generation)];
  return (await tx.query(selectExtentsOfSegments, values)).rows;
}

type WantedRow = RowAddress & { readonly tableId: string };

const wantedRow = rowAtIndex('extents', 'wanted.index', latest);

const selectRows = new RowsStatement<WantedRow, Extent & FoundRow>(
  'select_rows',
  { ...wantedExtent, index: 'int4' },
  (rows) => `select ${extentColumns}, ${wantedRow.columns} from ${rows('wanted')}
    join lateral (
      select extents.* from extents join tables on ${isShownNow}
      where extents.table_id = wanted.table_id and extents.version = wanted.version
        and extents.ordinal = wanted.ordinal and wanted.index < extents.rows limit 1
    ) extents on true
    ${wantedRow.join}`,
);

/** These rows of present generations, as stored. Leaves out unknown rows. */
export async function findRows(tx: Tx, wanted: readonly WantedRow[]): Promise<StoredRow[]> {
  const found = await selectRows.find(tx, wanted);
  return found.map(({ rowIndex, changeVersion, changeBody, tailVersion, storedBody, ...extent }) => {
    return toStoredRow(extent, { rowIndex, changeVersion, changeBody, tailVersion, storedBody });
  });
}

// Does not rely on `changed` in Postgres: a batch in flight may have set it before the change itself is visible.
const rowOfKnownExtent = rowAtIndex('wanted', 'wanted.index', latest, 'wanted.may_have_change');

const selectRowsOfExtents = new RowsStatement<
  Pick<Extent, 'key' | 'segment' | 'first'> & { index: number; mayHaveChange: boolean; at: number },
  FoundRow & { at: number }
>(
  'select_rows_of_extents',
  { ...storedExtents.parameters('key', 'segment', 'first'), index: 'int4', mayHaveChange: 'bool', at: 'int4' },
  (rows) => `select wanted.at, ${rowOfKnownExtent.columns} from ${rows('wanted')} ${rowOfKnownExtent.join}`,
);

function findPlaces(tx: Tx, wanted: readonly WantedPlace[]): Promise<(FoundRow & { at: number })[]> {
  return selectRowsOfExtents.find(
    tx,
    wanted.map(({ extent: { key, segment, first }, index, mayHaveChange }, at) => ({
      key,
      segment,
      first,
      index,
      mayHaveChange,
      at,
    })),
  );
}

/** Rows of known extents. Each index must be below the number of rows of its extent. */
export async function findRowsOfExtents(tx: Tx, wanted: readonly WantedPlace[]): Promise<StoredRow[]> {
  return (await findPlaces(tx, wanted)).map((found) => toStoredRow(wanted[found.at]!.extent, found));
}

/** As `findRowsOfExtents`, without rows that are not visible (yet): the extents may be newer than the snapshot. */
export async function findVisibleRowsOfExtents(tx: Tx, wanted: readonly WantedPlace[]): Promise<StoredRow[]> {
  const visible = (await findPlaces(tx, wanted)).filter(
    ({ changeVersion, storedBody }) => changeVersion !== null || storedBody !== null,
  );
  return visible.map((found) => toStoredRow(wanted[found.at]!.extent, found));
}

/** `insertExtents` stores new extents, and fails if a key is taken. `updateExtents` stores existing ones. */
export const insertExtents = storedExtents.insert('insert_extents');
export const updateExtents = storedExtents.update('update_extents', ['rows', 'bytes', 'changed', 'deleted']);

export const insertTailRows = storedSegmentRows.insert('insert_tail_rows');

/**
 * `insertChanges` stores changes of rows that have none, and fails if there is one. `upsertChanges` stores changes of
 * rows that have one, and takes half as long again.
 */
export const insertChanges = storedChanges.insert('insert_changes');
export const upsertChanges = storedChanges.upsert('upsert_changes', ['version', 'body']);

/** The columns of a change that stores this row. */
export function changeOf({ extent, index, version, body }: StoredRow): {
  extent: bigint;
  index: number;
  version: bigint;
  body: string | null;
} {
  return { extent: extent.key, index, version, body };
}
