/** What HTTP reads of single rows. */
import type { Database } from '../../src/database/database.ts';
import type { Statement } from '../../src/database/pipelined-client.ts';
import { formatRowId } from '../../src/events/row-id.ts';
import type { RowAddress } from '../../src/events/event.ts';
import type { KeepingRange } from '../../src/events/outcome.ts';
import type { StoredForm } from '../../src/values/presentation.ts';
import type { Presenters } from './presenters.ts';
import type { TableAnswer } from './tables.queries.ts';

export interface PresentedRow {
  /** The row as JSON text, with its `$rowID`. */
  readonly json: string;
  /** The greater of its version and that of the last widening of its table (decisions 2). */
  readonly etag: bigint;
}

/**
 * Reads a row, wherever `place` finds it. Few columns, because the driver's work grows with them: how the body is to be
 * converted comes as one text, and only where it must be.
 * @param place joins `extent`, of the present generation
 * @param index the row's index there
 */
function rowStatement(name: string, place: string, index: string, body: string): Statement {
  return {
    name,
    text: `select teams.suspended, ${body},
        greatest(change.version, stored.version, extent.version, tables.widened),
        case when tables.widened > coalesce(change.version, extent.presented, extent.schema_version)
            or coalesce(change.version, extent.presented) is null
          then concat_ws(' ', tables.schema_version, coalesce(change.version, extent.presented, extent.schema_version),
            case when coalesce(change.version, extent.presented) is not null then 'presented'
              when extent.cells then 'cells' else 'received' end, extent.wrap)
        end
      from tables
      join teams on teams.id = tables.team_id
      left join ${place}
      left join changes change on extent.changed and change.extent = extent.key and change.index = ${index}
      left join segment_rows stored on change.extent is null
        and stored.segment = extent.segment and stored.index = extent.first + ${index}
      where tables.id = $1 and tables.team_id = $2 and not tables.deleted`,
  };
}

/** By the place that an ID names: unless the row there kept another one. */
const selectRow = rowStatement(
  'read_row',
  `extents extent on extent.table_id = tables.id and extent.version = $3 and extent.ordinal = $4
    and extent.generation = tables.generation and $5::int4 < extent.rows`,
  '$5::int4',
  `case when extent.kept is not null and exists (
      select from kept_ids kept where kept.segment = extent.segment and kept.index = extent.first + $5::int4
    ) then null else coalesce(change.body, stored.body) end`,
);

/** By an ID that a row has kept. */
const selectKeptRow = rowStatement(
  'read_kept_row',
  `(kept_ids kept join extents extent on extent.segment = kept.segment and extent.kept is not null
      and kept.index >= extent.first and kept.index < extent.first + extent.rows)
    on kept.id = $3 and extent.table_id = tables.id and extent.generation = tables.generation`,
  '(kept.index - extent.first)',
  'coalesce(change.body, stored.body)',
);

const selectIdsOfExtent: Statement = {
  name: 'read_ids_of_extent',
  text: `select kept.index - extents.first, kept.id from extents
    join kept_ids kept on kept.segment = extents.segment
      and kept.index >= extents.first + $4 and kept.index < extents.first + $4 + $5
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
    const id = formatRowId(row);
    const found = await this.#readRow(selectRow, [tableId, teamId, row.version, row.ordinal, row.index], id);
    // Few tables have rows that kept an ID, and then it is no place any more.
    return found === 'row_not_found' ? this.#readRow(selectKeptRow, [tableId, teamId, id], id) : found;
  }

  async #readRow(
    statement: Statement,
    values: readonly [tableId: string, ...unknown[]],
    id: string,
  ): Promise<TableAnswer<PresentedRow | 'row_not_found'>> {
    const { rows } = await this.#database.reader.query(statement, values);
    if (rows.length === 0) return 'table_not_found';
    const [suspended, stored, etag, conversion] = rows[0]!;
    if (suspended) return 'payment_required';
    if (stored === null) return 'row_not_found';
    const body = conversion === null ? stored : await this.#convert(values[0], conversion, stored);
    return { json: withRowId(id, body), etag };
  }

  /** The IDs that rows of this range kept, by their indexes; the other rows have those of their places. */
  async keptIds({ version, ordinal, first, count, keeps }: KeepingRange): Promise<ReadonlyMap<number, string>> {
    const values = [keeps, version, ordinal, first, count];
    const { rows } = await this.#database.scans.with((client) => client.query(selectIdsOfExtent, values));
    return new Map(rows.map(([index, id]) => [index, id]));
  }

  /** `conversion` is as read_row writes it: schema version, version decided at, stored form, wrap. */
  async #convert(tableId: string, conversion: string, body: string): Promise<string> {
    const [schemaVersion, decidedAt, form, wrap] = conversion.split(' ') as [string, string, StoredForm, 't' | 'f'];
    const presenterFor = await this.#presenters.of(tableId, BigInt(schemaVersion));
    return presenterFor(BigInt(decidedAt), form, wrap === 't')(body);
  }
}

function withRowId(rowId: string, body: string): string {
  return body.length === 2 ? `{"$rowID":"${rowId}"}` : `{"$rowID":"${rowId}",${body.slice(1)}`;
}
