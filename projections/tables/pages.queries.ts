/** What HTTP reads of rows in pages. */
import type { Database } from '../../src/database/database.ts';
import type { Statement } from '../../src/database/pipelined-client.ts';
import { rowIdPrefix } from '../../src/events/row-id.ts';
import type { RowAddress } from '../../src/events/event.ts';
import { receivedForm, type PresenterFor } from '../../src/values/presentation.ts';
import type { Presenters } from './presenters.ts';
import { RowsJson } from './rows-json.ts';
import type { TableAnswer } from './tables.queries.ts';

/** A page ends at about so many bytes, however many rows were asked for (decisions 3). */
const pageBytesMax = 16 * 1024 * 1024;
/** However large the rows are, a page has so many. */
const pageRowsMin = 32;
/** A page looks at no more extents than these; it may be shorter than asked for. */
const pageExtentsMax = 64;

/** A place in the rows of a generation of a table: the next row is at this index or behind. */
export interface PagePosition extends RowAddress {
  readonly generation: bigint;
}

export interface RowsPage {
  /** The rows with their `$rowID`. */
  readonly rows: RowsJson;
  readonly etag: bigint;
  /** Where the next page begins; null when this is the last. */
  readonly next: PagePosition | null;
}

/**
 * One result row an extent. The rows of an extent come as one text: Postgres and Node handle a thousand rows as one value.
 * `lim` is what may come of an extent, one more than the page can hold, so that the last one tells that there are more.
 */
const selectPage: Statement = {
  name: 'read_page',
  text: `with target as (
      select tables.id, tables.version, teams.suspended, coalesce($3, tables.generation) as generation,
        case when present then tables.widened else ended.widened end as widened,
        case when present then tables.schema_version else ended.schema_version end as schema_version,
        least($7, greatest(${pageRowsMin}, ${pageBytesMax} / greatest(tables.row_bytes_max, 1))) as page_rows
      from tables join teams on teams.id = tables.team_id
      cross join lateral (select $3::int8 is null or $3 = tables.generation as present) as asked
      left join generations ended on not present and ended.table_id = tables.id and ended.version = $3
        and not ended.swept
      where tables.id = $1 and tables.team_id = $2 and not tables.deleted
    ), ahead as (
      select extents.*, case when (extents.version, extents.ordinal) = ($4, $5) then $6::int4 else 0 end as start, target.page_rows
      from target join extents on extents.table_id = target.id and extents.generation = target.generation
        and extents.version >= target.generation and (extents.version, extents.ordinal) >= ($4, $5) and extents.deleted < extents.rows
      order by extents.version, extents.ordinal limit ${pageExtentsMax}
    ), bounded as (
      select *, page_rows + 1 - coalesce(sum(rows - start) over (
        order by version, ordinal rows between unbounded preceding and 1 preceding), 0) as lim
      from ahead
    )
    select target.suspended, target.version, target.widened, target.schema_version, target.generation, target.page_rows,
      bounded.version, bounded.ordinal, bounded.schema_version, bounded.wrap, bounded.presented, bounded.cells, bounded.changed, bounded.lim,
      found.count, found.first, found.indexes, found.versions, found.ids, found.bodies
    from target left join bounded on true
    left join lateral (
      select count(*)::int4 as count, min(live.index) as first, string_agg(live.body, E'\\n') as bodies,
        case when bounded.changed then array_agg(live.index) end as indexes,
        case when bounded.changed then array_agg(live.version) end as versions,
        case when bounded.kept is not null then array_agg(live.id) end as ids
      from (
        select segment_rows.index - bounded.first as index, coalesce(changes.body, segment_rows.body) as body,
          changes.version, case when bounded.kept is not null then (
            select kept_ids.id from kept_ids
            where kept_ids.segment = segment_rows.segment and kept_ids.index = segment_rows.index
          ) end as id
        from segment_rows left join changes
          on bounded.changed and changes.extent = bounded.key and changes.index = segment_rows.index - bounded.first
        where segment_rows.segment = bounded.segment and segment_rows.index >= bounded.first + bounded.start
          and segment_rows.index < bounded.first + bounded.rows and (changes.extent is null or changes.body is not null)
        order by segment_rows.index
        limit greatest(bounded.lim, 0)
      ) live
    ) found on bounded.lim > 0
    order by bounded.version, bounded.ordinal`,
};

export class PageQueries {
  readonly #database: Database;
  readonly #presenters: Presenters;

  constructor(database: Database, presenters: Presenters) {
    this.#database = database;
    this.#presenters = presenters;
  }

  /**
   * The rows from a place on, at most `limit`; null: from the beginning of the present generation. One statement, so a
   * page and its ETag are one snapshot. Empty only when no row is left.
   */
  async page(
    teamId: string,
    tableId: string,
    from: PagePosition | null,
    limit: number,
  ): Promise<TableAnswer<RowsPage | 'continuation_expired'>> {
    let position = from;
    for (;;) {
      const page = await this.#readPage(teamId, tableId, position, limit);
      if (typeof page === 'string' || page.rows.count > 0 || page.next === null) return page;
      // The rest of an extent was deleted: the rows that remain begin at the next one.
      position = page.next;
    }
  }

  async #readPage(
    teamId: string,
    tableId: string,
    from: PagePosition | null,
    limit: number,
  ): Promise<TableAnswer<RowsPage | 'continuation_expired'>> {
    const values = [
      tableId, teamId, from?.generation ?? null, from?.version ?? 0n, from?.ordinal ?? 0, from?.index ?? 0, limit,
    ];
    const { rows: extents } = await this.#database.scans.with((client) => client.query(selectPage, values));
    if (extents.length === 0) return 'table_not_found';
    const [suspended, etag, widened, schemaVersion, generation, pageRows] = extents[0]!;
    if (suspended) return 'payment_required';
    if (schemaVersion === null) return 'continuation_expired';

    const rows = rowsJsonFor(extents);
    let present: PresenterFor | null = null;
    for (const extent of extents) {
      const [version, ordinal, extentSchema, wrap, presented, cells, changed, lim, count, first, indexes, versions, ids, bodies] =
        extent.slice(6);
      if (version === null) break;
      if (Number(lim) <= 0) return { rows, etag, next: { generation, version, ordinal, index: 0 } };
      const prefix = rowIdPrefix(version, ordinal);
      let bodyStart = 0;
      const indexOf = (at: number): number => (changed ? indexes[at] : first + at);
      const taken = Math.min(count, pageRows - rows.count, Number(lim) - 1);
      const decidedAt: bigint = presented ?? extentSchema;
      const converts = presented === null || widened > decidedAt;
      if (converts || (changed && widened > 0n)) present ??= await this.#presenters.of(tableId, schemaVersion);
      for (let at = 0; at < taken; at += 1) {
        const bodyEnd = at === count - 1 ? bodies.length : bodies.indexOf('\n', bodyStart);
        let body: string = bodies.slice(bodyStart, bodyEnd);
        bodyStart = bodyEnd + 1;
        const changeVersion: bigint | null = changed && versions[at] !== null ? BigInt(versions[at]) : null;
        if (changeVersion !== null) {
          if (widened > changeVersion) body = present!(changeVersion, 'presented', false)(body);
        } else if (converts) {
          body = present!(decidedAt, presented === null ? receivedForm(cells) : 'presented', wrap)(body);
        }
        const keptId: string | null = ids?.[at] ?? null;
        if (keptId === null) rows.add(prefix, indexOf(at), body);
        else rows.addKept(keptId, body);
      }
      if (taken < count) return { rows, etag, next: { generation, version, ordinal, index: indexOf(taken) } };
    }
    return { rows, etag, next: afterLast(extents, generation) };
  }
}

/** With room for the rows of these extents. */
function rowsJsonFor(extents: readonly (readonly any[])[]): RowsJson {
  let count = 0;
  let bytes = 0;
  for (const extent of extents) {
    const [ofExtent, , , , , bodies] = extent.slice(14);
    count += ofExtent ?? 0;
    bytes += bodies?.length ?? 0;
  }
  return new RowsJson(count, bytes);
}

/** All extents that were looked at are used up: there is more only if there may be extents behind them. */
function afterLast(extents: readonly (readonly any[])[], generation: bigint): PagePosition | null {
  if (extents.length < pageExtentsMax) return null;
  const [version, ordinal] = extents.at(-1)!.slice(6);
  return { generation, version, ordinal: ordinal + 1, index: 0 };
}
