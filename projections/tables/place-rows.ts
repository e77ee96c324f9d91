/**
 * Appends the rows of a request to a table: the guards that every such request passes, and the resulting extents
 * (ARCHITECTURE.md, "What a table is made of").
 */
import type { Event } from '../../src/language/events/event.ts';
import type { RowLimits } from '../../src/language/events/limits.ts';
import type { RowSource } from '../../src/language/events/row-source.ts';
import type { AppliedResult, RowRange } from '../../src/language/events/outcome.ts';
import type { Refusal } from '../../src/language/values/refusal.ts';
import { emptyProfile } from '../../src/language/values/build-profile.ts';
import type { SchemaErrorMode } from '../../src/language/values/decide-schema.ts';
import { checkColumnCount, countDropped, decideSchema } from '../../src/language/values/decide-schema.ts';
import { holdsCells, isPlain, presenterOf, receivedForm } from '../../src/language/values/presentation.ts';
import type { Profile } from '../../src/language/values/profile.ts';
import type { TableSchema } from '../../src/language/values/table-schema.ts';
import type { LogPlace } from '../../src/log/batch/decision.ts';
import { arrivedRows, type ArrivedRows } from '../segments/arrived-rows.ts';
import type { EventRowIds } from '../segments/row-ids-of-event.ts';
import { stashedRows } from '../stashes/stashed-rows.ts';
import { exceededQuota } from '../teams/guards.ts';
import type { Team } from '../teams/team.ts';
import { fullTable } from './guards.ts';
import { keysOfNewRows } from './keys/keys-of-placed-rows.ts';
import { fixedColumns } from './keys/table-key.ts';
import { retainedPlacesOf } from './retained-places.ts';
import type { Extent, PlacedRows, Table, TableChange } from './table.ts';
import type { TablesState, TableStates } from './tables.state.ts';

/** A tail closes at this many rows or bytes. These numbers must not change: replay would give other row IDs. */
const tailRowsMax = 10_000;
const tailBytesMax = 1024 * 1024;

/** Finds the rows of a request in any kind of source. */
export function rowsOfRequest(
  states: TableStates,
  event: Event,
  teamId: string,
  source: RowSource,
  at: LogPlace,
): ArrivedRows | { readonly refusal: Refusal } {
  return source.kind === 'stash'
    ? stashedRows(states, teamId, source.stashId, at)
    : arrivedRows(states, event, teamId, source, at);
}

interface Placement {
  readonly table: Table;
  readonly changes: readonly TableChange[];
  readonly ranges: readonly RowRange[];
}

/** A placement, with the places of the new rows. */
type PlacedInTable = Placement & { readonly extents: readonly PlacedRows[] };

/** The dropped cells in a result. */
type DroppedCells = Pick<AppliedResult, 'droppedCells'>;

export function droppedCells(
  mode: SchemaErrorMode,
  profile: Profile,
  schema: TableSchema,
  wrap: boolean,
): DroppedCells {
  const count = mode === 'dropColumns' ? countDropped(profile, schema, wrap) : undefined;
  return count === undefined ? {} : { droppedCells: count };
}

interface PlaceRowsRequest {
  readonly states: TableStates;
  readonly event: Event;
  readonly at: LogPlace;
  readonly team: Team;
  /** The table before the request's rows are added. For a create or an overwrite, the table without rows. */
  readonly table: Table;
  /** Null: infer the schema. */
  readonly schema: TableSchema | null;
  /** Whether the schema came with the request. */
  readonly givesSchema: boolean;
  /** Whether rows retain the row IDs that they came with. */
  readonly retainsIds: boolean;
  readonly rows: ArrivedRows;
  readonly mode: SchemaErrorMode;
  readonly limits: RowLimits;
}

/** Applies the guards "cells, limits, plan, key" (docs/spec/decisions.md 2) and adds the rows to the table. */
export function placeRows(
  request: PlaceRowsRequest,
): (Placement & { readonly dropped: DroppedCells }) | { readonly refusal: Refusal } {
  const {
    states: { tables },
    at,
    team,
    rows,
    mode,
    limits,
    givesSchema,
  } = request;
  const { profile } = rows;

  const decided = decideSchema({
    schema: request.schema,
    profile,
    mode,
    version: at.version,
    columnsMax: limits.columnsMax,
    fixed: fixedColumns(request.table),
    place: (place, columnId) => `${rows.placeOf(place)}.${columnId}`,
  });
  if ('refusal' in decided) return decided;
  if (givesSchema) {
    // The columns of an inferred schema have not been counted yet.
    const refusal = checkColumnCount(decided.schema.columns.length, limits.columnsMax);
    if (refusal !== null) return { refusal };
  }
  const full = fullTable(request.table, profile.rows, limits) ?? exceededQuota(team, 'rows', profile.rows);
  if (full !== null) return { refusal: full };

  const isNewSchema = givesSchema || decided.changed;
  const schemaVersion = isNewSchema ? at.version : request.table.schemaVersion;
  const table: Table = {
    ...request.table,
    version: at.version,
    schemaVersion,
    widened: decided.widened ? at.version : request.table.widened,
    rows: request.table.rows + profile.rows,
    rowBytesMax: Math.max(request.table.rowBytesMax, profile.rowBytesMax),
  };
  // Scalars that an array column took in by inference or widening are wrapped. Other scalars in array columns are
  // mismatches (docs/spec/decisions.md 2, 6).
  const wrap = mode === 'updateSchema' || request.schema === null;
  const target: Target = { table, schema: decided.schema, wrap, retainsIds: request.retainsIds };
  const placed = rows.few.length > 0 ? placeFew(tables, target, rows, at) : placeSegments(tables, target, rows, at);
  const keys = keysOfNewRows({ ...request, table: placed.table, schema: decided.schema, extents: placed.extents });
  if ('refusal' in keys) return keys;

  // After this point it must succeed.
  return {
    table: placed.table,
    changes: [
      ...(isNewSchema
        ? [{ kind: 'schema', tableId: table.id, version: at.version, schema: decided.schema } as const]
        : []),
      ...placed.changes,
      ...keys.changes,
      ...(profile.rows > 0 ? [{ kind: 'team', team: { ...team, rows: team.rows + profile.rows } } as const] : []),
    ],
    ranges: placed.ranges,
    dropped: droppedCells(mode, profile, decided.schema, wrap),
  };
}

/** The table to which rows are added, and how the rows are read. */
interface Target {
  readonly table: Table;
  readonly schema: TableSchema;
  readonly wrap: boolean;
  readonly retainsIds: boolean;
}

/** Makes each segment an extent of its own. The open tail closes first. */
function placeSegments(
  tables: TablesState,
  { table, schema, wrap, retainsIds }: Target,
  { segments }: ArrivedRows,
  at: LogPlace,
): PlacedInTable {
  // Cached by object, because most chunks of a stash share the same columns object.
  const formOf = memoize((rule: Profile['rule']) =>
    memoize((columns: Profile['columns']) => {
      const form = { ...emptyProfile, columns, rule };
      return { presented: isPlain(form, schema, at.version) ? table.schemaVersion : null, cells: holdsCells(form) };
    }),
  );
  const firstOrdinal = tables.nextOrdinal(table.id, at.version);
  const extents = segments.map(({ key, profile, ids }, place): Extent => ({
    key: tables.newKey(),
    tableId: table.id,
    version: at.version,
    ordinal: firstOrdinal + place,
    generation: table.generation,
    schemaVersion: table.schemaVersion,
    wrap,
    rule: profile.rule,
    ...formOf(profile.rule)(profile.columns),
    retained: retainsIds ? retainedPlacesOf(ids) : null,
    segment: key,
    first: 0,
    rows: profile.rows,
    bytes: profile.bytes,
    changed: false,
    deleted: 0,
  }));
  const isRetained = table.retainsIds || extents.some(({ retained }) => retained !== null);
  return {
    table: extents.length === 0 ? table : { ...table, tail: null, retainsIds: isRetained },
    changes: extents.map((extent) => ({ kind: 'extent', extent })),
    ranges: rangesOf(extents),
    extents: extents.map((extent) => ({ extent, first: 0, count: extent.rows })),
  };
}

/** Computes the result for each argument once. */
function memoize<A, R>(work: (argument: A) => R): (argument: A) => R {
  const known = new Map<A, R>();
  return (argument) => {
    const result = known.get(argument) ?? work(argument);
    known.set(argument, result);
    return result;
  };
}

/** The rows of whole consecutive extents. Consecutive extents with the same number of rows share one range. */
function rangesOf(extents: readonly Extent[]): RowRange[] {
  const ranges: RowRange[] = [];
  for (const extent of extents) {
    const range = rangeOf(extent, 0, extent.rows);
    const last = ranges.at(-1);
    if (last && last.count === range.count && last.retainedIn === range.retainedIn)
      ranges[ranges.length - 1] = { ...last, extents: (last.extents ?? 1) + 1 };
    else ranges.push(range);
  }
  return ranges;
}

function rangeOf({ version, ordinal, retained, tableId }: Extent, first: number, count: number): RowRange {
  return { version, ordinal, first, count, ...(retained === null ? {} : { retainedIn: tableId }) };
}

/** Adds a few rows to the open tail, as presented. */
function placeFew(
  tables: TablesState,
  { table, schema, wrap, retainsIds }: Target,
  { few, profile, fewIds }: ArrivedRows,
  at: LogPlace,
): PlacedInTable {
  const presenter = presenterOf(schema, {
    stored: receivedForm(holdsCells(profile)),
    decidedAt: at.version,
    wrap,
    rule: profile.rule,
  });
  const bodies = few.map((body) => presenter(body));
  return placeInTail(tables, table, { bodies, ids: retainsIds ? fewIds : null }, at);
}

/** Rows as the table presents them, and the row IDs that they retain; null: none. */
interface FewRows {
  readonly bodies: readonly string[];
  readonly ids: EventRowIds | null;
}

/**
 * Adds a few rows to the open tail. A tail that has another schema or no room closes first. So does a tail from before
 * versions were lost, because the IDs of lost rows at its end would be issued again.
 */
export function placeInTail(tables: TablesState, table: Table, { bodies, ids }: FewRows, at: LogPlace): PlacedInTable {
  const bytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0);
  const open = table.tail === null ? null : tables.extent(table.tail);
  const joins =
    open !== null &&
    open.schemaVersion === table.schemaVersion &&
    open.version >= (at.gaps.at(-1)?.to ?? 0n) &&
    open.rows + bodies.length <= tailRowsMax &&
    open.bytes + bytes <= tailBytesMax;
  const tail: Extent = joins
    ? open
    : {
        key: tables.newKey(),
        tableId: table.id,
        version: at.version,
        ordinal: tables.nextOrdinal(table.id, at.version),
        generation: table.generation,
        schemaVersion: table.schemaVersion,
        wrap: false,
        rule: 1,
        presented: table.schemaVersion,
        cells: false,
        retained: ids === null ? null : retainedPlacesOf(ids.bytes),
        segment: tables.newKey(),
        first: 0,
        rows: 0,
        bytes: 0,
        changed: false,
        deleted: 0,
      };
  const extent: Extent = { ...tail, rows: tail.rows + bodies.length, bytes: tail.bytes + bytes };
  return {
    table: { ...table, tail: extent.key, retainsIds: table.retainsIds || extent.retained !== null },
    changes: [
      { kind: 'extent', extent },
      {
        kind: 'tailRows',
        teamId: table.teamId,
        extent,
        first: tail.rows,
        version: at.version,
        bodies,
        ids: ids === null ? null : ids.texts,
      },
    ],
    ranges: [rangeOf(extent, tail.rows, bodies.length)],
    extents: [{ extent, first: tail.rows, count: bodies.length }],
  };
}
