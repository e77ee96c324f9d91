/** What HTTP reads of single rows. */
import type { Database } from '../../src/storage/database/database.ts';
import type { Statement } from '../../src/storage/database/pipelined-client.ts';
import { formatRowId, type RowAddress } from '../../src/language/events/row-id.ts';
import type { RetainingRange } from '../../src/language/events/outcome.ts';
import type { Refusal } from '../../src/language/values/refusal.ts';
import { changedSince, missingRow } from './guards.ts';
import type { Presenters } from './presenters.ts';
import { changedFormInSql, formInSql, isPresentedInSql, joinRowAt, parseForm } from './stored-body.ts';
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
  /** How the body is stored, or null if it needs no conversion; and the schema version to read it under. */
  readonly form: string | null;
  readonly schemaVersion: bigint;
}

type ExistingRow = FoundRow & { readonly body: string };

/** The version of a row itself, and the one that its ETag tells. */
const rowVersion = 'greatest(change.version, stored.version, extents.version)';
const rowEtag = `greatest(${rowVersion}, tables.widened)`;

/**
 * Reads the row that `place` finds. Returns few columns, because the driver's work grows with them.
 * @param place a join to `extents` of the present generation
 * @param index the row's index in its extent
 */
function rowStatement(name: string, place: string, index: string, body: string, etag = rowEtag): Statement<FoundRow> {
  return {
    name,
    text: `select teams.suspended, ${body} as body, ${etag} as etag,
        case when ${isPresentedInSql('coalesce(change.version, extents.presented)', 'tables.widened')} then null
          when change.version is null then ${formInSql('extents')} else ${changedFormInSql('change.version')} end as form,
        tables.schema_version as "schemaVersion"
      from tables
      join teams on teams.id = tables.team_id
      left join ${place}
      ${joinRowAt('extents', index)}
      where tables.id = $1 and tables.team_id = $2 and not tables.deleted`,
  };
}

/** Finds a row at the place that its ID names, unless the row there retains another ID. */
const atPlace = [
  `extents on extents.table_id = tables.id and extents.version = $3 and extents.ordinal = $4
    and extents.generation = tables.generation and $5::int4 < extents.rows`,
  '$5::int4',
  `case when extents.retained is not null and exists (
      select from retained_ids where retained_ids.segment = extents.segment and retained_ids.index = extents.first + $5::int4
    ) then null else coalesce(change.body, stored.body) end`,
] as const;
const selectRow = rowStatement('read_row', ...atPlace);
const selectVersion = rowStatement('read_row_version', ...atPlace, rowVersion);

/** Finds a row by an ID that it retains. */
const byRetainedId = [
  `(retained_ids join extents on extents.segment = retained_ids.segment and extents.retained is not null
      and retained_ids.index >= extents.first and retained_ids.index < extents.first + extents.rows)
    on retained_ids.id = $3 and extents.table_id = tables.id and extents.generation = tables.generation`,
  '(retained_ids.index - extents.first)',
  'coalesce(change.body, stored.body)',
] as const;
const selectRowByRetainedId = rowStatement('read_row_by_retained_id', ...byRetainedId);
const selectVersionByRetainedId = rowStatement('read_row_version_by_retained_id', ...byRetainedId, rowVersion);

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
    const id = formatRowId(row);
    if (form === null) return { json: withRowId(id, body), etag };
    const presenterFor = await this.#presenters.of(tableId, schemaVersion);
    return { json: withRowId(id, presenterFor(parseForm(form))(body)), etag };
  }

  /**
   * Why the committed state refuses a patch of this row, whatever its cells are; null if it does not, or as far as is
   * known here.
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
    // A retained ID no longer names the row's place. Few tables have such rows.
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

  /** The IDs that rows of this range retain, by index; the IDs of the others follow from their places. */
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
