/**
 * Reads the keys of many rows when the projector reaches their event: the rows of a large body, or of a stash. Compares
 * the keys with each other in packed form, and with the index block by block.
 */
import { rowsOf } from '../../../src/language/events/event-names.ts';
import type { Event, EventOf } from '../../../src/language/events/event.ts';
import { TimeSlices } from '../../../src/language/time-slices.ts';
import type { Profile } from '../../../src/language/values/profile.ts';
import type { Refusal } from '../../../src/language/values/refusal.ts';
import { keyReaderOf } from '../../../src/language/values/row-key.ts';
import { schemaOf, type TableSchema } from '../../../src/language/values/table-schema.ts';
import type { ArrivedRows } from '../../segments/arrived-rows.ts';
import type { LoadingTables } from '../load-tables.ts';
import type { TableStates } from '../tables.state.ts';
import { KeyRuns } from './key-runs.ts';
import type { KeyHolder } from './key-changes.ts';
import type { FoundRuns } from './keys.state.ts';
import { keyNotUnique, keyPresenterOf } from './keys-of-rows.ts';
import { findBodies, findHoldersByHash, hashBytesOf } from './row-keys.store.ts';
import { checkGivenKey, declared, keyOf, shownKey, type TableKey } from './table-key.ts';

/**
 * The most rows of a request that is larger than a block, and of a table when its key is declared: all their keys are
 * in memory together. Must not change, or replay would give other outcomes.
 */
export const keysMax = 1_000_000;

/** Why a speculative batch reads no keys of many rows. */
export const keysAhead = 'the keys of many rows are read only where they stand in the log';

export async function loadKeyRuns(loading: LoadingTables): Promise<void> {
  const { events, states, isAhead } = loading;
  for (const event of events) {
    const arriving = arrivingRows(states, event);
    if (arriving === null) continue;
    if (isAhead) throw new Error(keysAhead);
    states.tables.keys.putFoundRuns(event, await readArriving(loading, arriving));
  }
}

/** Rows of a large body or a stash, for a table with a key. */
interface ArrivingRows {
  readonly key: TableKey;
  readonly schema: TableSchema;
  /** Whether the table has no other rows. */
  readonly isFirst: boolean;
  readonly segments: readonly { readonly segment: bigint; readonly profile: Profile }[];
  readonly placeOf: ArrivedRows['placeOf'];
}

/** Null if the event brings no such rows. */
function arrivingRows(states: TableStates, event: Event): ArrivingRows | null {
  const { data } = event;
  if (
    data.type !== 'TableCreateRequested' &&
    data.type !== 'TableOverwriteRequested' &&
    data.type !== 'RowsAddRequested'
  )
    return null;
  if (data.type === 'RowsAddRequested' && data.mode === 'upsert') return null;
  const found = sourceOf(states, data);
  const keyed = found === null ? null : keyOfRequest(states, data);
  return found === null || keyed === null ? null : { ...keyed, ...found };
}

/** The key that the rows of a request must have, if it is valid. */
function keyOfRequest(
  { tables }: TableStates,
  data: EventOf<'TableCreateRequested' | 'TableOverwriteRequested' | 'RowsAddRequested'>,
): Pick<ArrivingRows, 'key' | 'schema' | 'isFirst'> | null {
  const isFirst = data.type !== 'RowsAddRequested';
  if (isFirst && data.columns !== null) {
    const schema = schemaOf(data.columns, 0n);
    if (data.key === undefined || checkGivenKey(data.key, schema, '') !== null) return null;
    const key = keyOf({ id: data.tableId, ...declared(data.key, 0n) }, schema)!;
    return { key, schema, isFirst };
  }
  const table = tables.table(data.tableId);
  const schema = table === null ? null : tables.schema(table);
  const key = schema === null ? null : keyOf(table!, schema);
  return key === null ? null : { key, schema: schema!, isFirst };
}

/**
 * Where the rows of a large body or a stash are; null for other rows, and if the request is refused for another reason.
 */
function sourceOf(
  { segments, stashes }: TableStates,
  data: EventOf<'TableCreateRequested' | 'TableOverwriteRequested' | 'RowsAddRequested'>,
): Pick<ArrivingRows, 'segments' | 'placeOf'> | null {
  const source = rowsOf(data)!;
  if (source.kind === 'body')
    return { segments: segments.bodyBlocks(data.teamId, source.bodyId), placeOf: ({ row }) => `rows[${row}]` };
  if (source.kind !== 'stash') return null;
  const stash = stashes.stash(data.teamId, source.stashId);
  if (stash === null || stash.endedAt !== null) return null;
  const content = stashes.content(stash.key);
  return {
    segments: content.segments.map(({ key: segment, profile }) => ({ segment, profile })),
    placeOf: content.placeOf,
  };
}

async function readArriving(loading: LoadingTables, arriving: ArrivingRows): Promise<FoundRuns> {
  const { tx } = loading;
  const { key, schema, isFirst, segments, placeOf } = arriving;
  const rows = segments.reduce((sum, { profile }) => sum + profile.rows, 0);
  if (rows > keysMax)
    return { refusal: tooManyRows(`a table with a key takes at most ${keysMax} rows in one request`) };
  const slices = new TimeSlices();
  const runs = new KeyRuns(rows);
  const read = keyReaderOf(key.columns);
  /** The number of the first row of each segment. */
  const starts: number[] = [];
  let start = 0;
  for (const { segment, profile } of segments) {
    starts.push(start);
    runs.beginPart();
    const present = keyPresenterOf(key, schema, profile);
    const bodies = await findBodies(tx, segment, profile.rows);
    const keys = [];
    for (const [index, body] of bodies.entries()) {
      if (index % 64 === 0) await slices.next();
      const rowKey = read(present(body));
      if (rowKey !== null) keys.push({ ...rowKey, hash: hashBytesOf(rowKey.text), index });
    }
    const holders =
      isFirst || keys.length === 0
        ? []
        : await findHoldersByHash(
            tx,
            key,
            keys.map(({ hash }) => hash),
          );
    for (const [at, { text, tokens, hash, index }] of keys.entries()) {
      if (at % 64 === 0) await slices.next();
      const earlier = runs.add(hash, index);
      const other = earlier === null ? null : placeOf({ row: starts[earlier.part]! + earlier.index, position: 0 });
      const holder = isFirst ? null : holderNow(loading, key, text, holders[at] ?? null);
      const name = other ?? (holder === null ? null : `row ${holder.rowId}`);
      if (name !== null)
        return {
          refusal: keyNotUnique(placeOf({ row: start + index, position: 0 }), name, shownKey(key, { text, tokens })),
        };
    }
    start += profile.rows;
  }
  return { runs, extents: [] };
}

/** The row that has a key after the earlier events of the batch. */
function holderNow({ states }: LoadingTables, key: TableKey, text: string, stored: KeyHolder | null): KeyHolder | null {
  const known = states.tables.keys.find(key, text);
  return known === undefined ? stored : known;
}

export function tooManyRows(message: string): Refusal {
  return { type: 'limit_exceeded', message };
}
