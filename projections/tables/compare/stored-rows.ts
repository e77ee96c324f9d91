/** The rows of many extents at once, as stored and as presented. */
import { isDeepStrictEqual } from 'node:util';
import { presentersOf, type PresenterFor } from '../../../src/language/values/presentation.ts';
import { decodeSchema } from '../../../src/language/values/table-schema.ts';
import type { ComparedExtent } from './extents.ts';
import { changedForm, presenterOfForm } from '../read/stored-body.ts';
import type { Snapshot } from '../../../src/log/compare/snapshot.ts';

/** Consecutive rows of an extent. */
export interface Window {
  readonly extent: ComparedExtent;
  readonly start: number;
  readonly count: number;
}

/** The rows of a window. Each list has an entry per row, in order, or is null if all its entries would be null. */
export interface WindowRows {
  readonly extent: ComparedExtent;
  readonly start: number;
  /** The bodies in the segment, joined by line feeds, including those of patched or deleted rows. */
  readonly bodies: string;
  readonly tailVersions: readonly (string | null)[] | null;
  /** Null if the window has a row for each index, without a gap. */
  readonly indexes: readonly number[] | null;
  /** The rows that were patched or deleted; null: none. */
  readonly changes: StoredChanges | null;
  /** The number of undeleted rows. */
  readonly live: number;
}

/** Lists with an entry per change. */
interface StoredChanges {
  readonly indexes: readonly number[];
  readonly versions: readonly string[];
  /** The bodies, joined by line feeds. An empty body stands for a deleted row. */
  readonly bodies: string;
}

/** A row as a client sees it. */
export interface VisibleRow {
  readonly version: bigint;
  /** Null: deleted. */
  readonly body: string | null;
}

/**
 * One result row per window, because handling a value for each row would dominate the run time. The changes are
 * selected beside the rows, because a join would probe the changes once for each row.
 */
const selectRows = `
  select coalesce(bodies, '') as bodies, tail_versions as "tailVersions", indexes, changes, (found.stored -
  changed.deleted)::int4 as live
  from unnest($1::int8[], $2::int4[], $3::int4[]) with ordinality as windows(key, start, count, place)
  join extents on extents.key = windows.key
  cross join lateral (
    select string_agg(body, E'\\n') as bodies, count(*) as stored,
      case when bool_or(version is not null) then array_agg(version) end as tail_versions,
      case when count(*) <> windows.count then coalesce(array_agg(index - extents.first), '{}') end as indexes
    from (
      select index, version, body from segment_rows where segment = extents.segment
        and index >= extents.first + windows.start and index < extents.first + windows.start + windows.count
        order by index
    ) rows
  ) found
  cross join lateral (
    select count(*) filter (where body is null) as deleted, case when count(*) > 0 then json_build_object(
      'indexes', array_agg(index), 'versions', array_agg(version::text), 'bodies', string_agg(coalesce(body, ''),
      E'\\n')
    ) end as changes
    from (
      select index, version, body from changes where extents.changed and extent = extents.key
        and index >= windows.start and index < windows.start + windows.count order by index
    ) changes
  ) changed
  order by place`;

export async function readWindows(side: Snapshot, windows: readonly Window[]): Promise<WindowRows[]> {
  const rows = await side.query<Omit<WindowRows, 'extent' | 'start'>>(selectRows, [
    windows.map(({ extent }) => String(extent.key)),
    windows.map(({ start }) => start),
    windows.map(({ count }) => count),
  ]);
  return rows.map((stored, at) => ({ ...stored, extent: windows[at]!.extent, start: windows[at]!.start }));
}

/** Whether two windows certainly read alike. If false, the rows must be presented to find out. */
export function areStoredAlike(a: WindowRows, b: WindowRows): boolean {
  return (
    a.indexes === null &&
    b.indexes === null &&
    a.extent.readBy === b.extent.readBy &&
    a.extent.widened === b.extent.widened &&
    a.extent.form === b.extent.form &&
    haveSameEntries(a.tailVersions, b.tailVersions) &&
    isDeepStrictEqual(a.changes, b.changes) &&
    haveSameBodies(a, b)
  );
}

/** The stored bodies of changed rows do not count: on one side they may have been erased. */
function haveSameBodies(a: WindowRows, b: WindowRows): boolean {
  if (a.bodies === b.bodies) return true;
  if (a.changes === null || a.start !== b.start) return false;
  const [ofA, ofB] = [a.bodies.split('\n'), b.bodies.split('\n')];
  const changed = new Set(a.changes.indexes.map((index) => index - a.start));
  return ofA.length === ofB.length && ofA.every((body, at) => body === ofB[at] || changed.has(at));
}

function haveSameEntries(a: WindowRows['tailVersions'], b: WindowRows['tailVersions']): boolean {
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
  async present(window: Window, stored: WindowRows): Promise<ReadonlyMap<number, VisibleRow> | null> {
    const { extent, indexes, tailVersions, changes } = stored;
    const presenterFor = await this.#presentersFor(extent);
    const bodies = indexes?.length === 0 || window.count === 0 ? [] : stored.bodies.split('\n');
    const changedBodies = changes?.bodies.split('\n') ?? [];
    if (
      presenterFor === null ||
      bodies.length !== (indexes?.length ?? window.count) ||
      changedBodies.length !== (changes?.indexes.length ?? 0)
    )
      return null;
    const changeAt = new Map(changes?.indexes.map((index, at) => [index, at]));
    const present = presenterOfForm(extent.form, presenterFor);
    const rows = new Map<number, VisibleRow>();
    for (const [at, text] of bodies.entries()) {
      const index = indexes?.[at] ?? window.start + at;
      const change = changeAt.get(index);
      if (change === undefined) {
        rows.set(index, { version: toVersion(tailVersions?.[at]) ?? extent.version, body: present(text) });
      } else {
        const version = BigInt(changes!.versions[change]!);
        const changed = changedBodies[change]!;
        rows.set(index, { version, body: changed === '' ? null : presenterFor(changedForm(version))(changed) });
      }
    }
    return rows;
  }

  async #presentersFor({ tableId, readBy, widened }: ComparedExtent): Promise<PresenterFor | null> {
    const key = `${tableId} ${readBy} ${widened}`;
    if (key === this.#schemaKey) return this.#presenters;
    const [row] = await this.#side.query<{ columns: string }>(
      'select columns from table_schemas where table_id = $1 and version = $2',
      [tableId, String(readBy)],
    );
    this.#schemaKey = key;
    this.#presenters = row ? presentersOf(decodeSchema(JSON.parse(row.columns)), widened) : null;
    return this.#presenters;
  }
}

function toVersion(text: string | null | undefined): bigint | null {
  return text === null || text === undefined ? null : BigInt(text);
}
