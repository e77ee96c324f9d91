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
 * @param place joins `link`, of the present generation
 * @param index the row's index there
 */
function rowStatement(name: string, place: string, index: string, body: string): Statement {
  return {
    name,
    text: `select teams.suspended, ${body},
        greatest(change.version, stored.version, link.version, tables.widened),
        case when tables.widened > coalesce(change.version, link.presented, link.schema_version)
            or coalesce(change.version, link.presented) is null
          then concat_ws(' ', tables.schema_version, coalesce(change.version, link.presented, link.schema_version),
            case when coalesce(change.version, link.presented) is not null then 'presented'
              when link.cells then 'cells' else 'received' end, link.wrap)
        end
      from tables
      join teams on teams.id = tables.team_id
      left join ${place}
      left join changes change on link.changed and change.link = link.key and change.index = ${index}
      left join segment_rows stored on change.link is null
        and stored.segment = link.segment and stored.index = link.first + ${index}
      where tables.id = $1 and tables.team_id = $2 and not tables.deleted`,
  };
}

/** By the place that an ID names: unless the row there kept another one. */
const selectRow = rowStatement(
  'read_row',
  `links link on link.table_id = tables.id and link.version = $3 and link.ordinal = $4
    and link.generation = tables.generation and $5::int4 < link.rows`,
  '$5::int4',
  `case when link.kept is not null and exists (
      select from kept_ids kept where kept.segment = link.segment and kept.index = link.first + $5::int4
    ) then null else coalesce(change.body, stored.body) end`,
);

/** By an ID that a row has kept. */
const selectKeptRow = rowStatement(
  'read_kept_row',
  `(kept_ids kept join links link on link.segment = kept.segment and link.kept is not null
      and kept.index >= link.first and kept.index < link.first + link.rows)
    on kept.id = $3 and link.table_id = tables.id and link.generation = tables.generation`,
  '(kept.index - link.first)',
  'coalesce(change.body, stored.body)',
);

const selectIdsOfLink: Statement = {
  name: 'read_ids_of_link',
  text: `select kept.index - links.first, kept.id from links
    join kept_ids kept on kept.segment = links.segment
      and kept.index >= links.first + $4 and kept.index < links.first + $4 + $5
    where links.table_id = $1 and links.version = $2 and links.ordinal = $3`,
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
    const { rows } = await this.#database.scans.with((client) => client.query(selectIdsOfLink, values));
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
