/** Tables as of one moment, for their copies: the state of a table, and its changes since a version. */
import type { PipelinedClient, Statement, StatementResult } from '../../src/storage/database/pipelined-client.ts';
import { formatRowId, parseRowId } from '../../src/language/events/row-id.ts';
import { presentersOf } from '../../src/language/values/presentation.ts';
import { decodeSchema, type TableSchema } from '../../src/language/values/table-schema.ts';
import {
  copiedRowsOf,
  partsOf,
  type CopiedChange,
  type CopiedExtent,
  type CopiedRow,
  type PartOfExtent,
  type RowsOfExtent,
} from './copied-rows.ts';
import { rowsBetween } from './read/shown-rows.ts';
import { changedForm } from './read/stored-body.ts';
import { isExtentOf, isShownAt, latest, retainedIdAt, retainingExtents } from './read/table-at.ts';
import type { TableAnswer } from './tables.queries.ts';

/** A table as of a snapshot. */
export interface TableState {
  readonly version: bigint;
  readonly generation: bigint;
  readonly schemaVersion: bigint;
  /** All rows may read differently since this version. */
  readonly widened: bigint;
  readonly rows: number;
  readonly rowBytesMax: number;
  /** The IDs of the columns of its key, as `Table` has them; null: it has none. */
  readonly keyColumns: string | null;
  readonly schema: TableSchema;
}

const selectState: Statement<Omit<TableState, 'schema'> & { readonly suspended: boolean; readonly columns: string }> = {
  name: 'copy_state',
  text: `select teams.suspended, tables.version, tables.generation, tables.schema_version as "schemaVersion",
  tables.widened, tables.rows::float8,
      tables.row_bytes_max as "rowBytesMax", tables.key_columns as "keyColumns", schemas.columns
    from tables join teams on teams.id = tables.team_id
    join table_schemas schemas on schemas.table_id = tables.id and schemas.version = tables.schema_version
    where tables.id = $1 and tables.team_id = $2 and not tables.deleted
      and ($3::text is null or exists (select from app_links where app_links.table_id = tables.id
      and app_links.app_id = $3))`,
};

/** The table to copy: its ID and generation are parameters. */
const copied = { id: '$1', generation: '$2' };
const isShown = isShownAt('extents', copied);

/** The extents after a version, and the extent at one place (a tail, which may have grown). */
const selectExtents: Statement<CopiedExtent> = {
  name: 'copy_extents',
  text: `select key, version, ordinal, rows, bytes from extents where ${isShown} and version = $4 and ordinal = $5
    union all
    select key, version, ordinal, rows, bytes from extents where ${isShown} and version >= greatest($2, $3 + 1)
    order by version, ordinal`,
};

/** Parts of extents, one per result row. Parts without any existing row are left out. */
const selectRows: Statement<RowsOfExtent> = {
  name: 'copy_rows',
  text: `select extents.version, extents.ordinal, found.*
    from unnest($1::int8[], $2::int4[], $3::int4[]) with ordinality as asked (key, start, ends, place)
    join extents on extents.key = asked.key
    join tables on tables.id = extents.table_id
    cross join lateral (
      ${rowsBetween('extents', ['asked.start', 'asked.ends'], latest, { limit: 'all', versions: true })}
    ) found
    where found.count > 0 order by asked.place`,
};

/**
 * The places of the rows with these IDs: the places that the IDs name, and the places of rows that retain one of them.
 * In the table's order.
 */
const selectPlaces: Statement<{ readonly key: bigint; readonly index: number }> = {
  name: 'copy_places',
  text: `select key, index from (
      select extents.key, extents.version, extents.ordinal, asked.index
      from unnest($3::int8[], $4::int4[], $5::int4[]) as asked (version, ordinal, index)
      join extents on ${isExtentOf(copied, 'asked.version', 'asked.ordinal', 'asked.index')}
      union
      select extents.key, extents.version, extents.ordinal, retained_ids.index - extents.first
      from ${retainingExtents}
      where retained_ids.id = any($6::text[]) and ${isShown}
    ) found order by version, ordinal, index`,
};

/** The changes, since a version, of rows in extents up to that version. A cursor, which is read in parts. */
const openChanges: Statement = {
  name: 'copy_changes',
  text: `declare copy_changes no scroll cursor for
    select extents.version, extents.ordinal, changes.index, changes.version as "rowVersion", changes.body,
      ${retainedIdAt('extents', 'extents.first + changes.index')} as id
    from extents join changes on changes.extent = extents.key and changes.version > $3
    where ${isShown} and extents.version >= $2 and extents.version <= $3 and extents.changed`,
};

interface FoundChange {
  readonly version: bigint;
  readonly ordinal: number;
  readonly index: number;
  readonly rowVersion: bigint;
  readonly body: string | null;
  readonly id: string | null;
}

const closeChanges: Statement = { name: 'copy_changes_end', text: 'close copy_changes' };

/** How many changes to read at once: the largest of these numbers whose bodies have at most `changesBytesMax` bytes. */
const changesAtOnce = [5000, 500, 50, 8] as const;
const changesBytesMax = 8 * 1024 * 1024;

const fetchChanges: ReadonlyMap<number, Statement<FoundChange>> = new Map(
  changesAtOnce.map((count) => [count, { name: `copy_changes_${count}`, text: `fetch ${count} from copy_changes` }]),
);

/**
 * The approximate size of a part of an extent, and how many parts are read at once. Longer texts would survive many
 * garbage collections, and cost collections of the whole heap.
 */
const partBytesMax = 256 * 1024;
const partsAtOnce = 4;

/** Tables as of one moment. */
export class TableSnapshot {
  readonly #client: PipelinedClient;

  constructor(client: PipelinedClient) {
    this.#client = client;
  }

  /** `appId`: find the table only if it is linked to that app. */
  async state(teamId: string, tableId: string, appId: string | null): Promise<TableAnswer<TableState>> {
    const {
      rows: [found],
    } = await this.#client.query(selectState, [tableId, teamId, appId]);
    if (found === undefined) return 'table_not_found';
    const { suspended, columns, ...state } = found;
    return suspended ? 'payment_required' : { ...state, schema: decodeSchema(JSON.parse(columns)) };
  }

  /** The extents after a version, and the extent at `tail`, in order. */
  async extents(
    tableId: string,
    generation: bigint,
    after: bigint,
    tail: Pick<CopiedExtent, 'version' | 'ordinal'> | null,
  ): Promise<CopiedExtent[]> {
    const { rows } = await this.#client.query(selectExtents, [
      tableId,
      generation,
      after,
      tail?.version ?? -1n,
      tail?.ordinal ?? 0,
    ]);
    return rows;
  }

  /** The rows of extents, each from its own index on, in batches of some MiB. */
  async *rows(
    extents: readonly (CopiedExtent & { readonly from: number })[],
    state: TableState,
  ): AsyncGenerator<Iterable<CopiedRow>> {
    const presenterFor = presentersOf(state.schema, state.widened);
    const rowsOfPart = Math.max(1, Math.floor(partBytesMax / Math.max(state.rowBytesMax, 1)));
    const parts = partsOf(extents, rowsOfPart);
    const read = (): Promise<RowsOfExtent[]> | null => {
      const batch: PartOfExtent[] = [];
      while (batch.length < partsAtOnce) {
        const { value } = parts.next();
        if (value === undefined) break;
        batch.push(value);
      }
      return batch.length === 0 ? null : this.#readParts(batch);
    };
    let next = read();
    while (next !== null) {
      const found = await next;
      // Postgres reads the next batch while the caller takes this one.
      next = read();
      // `next` is awaited after the caller has taken the rows. An earlier failure must not count as an unhandled
      // rejection.
      next?.catch(() => undefined);
      for (const part of found) yield copiedRowsOf(part, presenterFor);
    }
  }

  /** The row at an index of an extent, which has it. */
  async row(
    { extent, index }: { readonly extent: bigint; readonly index: number },
    state: TableState,
  ): Promise<CopiedRow> {
    const [part] = await this.#readParts([{ key: extent, start: index, ends: index + 1 }]);
    return copiedRowsOf(part!, presentersOf(state.schema, state.widened)).next().value!;
  }

  /** The existing rows with these IDs, in the table's order. */
  async *rowsWith(rowIds: readonly string[], tableId: string, state: TableState): AsyncGenerator<Iterable<CopiedRow>> {
    const asked = new Set(rowIds);
    const places = rowIds.map(parseRowId).filter((place) => place !== null);
    const { rows: found } = await this.#client.query(selectPlaces, [
      tableId,
      state.generation,
      places.map(({ version }) => version),
      places.map(({ ordinal }) => ordinal),
      places.map(({ index }) => index),
      rowIds,
    ]);
    const presenterFor = presentersOf(state.schema, state.widened);
    for (let at = 0; at < found.length; at += partsAtOnce) {
      const parts = await this.#readParts(
        found.slice(at, at + partsAtOnce).map(({ key, index }) => ({ key, start: index, ends: index + 1 })),
      );
      // A row that retains an ID does not have the ID of its place.
      for (const part of parts) yield copiedRowsOf(part, presenterFor).filter(({ rowId }) => asked.has(rowId));
    }
  }

  async #readParts(parts: readonly PartOfExtent[]): Promise<RowsOfExtent[]> {
    const { rows } = await this.#client.query(selectRows, [
      parts.map(({ key }) => key),
      parts.map(({ start }) => start),
      parts.map(({ ends }) => ends),
    ]);
    return rows;
  }

  /**
   * The changes, since a version, of rows in extents up to that version, in parts of some MiB. The first part is
   * requested at once.
   */
  changes(tableId: string, since: bigint, state: TableState): AsyncGenerator<CopiedChange[]> {
    const atOnce = changesAtOnce.find((count) => count * state.rowBytesMax <= changesBytesMax) ?? changesAtOnce.at(-1)!;
    const fetchNext = (): Promise<StatementResult<FoundChange>> => this.#client.query(fetchChanges.get(atOnce)!);
    void this.#client.query(openChanges, [tableId, state.generation, since]);
    return this.#changes(fetchNext(), fetchNext, atOnce, state);
  }

  async *#changes(
    first: Promise<StatementResult<FoundChange>>,
    fetchNext: () => typeof first,
    atOnce: number,
    state: TableState,
  ): AsyncGenerator<CopiedChange[]> {
    const presenterFor = presentersOf(state.schema, state.widened);
    for (let next = first; ; next = fetchNext()) {
      const { rows } = await next;
      yield rows.map(({ id, body, ...change }) => {
        const presented = body === null ? null : presenterFor(changedForm(change.rowVersion))(body);
        return { ...change, rowId: id ?? formatRowId(change), body: presented };
      });
      if (rows.length < atOnce) break;
    }
    // A failure shows in the next statement.
    void this.#client.query(closeChanges);
  }
}
