/**
 * A copy of a table in the columnar engine. It follows the table by its version: new rows are added. Rows that were
 * changed or deleted stay, with the version at which they ended, for queries that continue at an earlier version.
 */
import type { CopiedChange, CopiedExtent, CopiedRow } from '../../../../projections/tables/copied-rows.ts';
import type { TableSnapshot, TableState } from '../../../../projections/tables/table-snapshot.ts';
import { currentType } from '../../../language/values/table-schema.ts';
import type { Columnar, ColumnarChange } from './columnar.ts';
import type { QueryColumn, QuerySource } from './compile.ts';
import { addRow, changeRow, fewRowsMax } from './few-rows.ts';
import { holdsFor, isGoodFor, keepsFor, layoutOf, segmentsOf, type Layout } from './layout.ts';
import { areMany, Parts, partsBeside, partTable } from './parts.ts';
import {
  byPart,
  createPart,
  createRows,
  forever,
  RowWriter,
  type CopyColumn,
  type WrittenTable,
} from './row-writer.ts';
import { storedType } from './stored-type.ts';

/** A new copy is saved at once. Later additions are saved when they have this many bytes. */
const saveBytes = 16 * 1024 * 1024;

/** Adding more bytes of rows than this counts as long work. */
const longBytes = 4 * 1024 * 1024;

/**
 * Limit of the bytes of columns that are added to a copy, and the estimated bytes of a cell in them. New columns are in
 * memory until they are saved, so beyond the limit a new copy is made.
 */
const addedColumnsBytesMax = 128 * 1024 * 1024;
const addedCellBytes = 16;

/**
 * Superseded rows are removed when there are at least this many, and when they are at least this share of the present
 * rows.
 */
const supersededMin = 10_000;
const supersededPart = 0.2;

type Place = Pick<CopiedRow, 'version' | 'ordinal' | 'index'>;

/** An extent with the index from which on its rows are missing. */
type MissingRows = CopiedExtent & { readonly from: number };

/** What a copy lacks: rows, and changes of rows that it has. */
interface Missing {
  readonly rows: readonly MissingRows[];
  readonly changes: AsyncIterable<CopiedChange[]> | null;
}

/** The stored bytes of missing rows. */
export function missingBytes({ rows }: Missing): number {
  return rows.reduce((sum, extent) => sum + (extent.bytes * (extent.rows - extent.from)) / Math.max(extent.rows, 1), 0);
}

type CopiedColumn = QueryColumn & CopyColumn;

interface TableCopyOptions {
  readonly columnar: Columnar;
  readonly teamId: string;
  readonly tableId: string;
  /** The name of the engine's database that contains only this copy. */
  readonly catalog: string;
}

export class TableCopy {
  readonly teamId: string;
  readonly tableId: string;
  readonly catalog: string;
  readonly generation: bigint;
  readonly widened: bigint;
  readonly layout: Layout;
  /** The version of the table that is copied; -1: none yet. */
  version = -1n;
  /** The number of rows at this version, and of rows kept for queries at earlier versions. */
  rows = 0;
  superseded = 0;
  /** Bytes of the longest row that the table ever had. */
  rowBytesMax = 0;
  readonly #columnar: Columnar;
  /** Bytes of rows and columns that were added since the copy was saved. */
  #addedBytes = 0;
  /** Whether the copy has changed since it was saved. */
  #isChanged = false;
  #columns: readonly CopiedColumn[] = [];
  /** The same columns by their IDs, shared by all readers. */
  #columnsById: ReadonlyMap<string, CopiedColumn> = new Map();
  /** The columns whose cells are in the copy. */
  #written: readonly CopiedColumn[] = [];
  #segments: number;
  /** How many columns the copy will have once it is filled. */
  readonly #expected: number;
  readonly #places = new Map<string, number>();
  readonly #parts = new Parts();
  #schemaVersion = -1n;
  /**
   * The number of the next row to be added. A changed row keeps its number, so numbers follow the order of the table.
   */
  #next = 0n;
  /** The last extent, to which rows may be added, with the number of its rows that are copied. */
  #tail: CopiedExtent | null = null;
  /** How many queries and continuations hold each version. */
  readonly #held = new Map<bigint, number>();
  #readers = 0;
  /** True while rows are stored in the order of their numbers. The first change of a row makes it false. */
  isInOrder = true;
  /** Whether the copy was dropped and cannot be read any more. */
  isDropped = false;
  /** Whether another copy needs its space. Long readers must stop then. */
  isWanted = false;

  constructor({ columnar, teamId, tableId, catalog }: TableCopyOptions, { generation, widened, schema }: TableState) {
    this.#columnar = columnar;
    this.teamId = teamId;
    this.tableId = tableId;
    this.catalog = catalog;
    this.generation = generation;
    this.widened = widened;
    this.#segments = segmentsOf(schema.columns);
    this.#expected = schema.columns.length;
    this.layout = layoutOf(this.#segments);
  }

  /**
   * Whether the copy can follow the table. It cannot if the rows were replaced, if a column was widened, or if the
   * table has got many more columns.
   */
  follows({ generation, widened, schema, schemaVersion }: TableState): boolean {
    if (generation !== this.generation || widened !== this.widened) return false;
    if (schemaVersion === this.#schemaVersion || this.#schemaVersion < 0n) return true;
    return (
      isGoodFor(this.layout, segmentsOf(schema.columns)) &&
      this.#bytesOfColumns(schema.columns.length - this.#columns.length) <= addedColumnsBytesMax
    );
  }

  /** Bytes that are in memory and not in the file yet. */
  get unsavedBytes(): number {
    return this.#addedBytes + (this.#isChanged ? holdsFor(this.layout, this.#segments) : 0);
  }

  /** Bytes that the engine keeps in memory as long as the copy exists. */
  get keptBytes(): number {
    return keepsFor(
      this.layout,
      this.#schemaVersion < 0n ? this.#expected : this.#written.length,
      this.rows + this.superseded,
    );
  }

  #bytesOfColumns(columns: number): number {
    return columns * (this.rows + this.superseded) * addedCellBytes;
  }

  /**
   * Finds what the copy lacks: whole extents, the rest of the tail whose first rows are copied already, and changes.
   */
  async missing(snapshot: TableSnapshot, state: TableState): Promise<Missing> {
    if (state.version <= this.version) return { rows: [], changes: null };
    const extents = snapshot.extents(this.tableId, this.generation, this.version, this.#tail);
    const changes = this.version < 0n ? null : snapshot.changes(this.tableId, this.version, state);
    return {
      rows: (await extents).map((extent) => ({ ...extent, from: this.#isTail(extent) ? this.#tail!.rows : 0 })),
      changes,
    };
  }

  /** Adds what is missing. Awaits `onProgress` after every few MiB. If it rejects, the copy must be dropped. */
  async catchUp(
    snapshot: TableSnapshot,
    state: TableState,
    { rows, changes }: Missing,
    onProgress: () => Promise<void>,
  ): Promise<void> {
    if (state.version <= this.version) return;
    const isNew = this.version < 0n;
    // Writing many columns takes much memory that the engine does not count, so such work queues. Short work does not
    // wait for long work.
    const queue = !areMany(state.schema.columns.map(currentType))
      ? null
      : missingBytes({ rows, changes }) > longBytes
        ? 'wide and long'
        : 'wide';
    await this.#columnar.change(queue, async (change) => {
      this.#isChanged = true;
      this.#takeColumns(change, state, null);
      if (changes !== null) await this.#takeChanges(change, changes, state);
      await this.#addRows(change, snapshot, state, rows, onProgress);
      this.#tail = rows.at(-1) ?? this.#tail;
      this.version = state.version;
      this.rows = state.rows;
      this.rowBytesMax = state.rowBytesMax;
      this.#prune(change);
    });
    if (isNew || this.#addedBytes >= saveBytes) await this.save();
  }

  /** The numbers of all rows are below this. */
  get end(): bigint {
    return this.#next;
  }

  /**
   * Copies only these rows, in this order, with the cells of only these columns: for queries that need no other rows,
   * and that compare, sort or group by no other columns. Awaits `onProgress` like `catchUp`.
   */
  async takeRows(
    state: TableState,
    rows: AsyncIterable<Iterable<CopiedRow>>,
    columnIds: ReadonlySet<string>,
    onProgress: () => Promise<void>,
  ): Promise<void> {
    await this.#columnar.change(null, async (change) => {
      this.#takeColumns(change, state, columnIds);
      await this.#write(
        change,
        state,
        async (writer) => {
          for await (const some of rows) {
            for (const row of some) {
              writer.add(row, this.#next);
              this.#addedBytes += row.body.length;
              this.#next += 1n;
              if (writer.isDue) await writer.giveWay();
            }
          }
        },
        onProgress,
      );
      this.version = state.version;
      this.rowBytesMax = state.rowBytesMax;
    });
  }

  get #table(): string {
    return `${this.catalog}.main.rows`;
  }

  /** The source for queries at a version. */
  at(version: bigint): QuerySource {
    return { from: this.#table, version, columns: this.#columnsById };
  }

  /** The source at an earlier version, which had this many columns. Columns are only ever appended. */
  atEarlier(version: bigint, columns: number): QuerySource {
    const source = this.at(version);
    return columns === source.columns.size
      ? source
      : { ...source, columns: new Map([...source.columns].slice(0, columns)) };
  }

  /**
   * Keeps the rows of a version until the returned function is called. A query needs them until then. For a
   * continuation the copy may still be dropped.
   */
  hold(version: bigint, by: 'query' | 'continuation'): () => void {
    this.#held.set(version, (this.#held.get(version) ?? 0) + 1);
    if (by === 'query') this.#readers += 1;
    return () => {
      if (by === 'query') this.#readers -= 1;
      const left = this.#held.get(version)! - 1;
      if (left === 0) this.#held.delete(version);
      else this.#held.set(version, left);
    };
  }

  get isHeld(): boolean {
    return this.#held.size > 0;
  }

  /** Whether queries are reading the copy. */
  get isRead(): boolean {
    return this.#readers > 0;
  }

  #isTail({ version, ordinal }: Pick<CopiedExtent, 'version' | 'ordinal'>): boolean {
    return this.#tail?.version === version && this.#tail.ordinal === ordinal;
  }

  /** Takes new columns of the table. `written` are the IDs of the columns whose cells are copied; null: all. */
  #takeColumns(
    change: ColumnarChange,
    { schema, schemaVersion }: TableState,
    written: ReadonlySet<string> | null,
  ): void {
    if (schemaVersion === this.#schemaVersion) return;
    const known = new Map(this.#columns.map((column) => [column.id, column]));
    const { last } = this.#parts;
    const columns = schema.columns.map((column): CopiedColumn => {
      const type = currentType(column);
      const number = this.#places.size;
      const earlier = known.get(column.id);
      if (earlier !== undefined) return earlier;
      this.#places.set(column.id, number);
      return { id: column.id, sql: `c${number}`, part: this.#parts.next(type), type, stored: storedType(type) };
    });
    const added = columns.filter(({ id }) => !known.has(id));
    this.#columns = [...this.#columns, ...added];
    this.#columnsById = new Map(this.#columns.map((column) => [column.id, column]));
    this.#written = written === null ? this.#columns : this.#columns.filter(({ id }) => written.has(id));
    if (this.#schemaVersion < 0n) {
      for (const statement of createRows(this.#table, this.#written)) change.run(statement);
    } else {
      this.#addColumns(change, added, last);
      this.#addedBytes += this.#bytesOfColumns(added.length);
      this.#segments = segmentsOf(schema.columns);
    }
    this.#schemaVersion = schemaVersion;
  }

  /** `last` is the last part that existed before. */
  #addColumns(change: ColumnarChange, added: readonly CopiedColumn[], last: number): void {
    for (const [part, ofPart] of byPart(added)) {
      if (part > last) change.run(createPart(this.#table, part, ofPart));
      else
        for (const { sql, stored } of ofPart)
          change.run(`ALTER TABLE ${partTable(this.#table, part)} ADD COLUMN ${sql} ${stored.sql}`);
    }
  }

  async #takeChanges(change: ColumnarChange, changes: AsyncIterable<CopiedChange[]>, state: TableState): Promise<void> {
    for await (const page of changes) {
      // A row of the tail that is not copied yet comes with its extent.
      const rows = page.filter((row) => !this.#isTail(row) || row.index < this.#tail!.rows);
      if (rows.length === 0) continue;
      this.superseded += rows.length;
      this.isInOrder = false;
      if (rows.length <= fewRowsMax) {
        for (const row of rows) {
          for (const statement of changeRow(this.#writtenAt(state), row)) change.run(statement);
          this.#addedBytes += row.body?.length ?? 0;
        }
        continue;
      }
      const numbers = await this.#end(change, rows, state.version);
      await this.#write(change, state, async (writer) => {
        for (const { body, ...row } of rows) {
          if (body !== null) writer.add({ ...row, body }, numbers.get(placeOf(row))!);
          this.#addedBytes += body?.length ?? 0;
          if (writer.isDue) await writer.giveWay();
        }
      });
    }
  }

  /** Ends the rows at these places at a version. Resolves to their numbers, by place. */
  async #end(change: ColumnarChange, rows: readonly Place[], version: bigint): Promise<ReadonlyMap<string, bigint>> {
    const places = `[${rows.map(({ version, ordinal, index }) => `[${version},${ordinal},${index}]`).join(',')}]`;
    const ofPlaces = `SELECT (place[1], place[2], place[3]) FROM (SELECT unnest(from_json($1, '[["BIGINT"]]')) AS place)`;
    const found = await change.rows(
      `SELECT "version", "ordinal", "index", n FROM ${this.#table} WHERE until = ${forever} AND ("version", "ordinal", "index") IN (${ofPlaces})`,
      [places],
    );
    const numbers = new Map(
      (found as [bigint, number, number, bigint][]).map(([version, ordinal, index, n]) => [
        placeOf({ version, ordinal, index }),
        n,
      ]),
    );
    // Find the numbers with a query: RETURNING of the UPDATE would read all columns of neighbouring rows.
    if (numbers.size > 0)
      change.run(
        `UPDATE ${this.#table} SET until = ${version} WHERE until = ${forever} AND n IN (${[...numbers.values()].join(', ')})`,
      );
    return numbers;
  }

  async #addRows(
    change: ColumnarChange,
    snapshot: TableSnapshot,
    state: TableState,
    missing: readonly MissingRows[],
    onProgress: () => Promise<void>,
  ): Promise<void> {
    const count = missing.reduce((sum, { from, rows }) => sum + rows - from, 0);
    if (count === 0) return;
    if (count <= fewRowsMax) {
      for await (const rows of snapshot.rows(missing, state)) {
        for (const row of rows) {
          for (const statement of addRow(this.#writtenAt(state), row, this.#next)) change.run(statement);
          this.#next += 1n;
          this.#addedBytes += row.body.length;
        }
      }
      return;
    }
    await this.#write(
      change,
      state,
      async (writer) => {
        for await (const rows of snapshot.rows(missing, state)) {
          for (const row of rows) {
            writer.add(row, this.#next);
            this.#next += 1n;
            if (writer.isDue) await writer.giveWay();
          }
        }
        this.#addedBytes += writer.bytes;
      },
      onProgress,
    );
  }

  /** The target of written rows, which are visible from the version of this state on. */
  #writtenAt({ version }: TableState): WrittenTable {
    return { table: this.#table, columns: this.#written, since: version };
  }

  #write(
    change: ColumnarChange,
    state: TableState,
    work: (writer: RowWriter) => Promise<void>,
    onProgress = async () => {},
  ): Promise<void> {
    return RowWriter.use(change, { ...this.#writtenAt(state), onProgress }, work);
  }

  /**
   * Writes additions to the file; without a log they are only in memory until then. Resolves to whether it wrote them.
   */
  async save(): Promise<boolean> {
    try {
      await this.#columnar.run(`CHECKPOINT ${this.catalog}`);
      this.#addedBytes = 0;
      this.#isChanged = false;
      return true;
    } catch (error) {
      // An export is sorting rows beside the copy. A later query saves it.
      if (!(error as Error).message.includes('other write transactions')) throw error;
      return false;
    }
  }

  /** Removes superseded rows that no held version shows, if there are many. */
  #prune(change: ColumnarChange): void {
    if (this.superseded < Math.max(supersededMin, this.rows * supersededPart)) return;
    const versions = [this.version, ...this.#held.keys()];
    const oldest = versions.reduce((least, version) => (version < least ? version : least));
    const removed = `${this.#table} WHERE until <= ${oldest}`;
    for (const part of partsBeside(this.#written))
      change.run(`DELETE FROM ${partTable(this.#table, part)} WHERE (n, since) IN (SELECT (n, since) FROM ${removed})`);
    change.run(`DELETE FROM ${removed}`);
    this.superseded = this.#held.size === 0 ? 0 : this.superseded / 2;
  }
}

function placeOf({ version, ordinal, index }: Place): string {
  return `${version}/${ordinal}/${index}`;
}
