/**
 * What the tests of decisions are written in: a state with one team and one table, a request for it, and its outcome as
 * a line of text. All of it is plain values; nothing is stored.
 */
import { BatchState } from '../../projections/batch-state.ts';
import { decide } from '../../projections/decide.ts';
import type { Decision, Link, LogPlace, Team } from '../../projections/decision.ts';
import { StashContentBuilder } from '../../projections/stashes/stash-content.ts';
import { compareSerials } from '../../projections/stashes/stash-order.ts';
import type { CarriedRows, Event, EventData, RowAddress, RowLimits, RowSource, StoredFile, UploadLimits } from '../../src/events/event.ts';
import { joinRowBodies } from '../../src/events/row-bodies.ts';
import { findRowIdRuns } from '../../src/events/row-id-runs.ts';
import { DelimitedRowReader } from '../../src/formats/delimited-row-reader.ts';
import { JsonRowReader } from '../../src/formats/json-row-reader.ts';
import { readPatchRow } from '../../src/formats/read-patch-row.ts';
import { emptyProfile } from '../../src/schema/build-profile.ts';
import type { ColumnType } from '../../src/schema/column-type.ts';
import type { SchemaErrorMode } from '../../src/schema/decide-schema.ts';
import type { Profile } from '../../src/schema/profile.ts';
import { currentType } from '../../src/schema/table-schema.ts';
import type { GivenColumn, TableSchema } from '../../src/schema/table-schema.ts';

/** The place in the log where events are decided, unless a test says another. */
export const here: LogPlace = { partition: 3, offset: 90n, version: 100n, time: 1_000_000_000 };

/** The rows of a table that was made at version 10: those of a block since 20, then those of the open tail since 30. */
const createdAt = 10n;
const blockAt = 20n;
const tailAt = 30n;

export const blockRow = (index: number): RowAddress => ({ version: blockAt, ordinal: 0, index });
export const tailRow = (index: number): RowAddress => ({ version: tailAt, ordinal: 0, index });

export interface Given {
  /** Whose table it is; `nobody`: there is none. The team itself is always there. */
  readonly owner?: 'team' | 'another' | 'nobody';
  readonly suspended?: boolean;
  /** The plan's limit, and the rows that other tables of the team show. */
  readonly rowsMax?: number | null;
  readonly otherRows?: number;
  /** The bytes of the team's files, and the plan's limit of them. */
  readonly uploadBytes?: number;
  readonly uploadBytesMax?: number | null;
  /** Uploads that it has open, which no test names. */
  readonly openUploads?: number;
  /** `a:number b:string`; older types come first and tell when they were replaced: `a:number<40:string`. */
  readonly schema?: string;
  readonly widened?: bigint;
  /** Bodies in a block, as received, and in the tail, as presented. */
  readonly block?: readonly string[];
  readonly tail?: readonly string[];
  /** Whether scalars were wrapped into array columns when the block was linked. */
  readonly wrap?: boolean;
  /** What is special about the tail. */
  readonly tailLink?: Partial<Link>;
}

/** A state in which these things are so. */
export function given({
  owner = 'team', suspended = false, rowsMax = null, otherRows = 0, uploadBytes = 0,
  uploadBytesMax = null, openUploads = 0, schema = 'a:number b:string', widened = 0n,
  block = [], tail, wrap = false, tailLink = {},
}: Given = {}): BatchState {
  let key = 1000n;
  const state = new BatchState(() => key++);
  const link = {
    tableId: 'table', ordinal: 0, generation: createdAt, schemaVersion: createdAt, wrap: false, presented: createdAt,
    cells: false, kept: null, first: 0, bytes: 0, changed: false, deleted: 0,
  };
  const blockLink: Link = { ...link, wrap, presented: null, key: 1n, version: blockAt, segment: 2n, rows: block.length };
  const openTail: Link = {
    ...link, key: 3n, version: tailAt, segment: 4n, rows: tail?.length ?? 0, bytes: tail?.join('').length ?? 0,
    ...tailLink,
  };
  block.forEach((body, index) => state.putRow({ link: blockLink, index, version: blockAt, body, stored: 'received', decidedAt: createdAt }));
  tail?.forEach((body, index) => state.putRow({ link: openTail, index, version: tailAt, body, stored: 'presented', decidedAt: tailAt }));
  if (tail) state.putLink(openTail);

  const rows = block.length + (tail ? openTail.rows : 0);
  const team: Team = {
    id: 'team', partition: 3, name: 'Team', created: 1n, suspended, rows: rows + otherRows, rowsMax, uploadBytes,
    uploadBytesMax, openUploads,
  };
  state.putTeam(team);
  state.putTeam({ ...team, id: 'another' });
  if (owner !== 'nobody') {
    state.putTable({
      id: 'table', teamId: owner, name: 'Table', created: createdAt, createdAt: 5, version: 50n, generation: createdAt,
      schemaVersion: createdAt, widened, rows, rowBytesMax: 10, tail: tail ? openTail.key : null,
      deleted: false, keeps: false,
    });
    state.putSchema({ tableId: 'table', version: createdAt, schema: schemaFrom(schema) });
  }
  return state;
}

function schemaFrom(text: string): TableSchema {
  const columns = text.split(' ').filter((column) => column !== '').map((column) => {
    const [id, types] = [column.slice(0, column.indexOf(':')), column.slice(column.indexOf(':') + 1)];
    const entries = types.split(/<(?=\d)/).map((entry) => {
      const [, since, type] = /^(?:(\d+):)?(.+)$/.exec(entry)!;
      return { since: since === undefined ? createdAt : BigInt(since), type: type as ColumnType };
    });
    return { id, types: entries };
  });
  return { columns };
}

/** `a:number b:array<date>` as a client gives it. */
export function columnsFrom(text: string): GivenColumn[] {
  return schemaFrom(text).columns.map((column) => ({ id: column.id, type: currentType(column) }));
}

interface Arrived {
  readonly profile: Profile;
  readonly ids: Uint8Array | null;
  readonly age: number;
  readonly teamId?: string;
}

export interface Rows {
  readonly source: RowSource;
  readonly body?: Uint8Array;
  /** What the blocks that arrived before it hold, and how many milliseconds ago they came. */
  readonly before?: readonly Arrived[];
}

function read(rows: readonly string[]): { carried: CarriedRows; body: Uint8Array; runs: Uint8Array | null } {
  const reader = new JsonRowReader({ form: 'rows', keepIds: true });
  const blocks = [...reader.push(Buffer.from(`[${rows.join(',')}]`)), ...reader.end().blocks];
  const block = blocks[0] ?? { profile: emptyProfile, body: Buffer.of(), ids: null };
  const { profile, ids } = block;
  return {
    carried: { profile, ...(ids === null ? {} : { ids: true }) }, body: joinRowBodies(block),
    runs: ids === null ? null : findRowIdRuns(ids),
  };
}

export const noRows: Rows = { source: { kind: 'none' } };

export function few(...rows: readonly string[]): Rows {
  const { carried, body } = read(rows);
  return { source: { kind: 'few', ...carried }, body };
}

/** The few rows of a CSV text. */
export function cells(text: string): Rows {
  const { profile, body: bytes } = readCells(text);
  return { source: { kind: 'few', profile }, body: bytes };
}

/** The rows of a CSV text in a block. */
export function cellBlock(text: string): Rows {
  return { source: { kind: 'block', profile: readCells(text).profile, segmentId: 'segment' } };
}

function readCells(text: string): { profile: Profile; body: Uint8Array } {
  const reader = new DelimitedRowReader({ delimiter: ',' });
  const blocks = [...reader.push(Buffer.from(text)), ...reader.end().blocks];
  return blocks[0]!;
}

export function block(...rows: readonly string[]): Rows {
  const { carried, body } = read(rows);
  return { source: { kind: 'block', ...carried, segmentId: 'segment' }, body };
}

/** A body of several blocks, each with its rows and its age in milliseconds when the request comes. */
export function body(...blocks: readonly (readonly [age: number, ...rows: string[]])[]): Rows {
  return {
    source: { kind: 'body', bodyId: 'body', blocks: blocks.length },
    before: blocks.map(([age, ...rows]) => {
      const { carried: { profile }, runs } = read(rows);
      return { profile, ids: runs, age };
    }),
  };
}

export const stash: Rows = { source: { kind: 'stash', stashId: 'stash' } };

export interface Asked {
  readonly ifMatch?: bigint | null;
  readonly mode?: SchemaErrorMode;
  readonly rowsPerTableMax?: number;
  readonly columnsMax?: number;
  readonly rowBytesMax?: number;
}

export interface Request {
  readonly data: EventData;
  readonly body?: Uint8Array | undefined;
  readonly before?: Rows['before'];
}

function limitsOf({ rowsPerTableMax = 1_000_000, columnsMax = 5, rowBytesMax = 100 }: Asked): RowLimits {
  return { rowsPerTableMax, columnsMax, rowBytesMax };
}

export function add({ source, ...carried }: Rows, asked: Asked = {}): Request {
  const { ifMatch = null, mode = 'abort' } = asked;
  const target = { teamId: 'team', tableId: 'table' };
  return {
    data: { type: 'RowsAddRequested', ...target, ifMatch, onSchemaError: mode, limits: limitsOf(asked), rows: source },
    ...carried,
  };
}

/** Asks for these rows, and for this schema if one is named, in the place of all that the table has. */
export function overwrite({ source, ...carried }: Rows, asked: Asked & { readonly schema?: string } = {}): Request {
  const { schema, ifMatch = null, mode = 'abort' } = asked;
  return {
    data: {
      type: 'TableOverwriteRequested', teamId: 'team', tableId: 'table', ifMatch,
      columns: schema === undefined ? null : columnsFrom(schema), onSchemaError: mode, limits: limitsOf(asked), rows: source,
    },
    ...carried,
  };
}

export interface AskedTable extends Asked {
  readonly schema?: string;
  readonly apps?: readonly string[];
}

/** Asks for the table `made`. */
export function create({ source, ...carried }: Rows, asked: AskedTable = {}): Request {
  const { schema, apps = null, mode = 'abort' } = asked;
  return {
    data: {
      type: 'TableCreateRequested', teamId: 'team', tableId: 'made', name: 'Made', appsToLink: apps,
      columns: schema === undefined ? null : columnsFrom(schema), onSchemaError: mode, limits: limitsOf(asked),
      rows: source,
    },
    ...carried,
  };
}

export function patch(row: RowAddress, text: string, asked: Asked = {}): Request {
  const { profile, body: bytes } = readPatchRow(Buffer.from(text)).block;
  const { ifMatch = null, mode = 'abort' } = asked;
  const target = { teamId: 'team', tableId: 'table', row };
  return {
    data: { type: 'RowPatchRequested', ...target, ifMatch, onSchemaError: mode, limits: limitsOf(asked), profile },
    body: bytes,
  };
}

export interface AskedPatch {
  readonly ifMatch?: bigint | null;
  readonly name?: string;
  /** Display names by column ID, in pairs: a repeated ID stays one. */
  readonly columns?: readonly (readonly [id: string, displayName: string | null])[];
}

export function patchTable({ ifMatch = null, name, columns = [] }: AskedPatch): Request {
  return {
    data: {
      type: 'TablePatchRequested', teamId: 'team', tableId: 'table', ifMatch, name: name ?? null,
      columns: columns.map(([id, displayName]) => ({ id, displayName })),
    },
  };
}

export function removeTable({ ifMatch = null }: Pick<Asked, 'ifMatch'> = {}): Request {
  return { data: { type: 'TableDeleteRequested', teamId: 'team', tableId: 'table', ifMatch } };
}

export function remove(row: RowAddress, { ifMatch = null }: Asked = {}): Request {
  return { data: { type: 'RowDeleteRequested', teamId: 'team', tableId: 'table', row, ifMatch } };
}

export interface AskedChunk {
  readonly lifeMs?: number;
  readonly chunksMax?: number;
  readonly rowsMax?: number;
  readonly profiledColumnsMax?: number;
}

/** A chunk of the stash that is called `stash`. */
export function putChunk({ source, ...carried }: Rows, serial: string, asked: AskedChunk = {}): Request {
  if (source.kind === 'stash') throw new Error('a stash is no chunk');
  const limits = { lifeMs: 1000, chunksMax: 100, rowsMax: 100, profiledColumnsMax: 100, ...asked };
  return { data: { type: 'ChunkPutRequested', teamId: 'team', stashId: 'stash', serial, limits, rows: source }, ...carried };
}

export function deleteStash(): Request {
  return { data: { type: 'StashDeleteRequested', teamId: 'team', stashId: 'stash' } };
}

/** `created`: the version of the stash that is meant. */
export function expireStash(created: bigint): Request {
  return { data: { type: 'StashExpired', teamId: 'team', stashId: 'stash', created } };
}

interface AskedOfUpload {
  readonly teamId?: string;
  readonly appId?: string;
  readonly uploadId?: string;
}

export interface AskedUpload extends AskedOfUpload {
  readonly limits?: Partial<UploadLimits>;
}

/**
 * An upload of at most 10 bytes that can be completed for 1000 ms, and whose file is kept for 500 ms without a row that names it; one
 * of at most 5 open ones.
 */
export function createUpload({ teamId = 'team', appId = 'app', uploadId = 'upload', limits = {} }: AskedUpload = {}): Request {
  return {
    data: {
      type: 'UploadCreateRequested', teamId, appId, uploadId, contentType: 'image/png', fileName: 'cat.png',
      limits: { sizeMax: 10, lifeMs: 1000, unclaimedLifeMs: 500, openMax: 5, ...limits },
    },
  };
}

/** Says that a file has arrived: `file-1`, of 4 bytes. */
export function completeUpload(
  { teamId = 'team', appId = 'app', uploadId = 'upload', name = 'file-1', size = 4 }: AskedOfUpload & Partial<StoredFile> = {},
): Request {
  return { data: { type: 'UploadCompleteRequested', teamId, appId, uploadId, file: { name, size } } };
}

export function checkUpload({ teamId = 'team', uploadId = 'upload' }: AskedOfUpload = {}): Request {
  return { data: { type: 'UploadChecked', teamId, uploadId } };
}

export function eventOf({ data, body: bytes = Buffer.of() }: Request): Event {
  return { commandId: 'command', notAfter: null, requestDigest: null, data, body: () => bytes };
}

/** Decides a request at a place, and leaves the state as the events behind it see it. */
export function when(state: BatchState, request: Request, at: LogPlace = here): Decision {
  request.before?.forEach(({ profile, ids, age, teamId = 'team' }, number) => {
    const segment = 901n + BigInt(number);
    state.putBodyBlock({ bodyId: 'body', number, teamId, segment, profile, ids, time: at.time - age });
  });
  state.putSegment('segment', 900n);
  if ('rows' in request.data && request.data.rows.kind === 'stash') gatherStash(state, request.data.teamId, request.data.rows.stashId);
  const decision = decide(state, eventOf(request), at);
  state.apply(decision.changes);
  return decision;
}

/** Does what is done before a stash is imported whose chunks came in this state. */
function gatherStash(state: BatchState, teamId: string, stashId: string): void {
  const stash = state.stash(teamId, stashId);
  if (stash === null) return;
  const content = new StashContentBuilder();
  const chunks = state.newChunks(stash.key).toSorted((a, b) => compareSerials(a.serial, b.serial, stash.words === 0));
  for (const { serial, blocks } of chunks) for (const each of blocks) content.add(serial, each);
  state.putStashContent(stash.key, content.build());
}
