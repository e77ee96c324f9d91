/** The rows of extents, as stored and as presented; for many extents at once. */
import { isPresentedBy, presentersOf, type PresenterFor } from '../../../src/values/presentation.ts';
import { decodeSchema } from '../../../src/values/table-schema.ts';
import type { ComparedExtent } from './extents.ts';
import { changedForm, parseForm, selectRowsOf } from '../stored-body.ts';
import type { Snapshot } from '../../engine/compare/snapshot.ts';

/** Consecutive rows of an extent. */
export interface Window {
  readonly extent: ComparedExtent;
  readonly start: number;
  readonly count: number;
}

/** The rows of a window. Each list has an entry per row, in order, or is null if all its entries would be null. */
export interface StoredRows {
  readonly extent: ComparedExtent;
  /** The bodies joined by line feeds; an empty one stands for a deleted row. */
  readonly bodies: string;
  readonly changeVersions: readonly (string | null)[] | null;
  readonly tailVersions: readonly (string | null)[] | null;
  /** Null if they are all indexes of the window, without a gap. */
  readonly indexes: readonly number[] | null;
  /** The number of rows that are not deleted. */
  readonly live: number;
}

/** A row as a client sees it. */
export interface PresentedRow {
  readonly version: bigint;
  /** Null: deleted. */
  readonly body: string | null;
}

/** One result row per window: handling a value for each row would dominate the run time. */
const selectRows = `
  select coalesce(bodies, '') as bodies, change_versions as "changeVersions", tail_versions as "tailVersions", indexes, live
  from unnest($1::int8[], $2::int4[], $3::int4[]) with ordinality as windows(key, start, count, place)
  join extents on extents.key = windows.key
  cross join lateral (
    select string_agg(coalesce(body, ''), E'\\n') as bodies, count(body)::int4 as live,
      case when bool_or(change_version is not null) then array_agg(change_version) end as change_versions,
      case when bool_or(tail_version is not null) then array_agg(tail_version) end as tail_versions,
      case when count(*) <> windows.count then array_agg(index) end as indexes
    from (${selectRowsOf('extents', 'windows.start', 'windows.start + windows.count')} order by place) stored
  ) found
  order by place`;

export async function readWindows(side: Snapshot, windows: readonly Window[]): Promise<StoredRows[]> {
  const rows = await side.query<Omit<StoredRows, 'extent'>>(selectRows, [
    windows.map(({ extent }) => String(extent.key)),
    windows.map(({ start }) => start),
    windows.map(({ count }) => count),
  ]);
  return rows.map((stored, at) => ({ ...stored, extent: windows[at]!.extent }));
}

/** Whether two windows certainly read alike; false if they must be presented to find out. */
export function areStoredAlike(a: StoredRows, b: StoredRows): boolean {
  return (
    a.bodies === b.bodies && a.indexes === null && b.indexes === null
    && a.extent.readBy === b.extent.readBy && a.extent.widened === b.extent.widened && a.extent.form === b.extent.form
    && haveSameEntries(a.changeVersions, b.changeVersions) && haveSameEntries(a.tailVersions, b.tailVersions)
  );
}

function haveSameEntries(a: StoredRows['tailVersions'], b: StoredRows['tailVersions']): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && a.every((entry, at) => entry === b[at]);
}

/** Presents the rows of one side. Caches the schema of the last extent. */
export class RowPresenter {
  readonly #side: Snapshot;
  #schemaKey = '';
  #presenters: PresenterFor | null = null;

  constructor(side: Snapshot) {
    this.#side = side;
  }

  /** The rows of a window by index; null if the schema for reading them is missing, or a body contains a line feed. */
  async present(window: Window, stored: StoredRows): Promise<ReadonlyMap<number, PresentedRow> | null> {
    const { extent, indexes, changeVersions, tailVersions } = stored;
    const presenterFor = await this.#presentersFor(extent);
    const bodies = indexes?.length === 0 || window.count === 0 ? [] : stored.bodies.split('\n');
    if (presenterFor === null || bodies.length !== (indexes?.length ?? window.count)) return null;
    const extentForm = parseForm(extent.form);
    const rows = new Map<number, PresentedRow>();
    bodies.forEach((text, at) => {
      const changed = toVersion(changeVersions?.[at]);
      const form = changed === null ? extentForm : changedForm(changed);
      const body = text === '' ? null : isPresentedBy(form, extent.widened) ? text : presenterFor(form)(text);
      const version = changed ?? toVersion(tailVersions?.[at]) ?? extent.version;
      rows.set(indexes?.[at] ?? window.start + at, { version, body });
    });
    return rows;
  }

  async #presentersFor({ tableId, readBy }: ComparedExtent): Promise<PresenterFor | null> {
    const key = `${tableId} ${readBy}`;
    if (key === this.#schemaKey) return this.#presenters;
    const [row] = await this.#side.query<{ columns: string }>(
      'select columns from table_schemas where table_id = $1 and version = $2', [tableId, String(readBy)],
    );
    this.#schemaKey = key;
    this.#presenters = row ? presentersOf(decodeSchema(JSON.parse(row.columns))) : null;
    return this.#presenters;
  }
}

function toVersion(text: string | null | undefined): bigint | null {
  return text === null || text === undefined ? null : BigInt(text);
}
