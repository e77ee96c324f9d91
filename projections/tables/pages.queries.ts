/** What HTTP reads of rows in pages. */
import type { Database } from '../../src/database/database.ts';
import type { Statement } from '../../src/database/pipelined-client.ts';
import { rowIdPrefix } from '../../src/events/row-id.ts';
import type { RowAddress } from '../../src/events/event.ts';
import { isPresentedBy, type PresenterFor } from '../../src/values/presentation.ts';
import type { Presenters } from './presenters.ts';
import { RowsJson } from './rows-json.ts';
import { changedForm, formInSql, parseForm, selectRowsOf } from './stored-body.ts';
import type { TableAnswer } from './tables.queries.ts';

/** A page ends at about so many bytes, however many rows were asked for (docs/spec/decisions.md 3). */
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

/** What a page takes of an extent, and what all of its parts have in common. */
interface PagePart {
  readonly suspended: boolean;
  readonly etag: bigint;
  readonly widened: bigint;
  /** Null when the generation has expired. */
  readonly schemaVersion: bigint | null;
  readonly generation: bigint;
  /** The most rows of the page. */
  readonly pageRows: number;
  /** Null, and with it all that follows, where the table has no extent. */
  readonly version: bigint | null;
  readonly ordinal: number;
  readonly form: string;
  /** What may come of the extent, one more than the page can hold, so that the last one tells that there are more. */
  readonly lim: number;
  /** Its rows: how many, the index of the first, and their bodies as lines of one text. Null where there are none, or none may come. */
  readonly count: number | null;
  readonly first: number | null;
  readonly bodies: string | null;
  /** Of each row, where any row of the extent was changed: its index, and the version of its change. */
  readonly indexes: readonly number[] | null;
  readonly versions: readonly (string | null)[] | null;
  /** Of each row, where any row of the extent retains an ID. */
  readonly ids: readonly (string | null)[] | null;
}

/**
 * One result row an extent, with the rows of the extent as one text, which Postgres and Node handle as one value
 * (docs/decisions/0006). The versions of a generation's extents are never below its own: the index is read from there on.
 */
const selectPage: Statement<PagePart> = {
  name: 'read_page',
  text: `with target as (
      select tables.id, tables.version, teams.suspended, coalesce($3, tables.generation) as generation,
        case when current then tables.widened else ended.widened end as widened,
        case when current then tables.schema_version else ended.schema_version end as schema_version,
        least($7, greatest(${pageRowsMin}, ${pageBytesMax} / greatest(tables.row_bytes_max, 1))) as page_rows
      from tables join teams on teams.id = tables.team_id
      cross join lateral (select $3::int8 is null or $3 = tables.generation as current) as asked
      left join generations ended on not current and ended.table_id = tables.id and ended.version = $3
        and not ended.expired
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
    select target.suspended, target.version as etag, target.widened, target.schema_version as "schemaVersion", target.generation,
      target.page_rows as "pageRows", bounded.version, bounded.ordinal, ${formInSql('bounded')} as form, bounded.lim::int4,
      found.count, found.first, found.indexes, found.versions, found.ids, found.bodies
    from target left join bounded on true
    left join lateral (
      select count(*)::int4 as count, min(live.index) as first, string_agg(live.body, E'\\n') as bodies,
        case when bounded.changed then array_agg(live.index) end as indexes,
        case when bounded.changed then array_agg(live.change_version) end as versions,
        case when bounded.retained is not null then array_agg(live.id) end as ids
      from (
        select index, body, change_version, case when bounded.retained is not null then (
            select retained_ids.id from retained_ids
            where retained_ids.segment = bounded.segment and retained_ids.index = stored.place
          ) end as id
        from (${selectRowsOf('bounded', 'bounded.start', 'bounded.rows')}) stored
        where body is not null order by place limit greatest(bounded.lim, 0)
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
    const { rows: parts } = await this.#database.scans.with((client) => client.query(selectPage, values));
    if (parts.length === 0) return 'table_not_found';
    const { suspended, etag, widened, schemaVersion, generation, pageRows } = parts[0]!;
    if (suspended) return 'payment_required';
    if (schemaVersion === null) return 'continuation_expired';

    const rows = rowsJsonFor(parts);
    let presenterFor: PresenterFor | null = null;
    for (const part of parts) {
      const { version, ordinal, lim, indexes, versions, ids } = part;
      if (version === null) break;
      if (lim <= 0) return { rows, etag, next: { generation, version, ordinal, index: 0 } };
      const [count, first, bodies] = [part.count ?? 0, part.first ?? 0, part.bodies ?? ''];
      const prefix = rowIdPrefix(version, ordinal);
      const form = parseForm(part.form);
      const converts = !isPresentedBy(form, widened);
      if (converts || (versions !== null && widened > 0n)) presenterFor ??= await this.#presenters.of(tableId, schemaVersion);
      const indexOf = (at: number): number => (indexes === null ? first + at : indexes[at]!);
      const taken = Math.min(count, pageRows - rows.count, lim - 1);
      let bodyStart = 0;
      for (let at = 0; at < taken; at += 1) {
        const bodyEnd = at === count - 1 ? bodies.length : bodies.indexOf('\n', bodyStart);
        let body = bodies.slice(bodyStart, bodyEnd);
        bodyStart = bodyEnd + 1;
        const changeVersion = versions?.[at] ?? null;
        if (changeVersion === null) {
          if (converts) body = presenterFor!(form)(body);
        } else {
          const changed = changedForm(BigInt(changeVersion));
          if (!isPresentedBy(changed, widened)) body = presenterFor!(changed)(body);
        }
        const retainedId = ids?.[at] ?? null;
        if (retainedId === null) rows.add(prefix, indexOf(at), body);
        else rows.addRetained(retainedId, body);
      }
      if (taken < count) return { rows, etag, next: { generation, version, ordinal, index: indexOf(taken) } };
    }
    return { rows, etag, next: afterLast(parts, generation) };
  }
}

/** With room for the rows of these parts. */
function rowsJsonFor(parts: readonly PagePart[]): RowsJson {
  let count = 0;
  let bytes = 0;
  for (const part of parts) {
    count += part.count ?? 0;
    bytes += part.bodies?.length ?? 0;
  }
  return new RowsJson(count, bytes);
}

/** All extents that were looked at are used up: there is more only if there may be extents behind them. */
function afterLast(parts: readonly PagePart[], generation: bigint): PagePosition | null {
  if (parts.length < pageExtentsMax) return null;
  const { version, ordinal } = parts.at(-1)!;
  return { generation, version: version!, ordinal: ordinal + 1, index: 0 };
}
