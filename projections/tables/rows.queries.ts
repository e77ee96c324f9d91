/** The queries of HTTP for single rows. */
import type { Database } from '../../src/storage/database/database.ts';
import type { Statement } from '../../src/storage/database/pipelined-client.ts';
import { formatRowId, type RowAddress } from '../../src/language/events/row-id.ts';
import type { RetainingRange } from '../../src/language/events/outcome.ts';
import type { Refusal } from '../../src/language/values/refusal.ts';
import { changedSince, missingRow } from './guards.ts';
import type { Presenters } from './read/presenters.ts';
import { rowAtIndex, type JoinedRow } from './read/shown-rows.ts';
import { isExtentOf, isShownAt, latest, retainingExtents, retainsIdAt } from './read/table-at.ts';
import type { TableAnswer } from './tables.queries.ts';

export interface PresentedRow {
  /** The row as JSON text, with its `$rowID`. */
  readonly json: string;
  /** The greater of its version and that of the last widening of its table (docs/spec/decisions.md 2). */
  readonly etag: bigint;
}

interface FoundRow {
  readonly suspended: boolean;
  /** Null if there is no such row. */
  readonly body: string | null;
  readonly etag: bigint;
  /** How the body is stored, or null if it needs no conversion; and the schema version under which to read it. */
  readonly form: string | null;
  readonly schemaVersion: bigint;
}

type ExistingRow = FoundRow & { readonly body: string };

/** A row, and the join (`place`) that finds its extent. */
type RowOfTable = JoinedRow & { readonly place: string };

/**
 * Reads a row, and the version for its ETag. Returns few columns, because the driver's work grows with their number.
 */
function rowStatement(
  name: string,
  { place, join, body, version, form }: RowOfTable,
  etag = `greatest(${version}, ${latest.widened})`,
): Statement<FoundRow> {
  return {
    name,
    text: `select teams.suspended, ${body} as body, ${etag} as etag, ${form} as form,
    tables.schema_version as "schemaVersion"
      from tables
      join teams on teams.id = tables.team_id
      left join ${place}
      ${join}
      where tables.id = $1 and tables.team_id = $2 and not tables.deleted`,
  };
}

const namedRow = rowAtIndex('extents', '$5::int4', latest);

/** Finds a row at the place that its ID names, unless the row there retains another ID. */
const atPlace: RowOfTable = {
  ...namedRow,
  place: `extents on ${isExtentOf(latest, '$3', '$4', '$5::int4')}`,
  body: `case when ${retainsIdAt('extents', 'extents.first + $5::int4')} then null else ${namedRow.body} end`,
};
const selectRow = rowStatement('read_row', atPlace);
const selectVersion = rowStatement('read_row_version', atPlace, atPlace.version);

/** Finds a row by an ID that it retains. */
const byRetainedId: RowOfTable = {
  ...rowAtIndex('extents', '(retained_ids.index - extents.first)', latest),
  place: `(${retainingExtents}) on retained_ids.id = $3 and ${isShownAt('extents', latest)}`,
};
const selectRowByRetainedId = rowStatement('read_row_by_retained_id', byRetainedId);
const selectVersionByRetainedId = rowStatement('read_row_version_by_retained_id', byRetainedId, byRetainedId.version);

const selectIdsOfExtent: Statement<{ index: number; id: string }> = {
  name: 'read_ids_of_extent',
  text: `select retained_ids.index - extents.first as index, retained_ids.id from extents
    join retained_ids on retained_ids.segment = extents.segment
      and retained_ids.index >= extents.first + $4 and retained_ids.index < extents.first + $4 + $5
    where extents.table_id = $1 and extents.version = $2 and extents.ordinal = $3`,
};

export class RowQueries {
  readonly #database: Database;
  readonly #presenters: Presenters;

  constructor(database: Database, presenters: Presenters) {
    this.#database = database;
    this.#presenters = presenters;
  }

  /** One row, as it is presented now. */
  async row(teamId: string, tableId: string, row: RowAddress): Promise<TableAnswer<PresentedRow | 'row_not_found'>> {
    const found = await this.#find([selectRow, selectRowByRetainedId], teamId, tableId, row);
    if (typeof found === 'string') return found;
    const { body, etag, form, schemaVersion } = found;
    const present = await this.#presenters.of(tableId, schemaVersion, form);
    return { json: withRowId(formatRowId(row), present(body)), etag };
  }

  /**
   * Why the committed state refuses a patch of this row, whatever its cells are. Null if it does not, or if this
   * look-up cannot tell.
   */
  async refusalOfPatch(
    teamId: string,
    tableId: string,
    row: RowAddress,
    ifMatch: bigint | null,
  ): Promise<Refusal | null> {
    const found = await this.#find([selectVersion, selectVersionByRetainedId], teamId, tableId, row);
    if (found === 'row_not_found') return missingRow;
    return typeof found === 'string' ? null : changedSince('row', found.etag, ifMatch, { gaps: [] });
  }

  async #find(
    [atItsPlace, byItsId]: readonly [Statement<FoundRow>, Statement<FoundRow>],
    teamId: string,
    tableId: string,
    row: RowAddress,
  ): Promise<TableAnswer<ExistingRow | 'row_not_found'>> {
    const found = await this.#readRow(atItsPlace, [tableId, teamId, row.version, row.ordinal, row.index]);
    // If the row retains an ID, the ID does not name the row's place. Few tables have such rows.
    return found === 'row_not_found' ? this.#readRow(byItsId, [tableId, teamId, formatRowId(row)]) : found;
  }

  async #readRow(
    statement: Statement<FoundRow>,
    values: readonly unknown[],
  ): Promise<TableAnswer<ExistingRow | 'row_not_found'>> {
    const {
      rows: [found],
    } = await this.#database.reader.query(statement, values);
    if (found === undefined) return 'table_not_found';
    const { suspended, body } = found;
    if (suspended) return 'payment_required';
    return body === null ? 'row_not_found' : { ...found, body };
  }

  /** The IDs that rows of this range retain, by index. The IDs of all other rows follow from their places. */
  async retainedIds({
    version,
    ordinal,
    first,
    count,
    retainedIn,
  }: RetainingRange): Promise<ReadonlyMap<number, string>> {
    const values = [retainedIn, version, ordinal, first, count];
    const { rows } = await this.#database.scans.with((client) => client.query(selectIdsOfExtent, values));
    return new Map(rows.map(({ index, id }) => [index, id]));
  }
}

function withRowId(rowId: string, body: string): string {
  return body.length === 2 ? `{"$rowID":"${rowId}"}` : `{"$rowID":"${rowId}",${body.slice(1)}`;
}
