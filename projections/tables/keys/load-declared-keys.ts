/**
 * Reads the keys of all rows of a table when the projector reaches the declaration of its key. If the table has many
 * rows, the API has read their keys into an index before (docs/decisions/0083), and only the rows that have changed
 * since are read. If this read model lacks that index, as in a replay, all rows are read: the outcome is the same.
 */
import type { Event } from '../../../src/language/events/event.ts';
import { formatRowId } from '../../../src/language/events/row-id.ts';
import { TimeSlices } from '../../../src/language/time-slices.ts';
import { presentersOf, type PresenterFor } from '../../../src/language/values/presentation.ts';
import type { Refusal } from '../../../src/language/values/refusal.ts';
import { keyReaderOf, type RowKey } from '../../../src/language/values/row-key.ts';
import type { TableSchema } from '../../../src/language/values/table-schema.ts';
import type { LoadingTables } from '../load-tables.ts';
import { presentRows } from '../read/read-rows.ts';
import { presenterOfForm } from '../read/stored-body.ts';
import { changesMax, countRowsSince, findChangesSince, never, rowsReadAtMost, type RowSince } from '../rows-since.ts';
import type { Table } from '../table.ts';
import type { TableStates } from '../tables.state.ts';
import type { ChangesOfPrepared, HashEntry } from './key-changes.ts';
import { KeyRuns } from './key-runs.ts';
import { dropPreparation, findPreparedHashes, findPreparedVersion } from './key-preparations.store.ts';
import type { FoundKeys, FoundRuns } from './keys.state.ts';
import { keyNotUnique } from './keys-of-rows.ts';
import { keysAhead, keysMax, tooManyRows } from './load-key-runs.ts';
import {
  findHoldersOf,
  findRowsAt,
  findShownExtents,
  findWindows,
  hashBytesOf,
  hashOfKey,
  retainedIdOf,
  type HolderAt,
} from './row-keys.store.ts';
import { checkGivenKey, declared, keyOf, shownKey, type TableKey } from './table-key.ts';

export async function loadDeclaredKeys(loading: LoadingTables): Promise<void> {
  const { events, states, isAhead } = loading;
  for (const event of events) {
    const declaring = declaredKey(states, event);
    if (declaring === null) continue;
    if (isAhead) throw new Error(keysAhead);
    states.tables.keys.putFoundKeys(event, await readKeys(loading, declaring));
  }
}

/**
 * How many rows are read at most if the API can read them before. This takes some hundredths of a second, in which the
 * partition waits. Must not change, or replay would give other outcomes.
 */
const keysReadMax = 500;

/** A key that an event declares for a table with rows. */
interface DeclaredKey {
  readonly key: TableKey;
  readonly schema: TableSchema;
  readonly table: Table;
  /** As in the event. */
  readonly prepared: { readonly version: bigint; readonly index: bigint } | null | undefined;
}

/** Null if the event declares none, or if it is refused anyway. */
function declaredKey({ tables }: TableStates, { data }: Event): DeclaredKey | null {
  if (data.type !== 'TablePatchRequested' || !data.key) return null;
  const table = tables.table(data.tableId);
  if (table === null || table.rows === 0 || JSON.stringify(data.key) === table.keyColumns) return null;
  const schema = tables.schema(table);
  if (checkGivenKey(data.key, schema, '') !== null) return null;
  const key = keyOf({ id: table.id, ...declared(data.key, data.preparedKey?.index ?? 0n) }, schema)!;
  return { key, schema, table, prepared: data.preparedKey };
}

async function readKeys(loading: LoadingTables, declaring: DeclaredKey): Promise<FoundKeys> {
  const { tx } = loading;
  const { table, key, prepared } = declaring;
  if (table.rows > keysMax) return { refusal: tooManyRows(`a key is declared for a table of at most ${keysMax} rows`) };
  if (prepared === undefined) return readTable(loading, declaring);
  const changed = await changedRows(loading, declaring);
  if (changed === 'unread') return { unread: true };
  if (prepared === null) return readTable(loading, declaring);
  const columns = JSON.stringify(key.columns.map(({ id }) => id));
  if (changed !== 'all' && (await findPreparedVersion(tx, key, columns)) === prepared.version)
    return changesOf(loading, declaring, changed);
  loading.writeFirst((storing) => dropPreparation(storing, key));
  return readTable(loading, declaring);
}

/**
 * The rows that have changed since the keys were read. `all`: the table has so few rows that all are read. `unread`:
 * too many rows have changed. Depends on the event and the table alone.
 */
async function changedRows(
  { tx }: LoadingTables,
  { table, prepared }: DeclaredKey,
): Promise<readonly RowSince[] | 'all' | 'unread'> {
  const since = prepared?.version ?? never;
  const counts = await countRowsSince(tx, table, since);
  const most = Math.min(keysReadMax, rowsReadAtMost(table.rowBytesMax));
  if (counts.rows <= most) return 'all';
  if (!prepared || table.generation > since || table.widened > since) return 'unread';
  if (table.version === since) return [];
  if (counts.added > keysReadMax || counts.changes > changesMax) return 'unread';
  const rows = await findChangesSince(tx, table, since, most + 1);
  return rows.length <= most ? rows : 'unread';
}

/** A row of the table, with its key. */
type KeyedRow = Pick<RowSince, 'extent' | 'version' | 'ordinal' | 'index'> & { readonly rowId: string };

/** What these changed rows change in the prepared index. */
async function changesOf(
  { tx }: LoadingTables,
  { key, schema, table }: DeclaredKey,
  changed: readonly RowSince[],
): Promise<{ readonly prepared: ChangesOfPrepared } | { readonly refusal: Refusal }> {
  const presenterFor = presentersOf(schema, table.widened);
  const read = keyReaderOf(key.columns);
  const slices = new TimeSlices();
  /** By the hash of their key. */
  const rowsByHash = new Map<string, KeyedRow[]>();
  for (const { body, form, retainedId, ...place } of changed) {
    if (slices.isOver) await slices.next();
    const rowKey = body === null ? null : read(presenterOfForm(form, presenterFor)(body));
    if (rowKey === null) continue;
    const hash = hashOfKey(rowKey.text);
    const row = { ...place, rowId: retainedId ?? formatRowId(place) };
    rowsByHash.set(hash, [...(rowsByHash.get(hash) ?? []), row]);
  }
  const hashes = [...rowsByHash.keys()];
  const given = new Set((await findPreparedHashes(tx, key, changed)).filter((hash) => hash !== null));
  const holders = await findHoldersOf(
    tx,
    hashes.map((hash) => ({ ...key, hash })),
  );
  const conflict = firstConflict(
    [...rowsByHash.values()].map((rows, at) => {
      const holder = given.has(hashes[at]!) ? null : holders[at]!;
      return holder === null ? rows : [...rows, holder];
    }),
  );
  if (conflict !== null) {
    const [other, row] = conflict;
    const rowKey = (await findKey(tx, row, { presenterFor, read }))!;
    return { refusal: keyNotUnique(`row ${row.rowId}`, `row ${other.rowId}`, shownKey(key, rowKey)) };
  }
  const entries = [...rowsByHash].map(([hash, [row]]): HashEntry => ({ hash, extent: row!.extent, index: row!.index }));
  return {
    prepared: {
      freed: [...given].filter((hash) => !rowsByHash.has(hash)),
      moved: entries.filter(({ hash }) => given.has(hash)),
      taken: entries.filter(({ hash }) => !given.has(hash)),
    },
  };
}

/**
 * Of groups of rows with equal keys, the two rows that a reader of the whole table, in its order, would find first: a
 * row, and the first row with its key.
 */
function firstConflict(groups: readonly (readonly (KeyedRow | HolderAt)[])[]): readonly [KeyedRow, KeyedRow] | null {
  const pairs = groups
    .filter((rows) => rows.length > 1)
    .map((rows) => rows.toSorted(inOrder).slice(0, 2) as [KeyedRow, KeyedRow]);
  return pairs.toSorted(([, one], [, two]) => inOrder(one, two))[0] ?? null;
}

function inOrder(one: KeyedRow, two: KeyedRow): number {
  return Number(one.version - two.version) || one.ordinal - two.ordinal || one.index - two.index;
}

interface Reading {
  readonly presenterFor: PresenterFor;
  readonly read: (body: string) => RowKey | null;
}

/** The key of a row, as it is stored. */
async function findKey(
  tx: LoadingTables['tx'],
  { extent, index }: Pick<KeyedRow, 'extent' | 'index'>,
  { presenterFor, read }: Reading,
): Promise<RowKey | null> {
  const rows = await findRowsAt(tx, extent, index);
  for (const { body } of presentRows(rows, presenterFor, rows.count ?? 0)) return read(body);
  return null;
}

/** The number of rows, or about the number of their bytes, that are read at once. */
const rowsAtOnce = 5000;
const bytesAtOnce = 4 * 1024 * 1024;

async function readTable(
  { tx }: LoadingTables,
  { key, schema, table: { widened, rows, rowBytesMax } }: DeclaredKey,
): Promise<FoundRuns> {
  const slices = new TimeSlices();
  const runs = new KeyRuns(rows);
  const read = keyReaderOf(key.columns);
  const presenterFor = presentersOf(schema, widened);
  const extents = await findShownExtents(tx, key.tableId);
  const rowsOfWindow = Math.max(1, Math.min(rowsAtOnce, Math.floor(bytesAtOnce / Math.max(1, rowBytesMax))));
  let last = -1;
  for await (const { part, rows: found } of findWindows(tx, extents, rowsOfWindow)) {
    if (part !== last) runs.beginPart();
    last = part;
    const { version, ordinal } = extents[part]!;
    for (const { index, retainedId, body } of presentRows(found, presenterFor, found.count ?? 0)) {
      if (index % 64 === 0) await slices.next();
      const rowKey = read(body);
      const earlier = rowKey === null ? null : runs.add(hashBytesOf(rowKey.text), index);
      if (earlier === null) continue;
      const other = extents[earlier.part]!;
      const otherId =
        (await retainedIdOf(tx, other.key, earlier.index)) ?? formatRowId({ ...other, index: earlier.index });
      const rowId = retainedId ?? formatRowId({ version, ordinal, index });
      return { refusal: keyNotUnique(`row ${rowId}`, `row ${otherId}`, shownKey(key, rowKey!)) };
    }
  }
  return { runs, extents: extents.map((extent) => extent.key) };
}
