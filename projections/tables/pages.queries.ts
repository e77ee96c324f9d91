/** The queries of HTTP for pages of rows. */
import type { Database } from '../../src/storage/database/database.ts';
import type { Statement } from '../../src/storage/database/pipelined-client.ts';
import { rowIdPrefix, type RowAddress } from '../../src/language/events/row-id.ts';
import { TimeSlices } from '../../src/language/time-slices.ts';
import { asStored, type PresenterFor } from '../../src/language/values/presentation.ts';
import type { Presenters } from './read/presenters.ts';
import { areConverted, indexIn, presentRows, type RowsOfPart } from './read/read-rows.ts';
import { rowsBetween } from './read/shown-rows.ts';
import { atGeneration, isShownAt, tableAt } from './read/table-at.ts';
import { RowsCsv, writtenColumns } from './rows-csv.ts';
import { RowsJson, type RowsText } from './rows-json.ts';
import type { TableAnswer } from './tables.queries.ts';

/** A page ends at about this many bytes, however many rows were asked for (docs/spec/decisions.md 3). */
export const pageBytesMax = 16 * 1024 * 1024;
/** A page may hold at least this many rows, however large they are. */
const pageRowsMin = 32;
/** After this many rows a page checks whether it must give way. A small page never does. */
const rowsBetweenLooks = 64;
/** A page reads at most this many extents, so it may be shorter than asked for. */
const pageExtentsMax = 64;
/**
 * The approximate size of a part of a page. The client of Postgres collects each value in a buffer that it doubles as
 * the value grows, so a value of 16 MiB takes three times as much memory.
 */
const partBytesMax = 1024 * 1024;

/** A row takes at most about this many bytes, with its ID. */
const rowBytesMax = 512 * 1024 + 64;

/** The format of a page's text. */
export type RowsFormat = 'json' | 'csv';

/** In CSV quotes are doubled, and each empty cell takes a comma. */
const timesInCsv = 3;

/** The approximate maximum of a page's bytes for this many rows. */
export function pageBytesAtMost(limit: number, format: RowsFormat): number {
  return Math.min(pageBytesMax, limit * rowBytesMax) * (format === 'csv' ? timesInCsv : 1);
}

/** A position in the rows of a generation of a table: the next row has this index or a higher one. */
export interface PagePosition extends RowAddress {
  readonly generation: bigint;
}

export interface RowsPage {
  /** The rows with their `$rowID`. */
  readonly rows: RowsText;
  readonly etag: bigint;
  /** Where the next page begins; null when this is the last. */
  readonly next: PagePosition | null;
}

/** Consecutive rows of one extent for a page. All parts of a page repeat the columns below. */
interface PagePart extends RowsOfPart {
  readonly suspended: boolean;
  readonly etag: bigint;
  readonly widened: bigint;
  /** Null when the generation has expired. */
  readonly schemaVersion: bigint | null;
  readonly generation: bigint;
  /** The maximum number of rows of the page. */
  readonly pageRows: number;
  /** Null, like all fields below, if the table has no extent left to read. */
  readonly version: bigint | null;
  readonly ordinal: number;
  /** The index in the extent at which the part begins, and the index before which it ends. */
  readonly start: number;
  readonly ends: number;
  /** How many rows the extent has, including deleted ones. */
  readonly extentRows: number;
  /** How many rows may come from the part. One more than fits on the page shows that there are more. */
  readonly lim: number;
}

const target = tableAt('target');
const asked = atGeneration('$3');

/**
 * One result row per extent, or several if its rows are large. The bodies are joined into one text, which Postgres and
 * Node handle as one value (docs/decisions/0006). The version of an extent is never below that of its generation, so
 * the index scan starts there. The parts of an extent end with the first part that does not fit on the page.
 */
const selectPage: Statement<PagePart> = {
  name: 'read_page',
  text: `with target as (
      select ${asked.columns}, tables.version, teams.suspended,
        least($7, greatest(${pageRowsMin}, ${pageBytesMax} / greatest(tables.row_bytes_max, 1)))::int4 as page_rows,
        greatest(1, ${partBytesMax} / greatest(tables.row_bytes_max, 1))::int4 as part_rows
      from tables join teams on teams.id = tables.team_id
      ${asked.join}
      where tables.id = $1 and tables.team_id = $2 and not tables.deleted
    ), ahead as (
      select extents.*, case when (extents.version, extents.ordinal) = ($4, $5) then $6::int4 else 0 end as first_index,
      target.page_rows, target.part_rows
      from target join extents on ${isShownAt('extents', target)}
        and extents.version >= target.generation and (extents.version, extents.ordinal) >= ($4, $5)
        and extents.deleted < extents.rows
      order by extents.version, extents.ordinal limit ${pageExtentsMax}
    ), parts as (
      select ahead.*, start, greatest(start, least(rows, start + part_rows)) as ends
      from ahead cross join generate_series(first_index, least(greatest(first_index, rows - 1), first_index + page_rows
      + part_rows), part_rows) as start
    ), bounded as (
      select *, page_rows + 1 - coalesce(sum(ends - start) over (
        order by version, ordinal, start rows between unbounded preceding and 1 preceding), 0) as lim
      from parts
    )
    select target.suspended, target.version as etag, target.widened, target.schema_version as "schemaVersion",
    target.generation,
      target.page_rows as "pageRows", bounded.version, bounded.ordinal, bounded.start, bounded.ends,
      bounded.rows as "extentRows", bounded.lim::int4, found.*
    from target left join bounded on bounded.lim > -bounded.part_rows
    left join lateral (
      ${rowsBetween('bounded', ['bounded.start', 'bounded.ends'], target, { limit: 'greatest(bounded.lim, 0)', versions: false })}
    ) found on bounded.lim > 0
    order by bounded.version, bounded.ordinal, bounded.start`,
};

export class PageQueries {
  readonly #database: Database;
  readonly #presenters: Presenters;

  constructor(database: Database, presenters: Presenters) {
    this.#database = database;
    this.#presenters = presenters;
  }

  /**
   * At most `limit` rows from a position on; null: from the beginning of the present generation. One statement, so that
   * a page and its ETag are one snapshot. The result is empty only if no row is left.
   */
  async page(
    teamId: string,
    tableId: string,
    from: PagePosition | null,
    limit: number,
    format: RowsFormat = 'json',
  ): Promise<TableAnswer<RowsPage | 'continuation_expired'>> {
    let position = from;
    for (;;) {
      const page = await this.#readPage(teamId, tableId, position, limit, format);
      if (typeof page === 'string' || page.rows.count > 0 || page.next === null) return page;
      // All remaining rows of the extents that were read are deleted, so the page continues after them.
      position = page.next;
    }
  }

  async #readPage(
    teamId: string,
    tableId: string,
    from: PagePosition | null,
    limit: number,
    format: RowsFormat,
  ): Promise<TableAnswer<RowsPage | 'continuation_expired'>> {
    const values = [
      tableId,
      teamId,
      from?.generation ?? null,
      from?.version ?? 0n,
      from?.ordinal ?? 0,
      from?.index ?? 0,
      limit,
    ];
    const { rows: parts } = await this.#database.scans.with((client) => client.query(selectPage, values));
    if (parts.length === 0) return 'table_not_found';
    const { suspended, etag, widened, schemaVersion, generation, pageRows } = parts[0]!;
    if (suspended) return 'payment_required';
    if (schemaVersion === null) return 'continuation_expired';

    const slices = new TimeSlices();
    const rows =
      format === 'json'
        ? rowsJsonFor(parts)
        : new RowsCsv(writtenColumns(await this.#presenters.schema(tableId, schemaVersion)));
    let presenterFor: PresenterFor | null = null;
    for (const part of parts) {
      const { version, ordinal, start, lim } = part;
      if (version === null) break;
      if (lim <= 0) return { rows, etag, next: { generation, version, ordinal, index: start } };
      const count = part.count!;
      if (areConverted(part, widened)) presenterFor ??= await this.#presenters.at(tableId, schemaVersion, widened);
      const prefix = rowIdPrefix(version, ordinal);
      const taken = Math.min(count, pageRows - rows.count, lim - 1);
      for (const { index, retainedId, body } of presentRows(part, presenterFor ?? (() => asStored), taken)) {
        if (rows.count % rowsBetweenLooks === 0 && slices.isOver) await slices.next();
        if (retainedId === null) rows.add(prefix, index, body);
        else rows.addRetained(retainedId, body);
      }
      if (taken < count) return { rows, etag, next: { generation, version, ordinal, index: indexIn(part, taken) } };
    }
    return { rows, etag, next: afterLast(parts, generation) };
  }
}

/** Allocates memory for the rows of these parts. */
function rowsJsonFor(parts: readonly PagePart[]): RowsJson {
  let count = 0;
  let bytes = 0;
  for (const part of parts) {
    count += part.count ?? 0;
    bytes += part.bodies?.length ?? 0;
  }
  return new RowsJson(count, bytes);
}

/** All extents that were read are used up. There can be more only if their number reached the limit. */
function afterLast(parts: readonly PagePart[], generation: bigint): PagePosition | null {
  const extents = parts.filter(({ ends, extentRows }) => ends >= extentRows).length;
  if (extents < pageExtentsMax) return null;
  const { version, ordinal } = parts.at(-1)!;
  return { generation, version: version!, ordinal: ordinal + 1, index: 0 };
}
