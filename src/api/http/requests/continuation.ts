/**
 * The `continuation` of a page: a position in a generation of one table, in the tables or uploads of a team, or in a
 * list for operators. It contains everything that it needs, so it survives restarts and works on every process
 * (docs/spec/decisions.md 3).
 */
import { createHash } from 'node:crypto';
import type { PagePosition } from '../../../../projections/tables/pages.queries.ts';
import type { TablePosition } from '../../../../projections/tables/tables.queries.ts';
import type { UploadPosition } from '../../../../projections/uploads/uploads.queries.ts';
import { HttpError } from '../answers/http-error.ts';

const positionBytes = 24;
const checksumBytes = 6;

/**
 * Maximum values in a position: those of `int8` and `int4`. The index is smaller, so that the sum with a segment's
 * index still fits an `int4`.
 */
const versionMax = 2n ** 63n - 1n;
const ordinalMax = 2 ** 31 - 1;
const indexMax = 2 ** 30;

/** The continuation of a page of rows. */
export function formatRowsContinuation(tableId: string, { generation, version, ordinal, index }: PagePosition): string {
  const bytes = Buffer.alloc(positionBytes);
  bytes.writeBigUInt64BE(generation, 0);
  bytes.writeBigUInt64BE(version, 8);
  bytes.writeUInt32BE(ordinal, 16);
  bytes.writeUInt32BE(index, 20);
  return withChecksum(tableId, bytes);
}

/** Throws HttpError for a text that no page of this table returned. */
export function parseRowsContinuation(tableId: string, text: string): PagePosition {
  const position = readPosition(tableId, text);
  if (position === null) throw invalidContinuation('query.', 'this table');
  const generation = position.readBigUInt64BE(0);
  const version = position.readBigUInt64BE(8);
  const ordinal = position.readUInt32BE(16);
  const index = position.readUInt32BE(20);
  if (generation > versionMax || version > versionMax || ordinal > ordinalMax || index > indexMax)
    throw invalidContinuation('query.', 'this table');
  return { generation, version, ordinal, index };
}

/** The continuation of a list in the order of IDs, after this ID. `list` distinguishes it from other lists. */
export function formatListContinuation(list: string, id: string): string {
  return formatPlace(list, { created: 0n, id });
}

/** The ID after which the page begins. Throws HttpError for a text that no page of this list returned. */
export function parseListContinuation(list: string, text: string): string {
  return parsePlace(list, text, 'this list').id;
}

/** The continuation of a page of a team's tables. */
export function formatTablesContinuation(teamId: string, position: TablePosition): string {
  return formatPlace(teamId, position);
}

/** The continuation of a page of a team's uploads. */
export function formatUploadsContinuation(teamId: string, position: UploadPosition): string {
  return formatPlace(`${teamId} uploads`, position);
}

function formatPlace(owner: string, { created, id }: TablePosition | UploadPosition): string {
  const bytes = Buffer.alloc(positionBytes);
  bytes.writeBigUInt64BE(created, 0);
  bytes.write(id.replaceAll('-', ''), 8, 'hex');
  return withChecksum(owner, bytes);
}

/** Throws HttpError for a text that no page of this team's tables returned. */
export function parseTablesContinuation(teamId: string, text: string): TablePosition {
  return parsePlace(teamId, text, 'these tables');
}

/** Throws HttpError for a text that no page of this team's uploads returned. */
export function parseUploadsContinuation(teamId: string, text: string): UploadPosition {
  return parsePlace(`${teamId} uploads`, text, 'these uploads');
}

function parsePlace(owner: string, text: string, whose: string): TablePosition & UploadPosition {
  const position = readPosition(owner, text);
  const created = position?.readBigUInt64BE(0) ?? 0n;
  if (position === null || created > versionMax) throw invalidContinuation('query.', whose);
  const id = position.toString('hex', 8).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  return { created, id };
}

function withChecksum(owner: string, position: Buffer): string {
  return Buffer.concat([position, checksum(owner, position)]).toString('base64url');
}

/** The position of a continuation; null for a text that was not made for this owner. */
function readPosition(owner: string, text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url');
  const position = bytes.subarray(0, positionBytes);
  const isMade =
    bytes.length === positionBytes + checksumBytes &&
    bytes.toString('base64url') === text &&
    bytes.subarray(positionBytes).equals(checksum(owner, position));
  return isMade ? position : null;
}

/**
 * `prefix`: text before the name of the parameter, such as `query.`; `whose`: the list that the page should belong to,
 * such as `this table`.
 */
export function invalidContinuation(prefix: string, whose: string): HttpError {
  return new HttpError(
    'request_validation_error',
    `${prefix}continuation: no page of ${whose} has returned this continuation.`,
  );
}

/** Detects mistakes, such as the continuation of another table. It is no signature: the query checks the position. */
function checksum(owner: string, position: Buffer): Buffer {
  return createHash('sha256').update(owner).update(position).digest().subarray(0, checksumBytes);
}
