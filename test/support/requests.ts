/** Requests and their rows for decision tests (decisions.ts), as plain values. */
import { batch } from '../../commands/batch.ts';
import type { Event, EventData, EventOf } from '../../src/language/events/event.ts';
import type { EventRows, RowSource } from '../../src/language/events/row-source.ts';
import { formatRowId, type RowAddress } from '../../src/language/events/row-id.ts';
import type { RowLimits, UploadLimits } from '../../src/language/events/limits.ts';
import type { RequestedColumnChanges } from '../../src/language/events/table-events.ts';
import type { StoredFile } from '../../src/language/events/upload-events.ts';
import { joinRowBodies } from '../../src/language/events/row-bodies.ts';
import { findRowIdRuns } from '../../src/language/events/row-id-runs.ts';
import { DelimitedRowReader } from '../../src/language/formats/delimited-row-reader.ts';
import { JsonRowReader } from '../../src/language/formats/json-row-reader.ts';
import { readBatch } from '../../src/language/formats/read-batch.ts';
import { readPatchRow } from '../../src/language/formats/read-patch-row.ts';
import { emptyProfile } from '../../src/language/values/build-profile.ts';
import type { SchemaErrorMode } from '../../src/language/values/decide-schema.ts';
import type { Profile } from '../../src/language/values/profile.ts';
import { columnsFrom } from './schema-text.ts';

interface Arrived {
  readonly profile: Profile;
  readonly ids: Uint8Array | null;
  readonly age: number;
  readonly teamId?: string;
}

export interface Rows {
  readonly source: RowSource;
  readonly body?: Uint8Array;
  /** The blocks that arrived before the request, and how many milliseconds before. */
  readonly before?: readonly Arrived[];
}

function read(
  rows: readonly string[],
  keepsNulls = false,
): { carried: EventRows; body: Uint8Array; runs: Uint8Array | null } {
  const reader = new JsonRowReader({ form: 'rows', retainIds: true, keepsNulls });
  const blocks = [...reader.push(Buffer.from(`[${rows.join(',')}]`)), ...reader.end().blocks];
  const block = blocks[0] ?? { profile: emptyProfile, body: Buffer.of(), ids: null };
  const { profile, ids } = block;
  return {
    carried: { profile, ...(ids === null ? {} : { ids: true }) },
    body: joinRowBodies(block),
    runs: ids === null ? null : findRowIdRuns(ids),
  };
}

export const noRows: Rows = { source: { kind: 'none' } };

export function few(...rows: readonly string[]): Rows {
  const { carried, body } = read(rows);
  return { source: { kind: 'few', ...carried }, body };
}

/** Few rows that keep their nulls, for an upsert. */
export function fewWithNulls(...rows: readonly string[]): Rows {
  const { carried, body } = read(rows, true);
  return { source: { kind: 'few', ...carried }, body };
}

/** The rows of a CSV text, as few rows. */
export function cells(text: string): Rows {
  const { profile, body: bytes } = readCells(text);
  return { source: { kind: 'few', profile }, body: bytes };
}

/** The rows of a CSV text, as a block. */
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

/** The same rows, as profiled by the first rule for fitting values. */
export function ofFirstRule({ source, ...carried }: Rows): Rows {
  return { source: 'profile' in source ? { ...source, profile: { ...source.profile, rule: 1 } } : source, ...carried };
}

/** A body of several blocks, each with its age in milliseconds at the request, and its rows. */
export function body(...blocks: readonly (readonly [age: number, ...rows: string[]])[]): Rows {
  return {
    source: { kind: 'body', bodyId: 'body', blocks: blocks.length },
    before: blocks.map(([age, ...rows]) => {
      const {
        carried: { profile },
        runs,
      } = read(rows);
      return { profile, ids: runs, age };
    }),
  };
}

export const stash: Rows = { source: { kind: 'stash', stashId: 'stash' } };

export interface Asked {
  readonly ifMatch?: bigint | null;
  /** The version at which a filter found the rows of a batch. */
  readonly foundAt?: bigint;
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

/** Upserts these rows. */
export function upsert(rows: Rows, asked: Asked = {}): Request {
  const { data, ...carried } = add(rows, asked);
  return { data: { ...(data as EventOf<'RowsAddRequested'>), mode: 'upsert' }, ...carried };
}

/** Overwrites the table with these rows, and with this schema if one is given. */
export function overwrite({ source, ...carried }: Rows, asked: Asked & { readonly schema?: string } = {}): Request {
  const { schema, ifMatch = null, mode = 'abort' } = asked;
  return {
    data: {
      type: 'TableOverwriteRequested',
      teamId: 'team',
      tableId: 'table',
      ifMatch,
      columns: schema === undefined ? null : columnsFrom(schema),
      onSchemaError: mode,
      limits: limitsOf(asked),
      rows: source,
    },
    ...carried,
  };
}

export interface AskedTable extends Asked {
  readonly tablesMax?: number;
  readonly schema?: string;
  readonly apps?: readonly string[];
  readonly key?: readonly string[];
}

/** Creates the table `made`. */
export function create({ source, ...carried }: Rows, asked: AskedTable = {}): Request {
  const { schema, apps = null, mode = 'abort' } = asked;
  return {
    data: {
      type: 'TableCreateRequested',
      teamId: 'team',
      tableId: 'made',
      name: 'Made',
      appsToLink: apps,
      columns: schema === undefined ? null : columnsFrom(schema),
      ...(asked.key === undefined ? {} : { key: asked.key }),
      onSchemaError: mode,
      limits: { ...limitsOf(asked), ...(asked.tablesMax === undefined ? {} : { tablesMax: asked.tablesMax }) },
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

/** An operation of a batch: adds, patches or deletes a row. `ifMatch` guards the row. */
export type BatchOperation =
  | readonly ['add', row: string]
  | readonly ['upsert', row: string]
  | readonly ['patch', row: RowAddress, text: string, ifMatch?: bigint]
  | readonly ['delete', row: RowAddress, ifMatch?: bigint];

export function batchOf(operations: readonly BatchOperation[], asked: Asked = {}): Request {
  const { ifMatch = null, mode = 'abort' } = asked;
  const listed = operations.map((operation) => {
    const [op, row] = operation;
    if (typeof row === 'string') return `{"op":"${op}","row":${row}}`;
    const [text, guard] = operation[0] === 'patch' ? [`,"row":${operation[2]}`, operation[3]] : ['', operation[2]];
    return `{"op":"${op}","rowID":"${formatRowId(row)}"${text}${guard === undefined ? '' : `,"ifMatch":"${guard}"`}}`;
  });
  const read = readBatch(Buffer.from(`{"operations":[${listed.join(',')}],"onSchemaError":"${mode}"}`));
  const limits = limitsOf(asked);
  const data = batch({ teamId: 'team', tableId: 'table', ifMatch, body: read, limits });
  const { foundAt } = asked;
  return { data: foundAt === undefined ? data : { ...data, foundAt }, body: read.block?.body };
}

export interface AskedPatch {
  readonly ifMatch?: bigint | null;
  readonly name?: string;
  /** Pairs of a column ID and a display name. It is a list, so that IDs may repeat. */
  readonly columns?: readonly (readonly [id: string, displayName: string | null])[];
  /** Changes of columns: by default none. */
  readonly changes?: Partial<RequestedColumnChanges>;
  readonly key?: readonly string[] | null;
}

const noChanges: RequestedColumnChanges = {
  remove: [],
  change: [],
  add: [],
  order: [],
  columnsMax: 5,
  onMisfit: 'abort',
  tried: null,
};

export function patchTable({ ifMatch = null, name, columns = [], changes, key }: AskedPatch): Request {
  return {
    data: {
      type: 'TablePatchRequested',
      teamId: 'team',
      tableId: 'table',
      ifMatch,
      name: name ?? null,
      columns: columns.map(([id, displayName]) => ({ id, displayName })),
      ...(key === undefined ? {} : { key }),
      ...(changes === undefined ? {} : { columnChanges: { ...noChanges, ...changes } }),
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
  readonly stashesMax?: number;
}

/** Puts a chunk into the stash `stash`, or another. */
export function putChunk(
  { source, ...carried }: Rows,
  serial: string,
  asked: AskedChunk = {},
  stashId = 'stash',
): Request {
  if (source.kind === 'stash') throw new Error('a stash is no chunk');
  const limits = { lifeMs: 1000, chunksMax: 100, rowsMax: 100, profiledColumnsMax: 100, ...asked };
  return { data: { type: 'ChunkPutRequested', teamId: 'team', stashId, serial, limits, rows: source }, ...carried };
}

export function deleteStash(): Request {
  return { data: { type: 'StashDeleteRequested', teamId: 'team', stashId: 'stash' } };
}

/** `created`: the version of the stash that expires. */
export function expireStash(created: bigint): Request {
  return { data: { type: 'StashExpired', teamId: 'team', stashId: 'stash', created } };
}

interface AskedOfUpload {
  readonly teamId?: string;
  readonly appId?: string;
  readonly uploadId?: string;
}

interface AskedUpload extends AskedOfUpload {
  readonly limits?: Partial<UploadLimits>;
}

/**
 * Creates an upload of at most 10 bytes that can be completed for 1000 ms; its file is kept for 500 ms while no row
 * names it; the team may have 5 open uploads.
 */
export function createUpload({
  teamId = 'team',
  appId = 'app',
  uploadId = 'upload',
  limits = {},
}: AskedUpload = {}): Request {
  return {
    data: {
      type: 'UploadCreateRequested',
      teamId,
      appId,
      uploadId,
      contentType: 'image/png',
      fileName: 'cat.png',
      limits: { sizeMax: 10, lifeMs: 1000, unclaimedLifeMs: 500, openMax: 5, ...limits },
    },
  };
}

/** Completes an upload with the file `file-1` of 4 bytes. */
export function completeUpload({
  teamId = 'team',
  appId = 'app',
  uploadId = 'upload',
  name = 'file-1',
  size = 4,
}: AskedOfUpload & Partial<StoredFile> = {}): Request {
  return { data: { type: 'UploadCompleteRequested', teamId, appId, uploadId, file: { name, size } } };
}

export function deleteUpload({ teamId = 'team', appId = 'app', uploadId = 'upload' }: AskedOfUpload = {}): Request {
  return { data: { type: 'UploadDeleteRequested', teamId, appId, uploadId } };
}

export function checkUpload({ teamId = 'team', uploadId = 'upload' }: AskedOfUpload = {}): Request {
  return { data: { type: 'UploadChecked', teamId, uploadId } };
}

/** Opens the body `body`, of which a team may have 3. */
export function openBody({
  teamId = 'team',
  bodyId = 'body',
  openMax = 3,
}: { teamId?: string; bodyId?: string; openMax?: number } = {}): Request {
  return { data: { type: 'BodyOpenRequested', teamId, bodyId, limits: { openMax } } };
}

export function expireBody({ teamId = 'team', bodyId = 'body' }: { teamId?: string; bodyId?: string } = {}): Request {
  return { data: { type: 'BodyExpired', teamId, bodyId } };
}

export function eventOf({ data, body: bytes = Buffer.of() }: Request): Event {
  return { commandId: 'command', notAfter: null, requestDigest: null, data, body: () => bytes };
}
