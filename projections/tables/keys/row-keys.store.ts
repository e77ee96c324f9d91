/** Reads and writes indexes of keys. */
import { hash } from 'node:crypto';
import { bind, type BoundStatement } from '../../../src/storage/database/combine.ts';
import type { Statement, Tx } from '../../../src/storage/database/pipelined-client.ts';
import { RowsStatement, storing } from '../../../src/storage/database/rows-statement.ts';
import type { RowOf } from '../../../src/storage/database/stored-table.ts';
import { formatRowId } from '../../../src/language/events/row-id.ts';
import type { Steps } from '../../../src/language/time-slices.ts';
import type { RowsOfPart } from '../read/read-rows.ts';
import { rowsBetween } from '../read/shown-rows.ts';
import { isShownAt, latest, retainedIdAt } from '../read/table-at.ts';
import type { Extent } from '../table.ts';
import { storedExtents } from '../table.entity.ts';
import { entryBytes, hashBytes } from './key-runs.ts';
import type { HashEntry, KeyHolder, KeyIndex, KeyRunsChange, PreparedKeysChange } from './key-changes.ts';
import type { ChangedKey } from './keys.state.ts';
import { storedEndedKeys, storedRowKeys, type RowKeyEntity } from './row-key.entity.ts';

/** The hash that stands for a key in an index. A cell may be longer than an entry of an index can be. */
export function hashOfKey(text: string): string {
  const digits = hash('sha256', text, 'hex');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-${digits.slice(12, 16)}-${digits.slice(16, 20)}-${digits.slice(20, 32)}`;
}

/** The same as bytes. */
export function hashBytesOf(text: string): Buffer {
  return hash('sha256', text, 'buffer').subarray(0, hashBytes);
}

/** A key in an index. */
export type WantedKey = Pick<ChangedKey, 'tableId' | 'since' | 'text'>;

interface FoundKey {
  readonly at: number;
  readonly extent: bigint;
  readonly index: number;
  readonly version: bigint;
  readonly ordinal: number;
  readonly retainedId: string | null;
}

const wantedKey = storedRowKeys.parameters('tableId', 'since', 'hash');

const selectRowKeys = new RowsStatement<
  { readonly tableId: string; readonly since: bigint; readonly hash: string; readonly at: number },
  FoundKey
>(
  'select_row_keys',
  { ...wantedKey, at: 'int4' },
  (rows) => `select wanted.at, found.extent, found.index, extents.version, extents.ordinal,
      ${retainedIdAt('extents', 'extents.first + found.index')} as "retainedId"
    from ${rows('wanted')}
    join lateral (
      select extent, index from row_keys where row_keys.table_id = wanted.table_id
        and row_keys.since = wanted.since and row_keys.hash = wanted.hash limit 1
    ) found on true
    join lateral (select * from extents where extents.key = found.extent limit 1) extents on true`,
);

/** The rows that have these keys, in the order of the keys; null for a key that no row has. */
export async function findHolders(tx: Tx, wanted: readonly WantedKey[]): Promise<(KeyHolder | null)[]> {
  return findHoldersOf(
    tx,
    wanted.map(({ tableId, since, text }) => ({ tableId, since, hash: hashOfKey(text) })),
  );
}

/** The same for keys whose hashes are known. */
export async function findHoldersOf(
  tx: Tx,
  wanted: readonly (KeyIndex & { readonly hash: string })[],
): Promise<(HolderAt | null)[]> {
  const holders = wanted.map((): HolderAt | null => null);
  if (wanted.length === 0) return holders;
  const rows = wanted.map(({ tableId, since, hash }, at) => ({ tableId, since, hash, at }));
  for (const { at, ...found } of await selectRowKeys.find(tx, rows)) holders[at] = toHolder(found);
  return holders;
}

/** A row that has a key, with its place in the order of the table. */
export type HolderAt = KeyHolder & Pick<FoundKey, 'version' | 'ordinal'>;

const toHolder = ({ extent, index, version, ordinal, retainedId }: Omit<FoundKey, 'at'>): HolderAt => {
  return { extent, index, version, ordinal, rowId: retainedId ?? formatRowId({ version, ordinal, index }) };
};

const selectKeysByHash: Statement<FoundKey> = {
  name: 'select_row_keys_by_hash',
  text: `select wanted.at, found.extent, found.index, extents.version, extents.ordinal,
      ${retainedIdAt('extents', 'extents.first + found.index')} as "retainedId"
    from (
      select at, encode(substring($3::bytea from at * ${hashBytes} + 1 for ${hashBytes}), 'hex')::uuid as hash
      from generate_series(0, length($3::bytea) / ${hashBytes} - 1) at
    ) wanted
    join lateral (
      select extent, index from row_keys where row_keys.table_id = $1 and row_keys.since = $2
        and row_keys.hash = wanted.hash limit 1
    ) found on true
    join lateral (select * from extents where extents.key = found.extent limit 1) extents on true`,
};

/** The rows that have keys with these hashes, in their order; undefined for a key that no row has. */
export async function findHoldersByHash(
  tx: Tx,
  { tableId, since }: Pick<WantedKey, 'tableId' | 'since'>,
  hashes: readonly Buffer[],
): Promise<readonly (KeyHolder | undefined)[]> {
  const holders: KeyHolder[] = [];
  const { rows } = await tx.query(selectKeysByHash, [tableId, since, Buffer.concat(hashes)]);
  for (const { at, ...found } of rows) holders[at] = toHolder(found);
  return holders;
}

const selectBodies: Statement<{ bodies: string | null }> = {
  name: 'select_bodies_of_segment',
  text: `select string_agg(body, E'\\n' order by index) as bodies from segment_rows where segment = $1`,
};

/** The bodies of a segment, in order, as they were received. Throws if they are not as many as `count`. */
export async function findBodies(tx: Tx, segment: bigint, count: number): Promise<readonly string[]> {
  const { rows } = await tx.query(selectBodies, [segment]);
  const bodies = rows[0]?.bodies?.split('\n') ?? [];
  if (bodies.length !== count) throw new Error(`segment ${segment} has ${bodies.length} rows, not ${count}`);
  return bodies;
}

const selectShownExtents: Statement<Extent> = {
  name: 'select_shown_extents',
  text: `select ${storedExtents.columns()} from tables join extents on ${isShownAt('extents', latest)}
    where tables.id = $1 and extents.rows > extents.deleted order by extents.version, extents.ordinal`,
};

/** The extents that a table shows, in order. */
export async function findShownExtents(tx: Tx, tableId: string): Promise<readonly Extent[]> {
  return (await tx.query(selectShownExtents, [tableId])).rows;
}

const selectWindows: Statement<RowsOfPart & { readonly part: number }> = {
  name: 'select_rows_of_windows',
  text: `select asked.part, found.* from unnest($1::int8[], $2::int4[], $3::int4[], $4::int4[])
      with ordinality as asked(key, part, start, ends, place)
    join extents on extents.key = asked.key join tables on tables.id = extents.table_id
    cross join lateral (
      ${rowsBetween('extents', ['asked.start', 'asked.ends'], latest, { limit: 'all', versions: false })}
    ) found
    order by asked.place`,
};

/**
 * The rows of extents in order, about `rowsAtOnce` with each statement. `part`: the number of the extent in the list.
 */
export async function* findWindows(
  tx: Tx,
  extents: readonly Extent[],
  rowsAtOnce: number,
): AsyncGenerator<{ readonly part: number; readonly rows: RowsOfPart }> {
  let asked: { key: bigint; part: number; start: number; ends: number }[] = [];
  let count = 0;
  const find = async (): Promise<readonly (RowsOfPart & { readonly part: number })[]> => {
    const windows = asked;
    asked = [];
    count = 0;
    if (windows.length === 0) return [];
    const lists = (['key', 'part', 'start', 'ends'] as const).map((name) => windows.map((window) => window[name]));
    return (await tx.query(selectWindows, lists)).rows;
  };
  for (const [part, { key, rows }] of extents.entries()) {
    for (let start = 0; start < rows; start += rowsAtOnce) {
      const ends = Math.min(rows, start + rowsAtOnce);
      asked.push({ key, part, start, ends });
      count += ends - start;
      if (count >= rowsAtOnce) for (const found of await find()) yield { part: found.part, rows: found };
    }
  }
  for (const found of await find()) yield { part: found.part, rows: found };
}

/** The row at an index of an extent, as a part of one row. */
export async function findRowsAt(tx: Tx, extent: bigint, index: number): Promise<RowsOfPart> {
  return (await tx.query(selectWindows, [[extent], [0], [index], [index + 1]])).rows[0]!;
}

const selectRetainedId: Statement<{ id: string | null }> = {
  name: 'select_retained_id_of_row',
  text: `select ${retainedIdAt('extents', 'extents.first + $2')} as id from extents where extents.key = $1`,
};

/** The retained ID of a row; null if its ID follows from its place. */
export async function retainedIdOf(tx: Tx, extent: bigint, index: number): Promise<string | null> {
  return (await tx.query(selectRetainedId, [extent, index])).rows[0]?.id ?? null;
}

/**
 * `insertRowKeys` is for keys that no row had, and fails if a row has one. The other two are for keys that a row had.
 */
export const insertRowKeys = storedRowKeys.insert('insert_row_keys');
export const updateRowKeys = storedRowKeys.update('update_row_keys', ['extent', 'index']);
export const deleteRowKeys = storedRowKeys.only('tableId', 'since', 'hash').delete('delete_row_keys');

const insertRun: Statement = {
  name: 'insert_run_of_row_keys',
  text: `insert into row_keys (table_id, since, hash, extent, index)
    select $1::uuid, $2::int8, hash, $3::int8, index from (
      select encode(substring($4::bytea from at * ${entryBytes} + 1 for ${hashBytes}), 'hex')::uuid as hash,
        ('x' || encode(substring($4::bytea from at * ${entryBytes} + ${hashBytes + 1} for 4), 'hex'))::bit(32)::int4
          as index
      from generate_series(0, length($4::bytea) / ${entryBytes} - 1) at
    ) entries order by hash`,
};

/** The most keys that one statement inserts, which takes about a tenth of a second. */
const keysAtOnce = 10_000;

/** The statements that insert the keys of many rows. */
export function* insertRuns({ tableId, since, runs, extents }: KeyRunsChange): Generator<Steps<BoundStatement>> {
  for (const [part, entries] of runs.parts.entries()) {
    for (let start = 0; start < entries.length; start += keysAtOnce * entryBytes) {
      const some = entries.subarray(start, start + keysAtOnce * entryBytes);
      yield boundAlone(bind(insertRun, [tableId, since, extents[part], some]));
    }
  }
}

// oxlint-disable-next-line require-yield
function* boundAlone(bound: BoundStatement): Steps<BoundStatement> {
  return { ...bound, isAlone: true };
}

const takePreparations = new RowsStatement<Pick<KeyIndex, 'tableId' | 'since'>>(
  'take_key_preparations',
  { tableId: 'uuid', since: 'int8' },
  (rows) => `update key_preparations set is_taken = true from ${rows('taken')}
    where key_preparations.table_id = taken.table_id and key_preparations.since = taken.since`,
);

/** The statements by which a declaration takes a prepared index. */
export function takeIndex({ tableId, since, freed, moved, taken }: PreparedKeysChange): Steps<BoundStatement>[] {
  const entry = ({ hash, extent, index }: HashEntry): RowKeyRow => ({ tableId, since, hash, extent, index });
  return [
    ...storing([{ tableId, since }], takePreparations),
    ...storing(
      freed.map((hash) => ({ tableId, since, hash })),
      deleteRowKeys,
    ),
    ...storing(moved.map(entry), updateRowKeys),
    ...storing(taken.map(entry), insertRowKeys),
  ];
}

export const insertEndedKeys = storedEndedKeys.insert('insert_ended_keys');

type RowKeyRow = RowOf<typeof RowKeyEntity>;

/** The entry of a key that a row has. */
export function rowKeyOf({ tableId, since, text, holder }: ChangedKey & { readonly holder: KeyHolder }): RowKeyRow {
  return { tableId, since, hash: hashOfKey(text), extent: holder.extent, index: holder.index };
}

/** The columns of an entry by which it is deleted. */
export function entryOf({ tableId, since, text }: WantedKey): { tableId: string; since: bigint; hash: string } {
  return { tableId, since, hash: hashOfKey(text) };
}
