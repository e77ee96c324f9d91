/**
 * Putting the rows of a request at the end of a table: the rungs that every such request climbs, and the links that
 * come of it (ARCHITECTURE.md, "Tables are segments, links and changes").
 */
import type { Event, RowLimits, RowSource } from '../../src/events/event.ts';
import type { Refusal, RowRange } from '../../src/events/outcome.ts';
import { rowTextOf } from '../../src/events/row-bodies.ts';
import { concatenateAll, emptyProfile } from '../../src/schema/build-profile.ts';
import type { SchemaErrorMode } from '../../src/schema/decide-schema.ts';
import { checkColumnCount, decideSchema } from '../../src/schema/decide-schema.ts';
import { holdsCells, isPlain, presenterOf, receivedForm } from '../../src/schema/presentation.ts';
import type { Place, Profile } from '../../src/schema/profile.ts';
import type { TableSchema } from '../../src/schema/table-schema.ts';
import { carriedIds, type CarriedIds } from '../carried-ids.ts';
import { keptPlacesOf } from '../kept-places.ts';
import { differentColumnsMax } from '../stashes/stash-content.ts';
import { liveStash, missingStash } from '../stashes/live-stash.ts';
import type { Change, DecisionState, Link, LogPlace, Table, Team } from '../decision.ts';

/** A tail closes at this many rows or bytes. Part of the rules: another number would give other row IDs on replay. */
const tailRowsMax = 10_000;
const tailBytesMax = 1024 * 1024;

/** For how long the blocks of a body wait for their closing event, in milliseconds of log time. */
export const bodyLife = 3_600_000;

export interface ArrivedSegment {
  readonly key: bigint;
  readonly profile: Profile;
  /** The runs of the identities that its rows came with; null where none did. */
  readonly ids: Uint8Array | null;
}

/** Rows that came with a request: where they are, and what all of them together need of a schema. */
export interface ArrivedRows {
  readonly profile: Profile;
  /** In segments, or, when they are few, as row bodies in `few`. */
  readonly segments: readonly ArrivedSegment[];
  readonly few: readonly string[];
  /** The identities that few rows came with; those of others stand in their segments. */
  readonly fewIds: CarriedIds | null;
  /** Where one of them stands, for messages: `rows[3]`. */
  placeOf(place: Place): string;
}

/** Finds the rows of a request; a refusal when its body was not complete in time. */
export function arrivedRows(
  state: DecisionState,
  event: Event,
  teamId: string,
  source: RowSource,
  at: LogPlace,
): ArrivedRows | { readonly refusal: Refusal } {
  switch (source.kind) {
    case 'none':
      return { profile: emptyProfile, ...noRows };
    case 'few': {
      // A header of CSV names columns over no rows.
      if (source.profile.rows === 0) {
        return { profile: source.profile, ...noRows };
      }
      const few = Buffer.from(rowTextOf(event.body(), source)).toString('utf8').split('\n');
      const fewIds = carriedIds(event, source);
      return { profile: source.profile, segments: [], few, fewIds, placeOf };
    }
    case 'block': {
      const key = state.segment(source.segmentId);
      const { profile } = source;
      const ids = carriedIds(event, source);
      const segments = [{ key, profile, ids: ids?.bytes ?? null }];
      return { profile, segments, few: [], fewIds: null, placeOf };
    }
    case 'body': {
      const blocks = state.bodyBlocks(teamId, source.bodyId);
      if (blocks.length !== source.blocks || blocks.some((block) => at.time - block.time > bodyLife)) {
        const message = 'the body took longer than an hour to arrive; send it again';
        return { refusal: { type: 'request_validation_error', message } };
      }
      const profile = concatenateAll(blocks.map((block) => block.profile));
      const segments = blocks.map(({ segment, profile, ids }) => ({ key: segment, profile, ids }));
      return { profile, segments, few: [], fewIds: null, placeOf };
    }
    case 'stash': {
      const last = state.stash(teamId, source.stashId);
      const stash = liveStash(last, at);
      if (stash === null) return { refusal: { type: 'stash_not_found', message: missingStash(source.stashId, last, at) } };
      const content = state.stashContent(stash.key);
      if (content.hasTooManyColumns) {
        return { refusal: { type: 'limit_exceeded', message: `the stash names more than ${differentColumnsMax} different columns` } };
      }
      const { profile, segments } = content;
      return { profile, segments, few: [], fewIds: null, placeOf: content.placeOf };
    }
  }
}

function placeOf({ row }: Pick<Place, 'row'>): string {
  return `rows[${row}]`;
}

/** Rows of which there are none. */
const noRows = { segments: [], few: [], fewIds: null, placeOf } as const;

export interface Placement {
  readonly table: Table;
  readonly changes: readonly Change[];
  readonly ranges: readonly RowRange[];
}

export interface PlaceRowsRequest {
  readonly state: DecisionState;
  readonly at: LogPlace;
  readonly team: Team;
  /** The table as it is; for a new or an overwritten one, as it is before its rows. */
  readonly table: Table;
  /** Null: to be inferred. */
  readonly schema: TableSchema | null;
  /** Whether the schema came with the request. */
  readonly givesSchema: boolean;
  /** Whether rows keep the identities that they came with. */
  readonly keepsIds: boolean;
  readonly rows: ArrivedRows;
  readonly mode: SchemaErrorMode;
  readonly limits: RowLimits;
}

/** Climbs the rungs "cells, limits, plan" (decisions 2) and links the rows to the table. */
export function placeRows(request: PlaceRowsRequest): Placement | { readonly refusal: Refusal } {
  const { state, at, team, rows, mode, limits, givesSchema } = request;
  const { profile } = rows;

  const decided = decideSchema({
    schema: request.schema, profile, mode, version: at.version, columnsMax: limits.columnsMax,
    place: (place, columnId) => `${rows.placeOf(place)}.${columnId}`,
  });
  if ('refusal' in decided) return decided;
  if (givesSchema) {
    // Its columns have not been counted yet.
    const refusal = checkColumnCount(decided.schema.columns.length, limits.columnsMax);
    if (refusal !== null) return { refusal };
  }
  if (request.table.rows + profile.rows > limits.rowsPerTableMax) {
    const message = `the table would hold more than ${limits.rowsPerTableMax} rows`;
    return { refusal: { type: 'limit_exceeded', message } };
  }
  if (profile.rows > 0 && team.rowsMax !== null && team.rows + profile.rows > team.rowsMax) {
    const message = `the team's plan allows ${team.rowsMax} rows and ${team.rows} are in use`;
    return { refusal: { type: 'payment_required', message } };
  }

  // After this point it must succeed.
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
  // Scalars that an array column took in by inference or widening are wrapped; else they are mismatches (decisions 2, 6).
  const wrap = mode === 'updateSchema' || request.schema === null;
  const target: Target = { table, schema: decided.schema, wrap, keepsIds: request.keepsIds };
  const linked = rows.few.length > 0 ? linkFew(state, target, rows, at) : linkSegments(state, target, rows, at);
  return {
    table: linked.table,
    changes: [
      ...(isNewSchema
        ? [{ kind: 'schema', tableId: table.id, version: at.version, schema: decided.schema } as const]
        : []),
      ...linked.changes,
      ...(profile.rows > 0 ? [{ kind: 'team', team: { ...team, rows: team.rows + profile.rows } } as const] : []),
    ],
    ranges: linked.ranges,
  };
}

/** What rows are linked to, and how they are read there. */
interface Target {
  readonly table: Table;
  readonly schema: TableSchema;
  readonly wrap: boolean;
  readonly keepsIds: boolean;
}

/** Each segment becomes a link of its own, and the tail before them closes. */
function linkSegments(
  state: DecisionState,
  { table, schema, wrap, keepsIds }: Target,
  { segments }: ArrivedRows,
  at: LogPlace,
): Placement {
  // The chunks of a stash mostly have columns that are the same object.
  const formOf = memoize((columns: Profile['columns']) => {
    const form = { ...emptyProfile, columns };
    return { presented: isPlain(form, schema, at.version) ? table.schemaVersion : null, cells: holdsCells(form) };
  });
  const links = segments.map(({ key, profile, ids }, ordinal): Link => ({
    key: state.newKey(), tableId: table.id, version: at.version, ordinal, generation: table.generation,
    schemaVersion: table.schemaVersion, wrap, ...formOf(profile.columns), kept: keepsIds ? keptPlacesOf(profile.rows, ids) : null,
    segment: key, first: 0, rows: profile.rows, bytes: profile.bytes, changed: false, deleted: 0,
  }));
  const keeps = table.keeps || links.some(({ kept }) => kept !== null);
  return {
    table: links.length === 0 ? table : { ...table, tail: null, keeps },
    changes: links.map((link) => ({ kind: 'link', link })),
    ranges: rangesOf(links),
  };
}

/** Each argument's result, worked out once. */
function memoize<A, R>(work: (argument: A) => R): (argument: A) => R {
  const known = new Map<A, R>();
  return (argument) => {
    const result = known.get(argument) ?? work(argument);
    known.set(argument, result);
    return result;
  };
}

/** The rows of whole links that follow each other: those of links with as many rows each are one range. */
function rangesOf(links: readonly Link[]): RowRange[] {
  const ranges: RowRange[] = [];
  for (const link of links) {
    const range = rangeOf(link, 0, link.rows);
    const last = ranges.at(-1);
    if (last && last.count === range.count && last.keeps === range.keeps) ranges[ranges.length - 1] = { ...last, links: (last.links ?? 1) + 1 };
    else ranges.push(range);
  }
  return ranges;
}

function rangeOf({ version, ordinal, kept, tableId }: Link, first: number, count: number): RowRange {
  return { version, ordinal, first, count, ...(kept === null ? {} : { keeps: tableId }) };
}

/** A few rows join the open tail, as they are presented; a tail of another schema or a full one closes. */
function linkFew(
  state: DecisionState,
  { table, schema, wrap, keepsIds }: Target,
  { few, profile, fewIds }: ArrivedRows,
  at: LogPlace,
): Placement {
  const presenter = presenterOf(schema, at.version, receivedForm(holdsCells(profile)), wrap);
  const bodies = few.map((body) => presenter(body));
  const bytes = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0);
  const open = table.tail === null ? null : state.link(table.tail);
  const joins =
    open !== null &&
    open.schemaVersion === table.schemaVersion &&
    open.rows + few.length <= tailRowsMax &&
    open.bytes + bytes <= tailBytesMax;
  const tail: Link = joins
    ? open
    : {
        key: state.newKey(), tableId: table.id, version: at.version, ordinal: 0, generation: table.generation,
        schemaVersion: table.schemaVersion, wrap: false, presented: table.schemaVersion, cells: false,
        kept: keepsIds && fewIds ? keptPlacesOf(few.length, fewIds.bytes) : null,
        segment: state.newKey(), first: 0, rows: 0, bytes: 0, changed: false, deleted: 0,
      };
  const link: Link = { ...tail, rows: tail.rows + few.length, bytes: tail.bytes + bytes };
  return {
    table: { ...table, tail: link.key, keeps: table.keeps || link.kept !== null },
    changes: [
      { kind: 'link', link },
      { kind: 'tailRows', link, first: tail.rows, version: at.version, bodies, ids: keepsIds && fewIds ? fewIds.texts : null },
    ],
    ranges: [rangeOf(link, tail.rows, few.length)],
  };
}
