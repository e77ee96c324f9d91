/**
 * Reads the keys of a large table into an index, before the event that declares the key (docs/decisions/0083). It reads
 * a snapshot, so nobody waits, and yields the thread every few milliseconds. If others change too much before the event
 * is decided, it reads their changes, and the request tries again.
 */
import { randomBytes } from 'node:crypto';
import type { CopyQueries } from '../../../../projections/tables/copies.queries.ts';
import type { CopiedExtent, CopiedRow } from '../../../../projections/tables/copied-rows.ts';
import type { KeyIndex } from '../../../../projections/tables/keys/key-changes.ts';
import {
  deletePreparedKeys,
  endPreparation,
  findPreparedHashes,
  insertKeyPreparations,
  insertPreparedKeys,
  notePreparedPlaces,
  notePreparedVersion,
  type HashedRow,
} from '../../../../projections/tables/keys/key-preparations.store.ts';
import { keyNotUnique } from '../../../../projections/tables/keys/keys-of-rows.ts';
import { hashBytes } from '../../../../projections/tables/keys/key-runs.ts';
import { findHoldersByHash, hashBytesOf } from '../../../../projections/tables/keys/row-keys.store.ts';
import {
  checkGivenKey,
  declared,
  keyOf,
  shownKey,
  type TableKey,
} from '../../../../projections/tables/keys/table-key.ts';
import type { TableSnapshot, TableState } from '../../../../projections/tables/table-snapshot.ts';
import type { EventOf } from '../../../language/events/event.ts';
import { TimeSlices } from '../../../language/time-slices.ts';
import type { Refusal } from '../../../language/values/refusal.ts';
import { keyReaderOf, type KeyReader } from '../../../language/values/row-key.ts';
import type { Database } from '../../../storage/database/database.ts';
import type { Tx } from '../../../storage/database/pipelined-client.ts';
import { inPipelinedTransaction } from '../../../storage/database/transaction.ts';
import { FillTurns } from '../../query/engine/fill-turns.ts';
import { SortedKeys, type SomeKeys } from './sorted-keys.ts';

/** Maximum of preparations that read at once: each takes a connection to Postgres, and time of the thread. */
const preparationsAtOnce = 2;

/** About how many rows one transaction writes. It takes some hundredths of a second. */
const rowsAtOnce = 5000;

/** How many changed rows are read again at most. Beyond that, all rows are read again. */
const changesMax = 200_000;

export interface PreparedKey {
  readonly version: bigint;
  readonly index: bigint;
}

/** The result of reading the rows of a table. Null: there is nothing to read. */
export type Preparation =
  | { readonly prepared: PreparedKey }
  | { readonly refusal: Refusal; readonly version: bigint }
  | null;

export class KeyPreparations {
  readonly #database: Database;
  readonly #queries: CopyQueries;
  readonly #turns = new FillTurns(preparationsAtOnce);

  constructor(database: Database, queries: CopyQueries) {
    this.#database = database;
    this.#queries = queries;
  }

  /** Begins the preparation for a request, which ends it. */
  begin(event: EventOf<'TablePatchRequested'>): KeyPreparation {
    return new KeyPreparation(this.#database, this.#queries, this.#turns, event);
  }
}

/** What an index has: the keys of all rows at a version. */
interface Known {
  readonly since: bigint;
  readonly state: Pick<TableState, 'version' | 'generation' | 'widened'>;
  /** By version and ordinal. */
  readonly extents: Map<string, CopiedExtent>;
  readonly last: CopiedExtent | null;
}

/** The keys of a table for one request. */
export class KeyPreparation {
  readonly #database: Database;
  readonly #queries: CopyQueries;
  readonly #turns: FillTurns;
  readonly #event: EventOf<'TablePatchRequested'>;
  #index: KeyIndex | null = null;
  #known: Known | null = null;

  constructor(database: Database, queries: CopyQueries, turns: FillTurns, event: EventOf<'TablePatchRequested'>) {
    this.#database = database;
    this.#queries = queries;
    this.#turns = turns;
    this.#event = event;
  }

  /**
   * Reads the keys of all rows as they are now; if that was done before, only those of rows that have changed since.
   * Resolves to a refusal if two rows have the same key. Rejects with the reason of the signal if the client has gone.
   */
  async read(gone: AbortSignal): Promise<Preparation> {
    const { teamId, tableId, key } = this.#event;
    return this.#turns.run(teamId, gone, () =>
      this.#queries.inSnapshot(async (snapshot) => {
        const state = await snapshot.state(teamId, tableId, null);
        if (typeof state === 'string' || checkGivenKey(key!, state.schema, 'key') !== null) return null;
        const reading = new Reading(this.#database, snapshot, state, tableId, key!, gone);
        const known = this.#known;
        this.#known = null;
        const refusal = known !== null && canCatchUp(known, state) ? await this.#catchUp(reading, known) : 'all';
        if (refusal === 'all') {
          await this.end();
          const refused = await this.#readAll(reading);
          if (refused !== null) return { refusal: refused, version: state.version };
        } else if (refusal !== null) return { refusal, version: state.version };
        return { prepared: { version: state.version, index: this.#index!.since } };
      }),
    );
  }

  async #readAll(reading: Reading): Promise<Refusal | null> {
    const { tableId, key } = this.#event;
    const index = { tableId, since: newIndex() };
    this.#index = index;
    const { statement, values } = insertKeyPreparations.bind([{ ...index, columns: JSON.stringify(key) }]);
    await this.#database.fills.with((tx) => tx.query(statement, values));
    const { state, snapshot } = reading;
    const extents = await snapshot.extents(tableId, state.generation, -1n, null);
    const refusal = await reading.insertKeys(
      index,
      [],
      extents.map((extent) => ({ ...extent, from: 0 })),
    );
    return refusal ?? this.#note(reading, new Map(), extents);
  }

  /** Reads what has changed since the last time. `all`: that is so much that all rows must be read. */
  async #catchUp(reading: Reading, known: Known): Promise<Refusal | null | 'all'> {
    const { tableId } = this.#event;
    const { state, snapshot } = reading;
    const index = this.#index!;
    const { last } = known;
    const found = await snapshot.extents(tableId, state.generation, known.since, last);
    const changed = await reading.changesSince(tableId, known);
    if (changed === null) return 'all';
    await reading.freeKeys(index, changed);
    // The last extent may have got more rows.
    const later = found.map((extent) => ({ ...extent, from: extent.key === last?.key ? last.rows : 0 }));
    const refusal = await reading.insertKeys(
      index,
      changed,
      later.filter(({ from, rows }) => from < rows),
    );
    return refusal ?? this.#note(reading, known.extents, found);
  }

  /** Notes which keys the index has now. */
  async #note({ state }: Reading, extents: Map<string, CopiedExtent>, found: readonly CopiedExtent[]): Promise<null> {
    const isThere = await this.#database.fills.with((tx) => notePreparedVersion(tx, this.#index!, state.version));
    if (!isThere) throw new Error('a preparation of a key was given up while it was worked on');
    for (const extent of found) extents.set(placeOf(extent), extent);
    this.#known = { since: state.version, state, extents, last: [...extents.values()].at(-1) ?? null };
    return null;
  }

  /** Gives the index up, unless an event has taken it. Never rejects: garbage collection gives it up later. */
  async end(): Promise<void> {
    const index = this.#index;
    this.#index = null;
    this.#known = null;
    if (index === null) return;
    await this.#database.fills.with((tx) => endPreparation(tx, index)).catch(() => undefined);
  }
}

/** Whether the keys of unchanged rows are still the same. */
function canCatchUp({ state: { version, generation } }: Known, state: TableState): boolean {
  return generation === state.generation && state.widened <= version;
}

/** The number of a new index: versions are not negative. */
function newIndex(): bigint {
  return -(randomBytes(8).readBigUInt64BE() >> 2n) - 1n;
}

const placeOf = ({ version, ordinal }: Pick<CopiedRow, 'version' | 'ordinal'>): string => `${version} ${ordinal}`;

/** Reads rows of a table in a snapshot, and writes their keys into an index. */
class Reading {
  readonly snapshot: TableSnapshot;
  readonly state: TableState;
  readonly #database: Database;
  readonly #gone: AbortSignal;
  readonly #key: TableKey;
  readonly #read: KeyReader;
  readonly #slices = new TimeSlices();

  constructor(
    database: Database,
    snapshot: TableSnapshot,
    state: TableState,
    tableId: string,
    columnIds: readonly string[],
    gone: AbortSignal,
  ) {
    this.#database = database;
    this.snapshot = snapshot;
    this.state = state;
    this.#gone = gone;
    this.#key = keyOf({ id: tableId, ...declared(columnIds, 0n) }, state.schema)!;
    this.#read = keyReaderOf(this.#key.columns);
  }

  /**
   * The rows, of extents that were there, that have changed since the index was filled; null if these are too many. A
   * deleted row has no key.
   */
  async changesSince(tableId: string, { since, extents, last }: Known): Promise<readonly HashedRow[] | null> {
    const changed: HashedRow[] = [];
    for await (const changes of this.snapshot.changes(tableId, since, this.state)) {
      this.#gone.throwIfAborted();
      for (const change of changes) {
        if (this.#slices.isOver) await this.#slices.next();
        const extent = extents.get(placeOf(change))!.key;
        // A row that came later is read with the rest of its extent.
        if (extent === last?.key && change.index >= last.rows) continue;
        changed.push({ extent, index: change.index, hash: change.body === null ? null : this.#hashOf(change.body) });
      }
      if (changed.length > changesMax) return null;
    }
    return changed;
  }

  #hashOf(body: string): Buffer | null {
    const rowKey = this.#read(body);
    return rowKey === null ? null : hashBytesOf(rowKey.text);
  }

  /** Lets rows give up the keys that the index has for them. Then the index has the keys of no version. */
  async freeKeys(index: KeyIndex, rows: readonly HashedRow[]): Promise<void> {
    await this.#write((tx) => notePreparedVersion(tx, index, null));
    for (const part of partsOf(rows))
      await this.#write(async (tx) => {
        const given = await findPreparedHashes(tx, index, part);
        await deletePreparedKeys(
          tx,
          index,
          given.filter((hash) => hash !== null),
        );
      });
  }

  /**
   * Inserts the keys of changed rows, and those of the rows of extents, each from its own index on. Resolves to the
   * refusal if two rows have the same key.
   */
  async insertKeys(
    index: KeyIndex,
    changed: readonly HashedRow[],
    extents: readonly (CopiedExtent & { readonly from: number })[],
  ): Promise<Refusal | null> {
    const keys = new SortedKeys(extents.reduce((sum, { from, rows }) => sum + rows - from, changed.length));
    for (const part of partsOf(changed)) await this.#note(index, keys, part, true);
    const extentKeys = new Map(extents.map((extent) => [placeOf(extent), extent.key]));
    let read: HashedRow[] = [];
    for await (const part of this.snapshot.rows(extents, this.state)) {
      for (const row of part) {
        if (this.#slices.isOver) await this.#slices.next();
        read.push({ extent: extentKeys.get(placeOf(row))!, index: row.index, hash: this.#hashOf(row.body) });
      }
      if (read.length < rowsAtOnce) continue;
      await this.#note(index, keys, read);
      read = [];
    }
    await this.#note(index, keys, read);
    for await (const some of keys.inOrder(rowsAtOnce)) {
      const isUnique = await this.#write((tx) => insertPreparedKeys(tx, index, some));
      if (!isUnique) return this.#refusalOf(index, some);
    }
    return null;
  }

  async #note(index: KeyIndex, keys: SortedKeys, rows: readonly HashedRow[], areKnown = false): Promise<void> {
    for (const row of rows) if (row.hash !== null) keys.add(row.hash, row);
    await this.#write((tx) => notePreparedPlaces(tx, index, rows, areKnown));
  }

  /** The refusal because of one of these keys, which another row has. */
  async #refusalOf(index: KeyIndex, { places, hashes }: SomeKeys): Promise<Refusal> {
    const holders = await this.#write((tx) =>
      findHoldersByHash(
        tx,
        index,
        places.map((_, at) => hashes.subarray(at * hashBytes, (at + 1) * hashBytes)),
      ),
    );
    const at = places.findIndex((place, n) => place.extent !== holders[n]!.extent || place.index !== holders[n]!.index);
    const rows = [
      await this.snapshot.row(places[at]!, this.state),
      await this.snapshot.row(holders[at]!, this.state),
    ] as const;
    const [other, row] = rows.toSorted(
      (one, two) => Number(one.version - two.version) || one.ordinal - two.ordinal || one.index - two.index,
    ) as [CopiedRow, CopiedRow];
    return keyNotUnique(`row ${row.rowId}`, `row ${other.rowId}`, shownKey(this.#key, this.#read(row.body)!));
  }

  /** Writes in a transaction of its own, unless the client has gone. */
  async #write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    this.#gone.throwIfAborted();
    return this.#database.fills.with((tx) => inPipelinedTransaction(tx, () => work(tx)));
  }
}

function partsOf<T>(items: readonly T[]): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / rowsAtOnce) }, (_, at) =>
    items.slice(at * rowsAtOnce, (at + 1) * rowsAtOnce),
  );
}
