/**
 * Putting the rows of a request at the end of a table: the rungs that every such request climbs, and the links that
 * come of it (ARCHITECTURE.md, "Tables are segments, links and changes").
 */
import type { Event, RowLimits, RowSource } from '../../src/events/event.ts';
import type { Refusal, RowRange } from '../../src/events/outcome.ts';
import { concatenate, emptyProfile } from '../../src/schema/build-profile.ts';
import type { SchemaErrorMode } from '../../src/schema/decide-schema.ts';
import { checkColumnCount, decideSchema } from '../../src/schema/decide-schema.ts';
import { holdsCells, isPlain, presenterOf, receivedForm } from '../../src/schema/presentation.ts';
import type { Place, Profile } from '../../src/schema/profile.ts';
import type { TableSchema } from '../../src/schema/table-schema.ts';
import type { Change, DecisionState, Link, LogPlace, Table, Team } from '../decision.ts';

/** A tail closes at this many rows or bytes. Part of the rules: another number would give other row IDs on replay. */
const tailRowsMax = 10_000;
const tailBytesMax = 1024 * 1024;

/** For how long the blocks of a body wait for their closing event, in milliseconds of log time. */
export const bodyLife = 3_600_000;

/** Rows that came with a request: where they are, and what all of them together need of a schema. */
export interface ArrivedRows {
  readonly profile: Profile;
  /** In segments, or, when they are few, as row bodies in `few`. */
  readonly segments: readonly { readonly key: bigint; readonly profile: Profile }[];
  readonly few: readonly string[];
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
      return { profile: emptyProfile, segments: [], few: [] };
    case 'few':
      // A header of CSV names columns over no rows.
      if (source.profile.rows === 0) return { profile: source.profile, segments: [], few: [] };
      return { profile: source.profile, segments: [], few: Buffer.from(event.body()).toString('utf8').split('\n') };
    case 'block': {
      const key = state.segment(source.segmentId);
      return { profile: source.profile, segments: [{ key, profile: source.profile }], few: [] };
    }
    case 'body': {
      const blocks = state.bodyBlocks(teamId, source.bodyId);
      if (blocks.length !== source.blocks || blocks.some((block) => at.time - block.time > bodyLife)) {
        const message = 'the body took longer than an hour to arrive; send it again';
        return { refusal: { type: 'request_validation_error', message } };
      }
      const profile = blocks.map((block) => block.profile).reduce(concatenate);
      return { profile, segments: blocks.map((block) => ({ key: block.segment, profile: block.profile })), few: [] };
    }
    case 'stash':
      return { refusal: { type: 'stash_not_found', message: `there is no stash ${source.stashId}` } };
  }
}

/** Where a cell of a request's rows stands, for messages: `rows[3].age`. */
export function placeInRows({ row }: Place, columnId: string): string {
  return `rows[${row}].${columnId}`;
}

export interface Placement {
  readonly table: Table;
  readonly changes: readonly Change[];
  readonly ranges: readonly RowRange[];
}

export interface PlaceRowsRequest {
  readonly state: DecisionState;
  readonly at: LogPlace;
  readonly team: Team;
  /** The table as it is; for a new one, as it is before its rows. */
  readonly table: Table;
  /** Null: to be inferred. */
  readonly schema: TableSchema | null;
  readonly rows: ArrivedRows;
  readonly mode: SchemaErrorMode;
  readonly limits: RowLimits;
}

/** Climbs the rungs "cells, limits, plan" (decisions 2) and links the rows to the table. */
export function placeRows(request: PlaceRowsRequest): Placement | { readonly refusal: Refusal } {
  const { state, at, team, rows, mode, limits } = request;
  const { profile } = rows;

  const decided = decideSchema({
    schema: request.schema, profile, mode, version: at.version, columnsMax: limits.columnsMax, place: placeInRows,
  });
  if ('refusal' in decided) return decided;
  if (request.table.created === at.version) {
    // A schema that was given with the table has not been counted yet.
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
  const schemaVersion = decided.changed ? at.version : request.table.schemaVersion;
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
  const linked =
    rows.few.length > 0
      ? linkFew(state, table, decided.schema, rows, wrap, at)
      : linkSegments(state, table, decided.schema, rows.segments, wrap, at);
  return {
    table: linked.table,
    changes: [
      ...(decided.changed
        ? [{ kind: 'schema', tableId: table.id, version: at.version, schema: decided.schema } as const]
        : []),
      ...linked.changes,
      ...(profile.rows > 0 ? [{ kind: 'team', team: { ...team, rows: team.rows + profile.rows } } as const] : []),
    ],
    ranges: linked.ranges,
  };
}

/** Each segment becomes a link of its own, and the tail before them closes. */
function linkSegments(
  state: DecisionState,
  table: Table,
  schema: TableSchema,
  segments: ArrivedRows['segments'],
  wrap: boolean,
  at: LogPlace,
): Placement {
  const links = segments.map(({ key, profile }, ordinal): Link => ({
    key: state.newKey(), tableId: table.id, version: at.version, ordinal, generation: table.generation,
    schemaVersion: table.schemaVersion, wrap, plain: isPlain(profile, schema, at.version),
    cells: holdsCells(profile), segment: key, first: 0, rows: profile.rows, bytes: profile.bytes, changed: false, deleted: 0,
  }));
  return {
    table: links.length === 0 ? table : { ...table, tail: null },
    changes: links.map((link) => ({ kind: 'link', link })),
    ranges: links.map((link) => ({ version: at.version, ordinal: link.ordinal, first: 0, count: link.rows })),
  };
}

/** A few rows join the open tail, as they are presented; a tail of another schema or a full one closes. */
function linkFew(
  state: DecisionState,
  table: Table,
  schema: TableSchema,
  { few, profile }: ArrivedRows,
  wrap: boolean,
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
        schemaVersion: table.schemaVersion, wrap: false, plain: true, cells: false, segment: state.newKey(), first: 0, rows: 0, bytes: 0,
        changed: false, deleted: 0,
      };
  const link: Link = { ...tail, rows: tail.rows + few.length, bytes: tail.bytes + bytes };
  return {
    table: { ...table, tail: link.key },
    changes: [
      { kind: 'link', link },
      { kind: 'tailRows', link, first: tail.rows, version: at.version, bodies },
    ],
    ranges: [{ version: link.version, ordinal: link.ordinal, first: tail.rows, count: few.length }],
  };
}
