/** Reads and writes indexes of keys that are prepared ahead of their declaration (docs/decisions/0083). */
import type { Statement, Tx } from '../../../src/storage/database/pipelined-client.ts';
import { hashBytes } from './key-runs.ts';
import type { KeyIndex } from './key-changes.ts';
import { storedKeyPreparations } from './key-preparation.entity.ts';

/** The place of a row. */
export interface RowPlace {
  /** The local key of its extent. */
  readonly extent: bigint;
  readonly index: number;
}

/** A row with the hash of its key (`hashBytesOf`); null: it has no key. */
export interface HashedRow extends RowPlace {
  readonly hash: Buffer | null;
}

/** The hash of a row that has no key. */
const noHash = '0'.repeat(2 * hashBytes);

/** Notes a preparation that begins. */
export const insertKeyPreparations = storedKeyPreparations.insert('insert_key_preparations');

const updateVersion: Statement = {
  name: 'update_key_preparation',
  text: `update key_preparations set version = $3, touched_at = now()
    where table_id = $1 and since = $2 and not is_taken`,
};

/**
 * Notes the version whose keys an index has; null: it has not all of them now. Resolves to whether the preparation is
 * there: garbage collection may have ended it.
 */
export async function notePreparedVersion(
  tx: Tx,
  { tableId, since }: KeyIndex,
  version: bigint | null,
): Promise<boolean> {
  return (await tx.query(updateVersion, [tableId, since, version])).rowCount > 0;
}

const selectVersion: Statement<{ readonly version: bigint | null; readonly columns: string }> = {
  name: 'select_key_preparation',
  text: `select version, columns from key_preparations where table_id = $1 and since = $2 and not is_taken for update`,
};

/** The version whose keys of these columns an index has; null: none is prepared. Locks the preparation. */
export async function findPreparedVersion(
  tx: Tx,
  { tableId, since }: KeyIndex,
  columns: string,
): Promise<bigint | null> {
  const [found] = (await tx.query(selectVersion, [tableId, since])).rows;
  return found?.columns === columns ? found.version : null;
}

const hashAt = (bytes: string, place: string): string =>
  `encode(substring(${bytes} from (${place})::int * ${hashBytes} + 1 for ${hashBytes}), 'hex')::uuid`;

const insertKeys: Statement<{ readonly inserted: number }> = {
  name: 'insert_prepared_keys',
  text: `with inserted as (
      insert into row_keys (table_id, since, hash, extent, index)
      select $1::uuid, $2::int8, ${hashAt('$5::bytea', 'place - 1')}, extent, index
      from unnest($3::int8[], $4::int4[]) with ordinality as entries (extent, index, place)
      order by 3 on conflict do nothing returning 1
    ) select count(*)::int4 as inserted from inserted`,
};

/** Inserts the keys of rows. Resolves to whether no other row had one of them; else some are not inserted. */
export async function insertPreparedKeys(
  tx: Tx,
  { tableId, since }: KeyIndex,
  { places, hashes }: { readonly places: readonly RowPlace[]; readonly hashes: Buffer },
): Promise<boolean> {
  const lists = [places.map(({ extent }) => extent), places.map(({ index }) => index)];
  const { rows } = await tx.query(insertKeys, [tableId, since, ...lists, hashes]);
  return rows[0]!.inserted === places.length;
}

const deleteKeys: Statement = {
  name: 'delete_prepared_keys',
  text: `delete from row_keys where table_id = $1 and since = $2 and hash = any($3::uuid[])`,
};

export async function deletePreparedKeys(
  tx: Tx,
  { tableId, since }: KeyIndex,
  hashes: readonly string[],
): Promise<void> {
  if (hashes.length > 0) await tx.query(deleteKeys, [tableId, since, hashes]);
}

const insertPlaces: Statement = {
  name: 'insert_prepared_places',
  text: `insert into prepared_places (table_id, since, extent, first, hashes)
    select $1::uuid, $2::int8, extent, first, decode(digits, 'hex')
    from unnest($3::int8[], $4::int4[], $5::text[]) as runs (extent, first, digits)
    on conflict (table_id, since, extent, first) do update
      set hashes = overlay(prepared_places.hashes placing excluded.hashes from 1)`,
};

/**
 * Notes the hashes of rows by their places, which ascend within each extent. `areKnown`: earlier runs may have hashes
 * of these rows. Then each row gets a run of its own, because the last run that begins at or before a row must have its
 * newest hash.
 */
export async function notePreparedPlaces(
  tx: Tx,
  { tableId, since }: KeyIndex,
  rows: readonly HashedRow[],
  areKnown: boolean,
): Promise<void> {
  const runs: { extent: bigint; first: number; next: number; digits: string[] }[] = [];
  for (const { extent, index, hash } of rows) {
    const digits = hash?.toString('hex') ?? noHash;
    const run = runs.at(-1);
    if (!areKnown && run?.extent === extent && run.next === index) {
      run.digits.push(digits);
      run.next += 1;
    } else runs.push({ extent, first: index, next: index + 1, digits: [digits] });
  }
  if (runs.length === 0) return;
  const lists = [
    runs.map(({ extent }) => extent),
    runs.map(({ first }) => first),
    runs.map(({ digits }) => digits.join('')),
  ];
  await tx.query(insertPlaces, [tableId, since, ...lists]);
}

const selectHashes: Statement<{ readonly at: number; readonly hash: string }> = {
  name: 'select_prepared_hashes',
  text: `select asked.place::int4 - 1 as at, ${hashAt('found.hashes', 'asked.index - found.first')} as hash
    from unnest($3::int8[], $4::int4[]) with ordinality as asked (extent, index, place)
    join lateral (
      select first, hashes from prepared_places where table_id = $1 and since = $2
        and prepared_places.extent = asked.extent and first <= asked.index
        and length(hashes) > (asked.index - first) * ${hashBytes}
      order by first desc limit 1
    ) found on true`,
};

/** The hashes of the keys that an index has for the rows at these places, in their order; null: it has none. */
export async function findPreparedHashes(
  tx: Tx,
  { tableId, since }: KeyIndex,
  places: readonly RowPlace[],
): Promise<(string | null)[]> {
  const hashes = places.map((): string | null => null);
  if (places.length === 0) return hashes;
  const lists = [places.map(({ extent }) => extent), places.map(({ index }) => index)];
  for (const { at, hash } of (await tx.query(selectHashes, [tableId, since, ...lists])).rows)
    hashes[at] = hash.replaceAll('-', '') === noHash ? null : hash;
  return hashes;
}

const dropStatements: readonly Statement[] = [
  {
    name: 'take_key_preparation',
    text: 'update key_preparations set is_taken = true where table_id = $1 and since = $2',
  },
  { name: 'keep_index_of_keys', text: 'delete from ended_keys where table_id = $1 and since = $2' },
  { name: 'drop_prepared_keys', text: 'delete from row_keys where table_id = $1 and since = $2' },
];

/** Empties an index whose preparation is useless. Sends all statements at once: the event fills the index next. */
export async function dropPreparation(tx: Tx, { tableId, since }: KeyIndex): Promise<void> {
  await Promise.all(dropStatements.map((statement) => tx.query(statement, [tableId, since])));
}

const endStatement: Statement = {
  name: 'end_key_preparation',
  text: `with ended as (
      update key_preparations set is_taken = true where table_id = $1 and since = $2 and not is_taken
      returning table_id, since
    ) insert into ended_keys (table_id, since) select table_id, since from ended`,
};

/** Gives a preparation up, unless an event has taken it: garbage collection removes its index. */
export async function endPreparation(tx: Tx, { tableId, since }: KeyIndex): Promise<void> {
  await tx.query(endStatement, [tableId, since]);
}
