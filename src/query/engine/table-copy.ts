/**
 * A copy of a table in the columnar engine. It follows the table by its version: what came since then is added, and rows that were changed or
 * deleted are kept with the version up to which they were shown, for queries that go on at an earlier one.
 */
import type { DuckDBAppender } from '@duckdb/node-api';
import type { CopiedExtent, CopiedRow, TableSnapshot, TableState } from '../../../projections/tables/copies.queries.ts';
import { TimeSlices } from '../../time-slices.ts';
import { currentType } from '../../values/table-schema.ts';
import type { Columnar } from './columnar.ts';
import type { QueryColumn, QuerySource } from './compile.ts';
import { storedType, type StoredType } from './stored-type.ts';

/** The version up to which a row is shown that is shown still. */
const forever = 2n ** 63n - 1n;

/** Rows are handed to the engine at this many bytes. */
const flushBytes = 8 * 1024 * 1024;

/** Superseded rows are removed when there are so many of them, and they are this part of all rows. */
const supersededMin = 10_000;
const supersededPart = 0.2;

interface CopiedColumn extends QueryColumn {
  readonly id: string;
  readonly stored: StoredType;
}

export interface TableCopyOptions {
  readonly columnar: Columnar;
  readonly teamId: string;
  readonly tableId: string;
  /** The database of the engine that it is in, which has no other. */
  readonly catalog: string;
}

export class TableCopy {
  readonly teamId: string;
  readonly tableId: string;
  readonly catalog: string;
  readonly generation: bigint;
  readonly widened: bigint;
  /** The version that it is a copy of. */
  version = -1n;
  /** Its rows now, and those that are kept for queries at earlier versions. */
  rows = 0;
  superseded = 0;
  /** Bytes of the longest row it ever had. */
  rowBytesMax = 0;
  readonly #columnar: Columnar;
  #columns: readonly CopiedColumn[] = [];
  readonly #places = new Map<string, number>();
  #schemaVersion = -1n;
  /** The last extent, to which rows may be added, with how many of it are copied. */
  #tail: CopiedExtent | null = null;
  /** How many queries read at which versions, and continuations that may. */
  readonly #held = new Map<bigint, number>();
  #readers = 0;
  /** Whether it was thrown away: there is nothing to be read. */
  isDropped = false;

  constructor({ columnar, teamId, tableId, catalog }: TableCopyOptions, { generation, widened }: TableState) {
    this.#columnar = columnar;
    this.teamId = teamId;
    this.tableId = tableId;
    this.catalog = catalog;
    this.generation = generation;
    this.widened = widened;
  }

  /** Whether the table can be followed: neither were its rows replaced, nor do they all read differently. */
  follows({ generation, widened }: TableState): boolean {
    return generation === this.generation && widened === this.widened;
  }

  /** Copies what has come since its version. If this rejects, the copy must be dropped. */
  async catchUp(snapshot: TableSnapshot, state: TableState): Promise<void> {
    if (state.version <= this.version) return;
    await this.#takeColumns(state);
    const extents = await snapshot.extents(this.tableId, this.generation, this.version, this.#tail);
    if (this.version >= 0n) await this.#takeChanges(snapshot, state);
    await this.#addRows(snapshot, state, extents.map((extent) => ({ ...extent, from: this.#copiedOf(extent) })));
    this.#tail = extents.at(-1) ?? this.#tail;
    this.version = state.version;
    this.rows = state.rows;
    this.rowBytesMax = state.rowBytesMax;
    await this.#prune();
  }

  /** What queries read of it at a version. */
  at(version: bigint): QuerySource {
    return { from: `${this.catalog}.rows`, version, columns: new Map(this.#columns.map((column) => [column.id, column])) };
  }

  /** Keeps the rows of a version until the result is called: for a query that reads them, or for a continuation, which may be disappointed. */
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

  /** Whether queries read it now. */
  get isRead(): boolean {
    return this.#readers > 0;
  }

  /** How many rows of an extent are copied already. */
  #copiedOf({ version, ordinal }: CopiedExtent): number {
    return this.#tail?.version === version && this.#tail.ordinal === ordinal ? this.#tail.rows : 0;
  }

  async #takeColumns({ schema, schemaVersion }: TableState): Promise<void> {
    if (schemaVersion === this.#schemaVersion) return;
    const known = new Map(this.#columns.map((column) => [column.id, column]));
    const columns = schema.columns.map((column): CopiedColumn => {
      const type = currentType(column);
      const number = this.#places.size;
      const earlier = known.get(column.id);
      if (earlier !== undefined) return earlier;
      this.#places.set(column.id, number);
      return { id: column.id, sql: `c${number}`, type, stored: storedType(type) };
    });
    const added = columns.filter(({ id }) => !known.has(id));
    if (this.#schemaVersion < 0n) {
      const fixed = '"version" BIGINT, "ordinal" INTEGER, "index" INTEGER, row_version BIGINT, row_id VARCHAR, since BIGINT, until BIGINT, body VARCHAR';
      await this.#columnar.run(`CREATE TABLE ${this.catalog}.rows (${[fixed, ...columns.map(({ sql, stored }) => `${sql} ${stored.sql}`)].join(', ')})`);
    } else {
      for (const { sql, stored } of added) await this.#columnar.run(`ALTER TABLE ${this.catalog}.rows ADD COLUMN ${sql} ${stored.sql}`);
    }
    this.#columns = [...this.#columns, ...added];
    this.#schemaVersion = schemaVersion;
  }

  async #takeChanges(snapshot: TableSnapshot, state: TableState): Promise<void> {
    const all = await snapshot.changes(this.tableId, this.version, state);
    // A row that was added and changed since comes with its extent.
    const changes = all.filter(({ version, ordinal, index }) => {
      return this.#tail?.version !== version || this.#tail.ordinal !== ordinal || index < this.#tail.rows;
    });
    if (changes.length === 0) return;
    const end = (places: string): string => `UPDATE ${this.catalog}.rows SET until = ${state.version} WHERE until = ${forever} AND ${places}`;
    if (changes.length <= 100) {
      for (const { version, ordinal, index } of changes) {
        await this.#columnar.run(end(`"version" = ${version} AND "ordinal" = ${ordinal} AND "index" = ${index}`));
      }
    } else {
      await this.#columnar.run(`CREATE OR REPLACE TABLE ${this.catalog}.changed ("version" BIGINT, "ordinal" INTEGER, "index" INTEGER)`);
      await this.#columnar.append(this.catalog, 'changed', async (appender) => {
        for (const { version, ordinal, index } of changes) {
          appender.appendBigInt(version);
          appender.appendInteger(ordinal);
          appender.appendInteger(index);
          appender.endRow();
        }
      });
      await this.#columnar.run(end(`("version", "ordinal", "index") IN (SELECT ("version", "ordinal", "index") FROM ${this.catalog}.changed)`));
      await this.#columnar.run(`DROP TABLE ${this.catalog}.changed`);
    }
    this.superseded += changes.length;
    await this.#columnar.append(this.catalog, 'rows', async (appender) => {
      for (const { body, ...change } of changes) if (body !== null) this.#append(appender, { ...change, body }, state.version);
    });
  }

  async #addRows(snapshot: TableSnapshot, state: TableState, extents: readonly (CopiedExtent & { readonly from: number })[]): Promise<void> {
    if (extents.length === 0) return;
    await this.#columnar.append(this.catalog, 'rows', async (appender) => {
      const slices = new TimeSlices();
      let bytes = 0;
      for await (const rows of snapshot.rows(extents, state)) {
        for (const row of rows) {
          this.#append(appender, row, state.version);
          bytes += row.body.length;
          // What the appender keeps counts to nothing else.
          if (bytes > flushBytes) {
            appender.flushSync();
            bytes = 0;
          }
          if (slices.isOver) await slices.next();
        }
      }
    });
  }

  #append(appender: DuckDBAppender, row: CopiedRow, since: bigint): void {
    appender.appendBigInt(row.version);
    appender.appendInteger(row.ordinal);
    appender.appendInteger(row.index);
    appender.appendBigInt(row.rowVersion);
    appender.appendVarchar(row.rowId);
    appender.appendBigInt(since);
    appender.appendBigInt(forever);
    appender.appendVarchar(row.body);
    const cells = JSON.parse(row.body) as Readonly<Record<string, unknown>>;
    for (const { id, stored } of this.#columns) {
      if (Object.hasOwn(cells, id)) stored.append(appender, cells[id]);
      else appender.appendNull();
    }
    appender.endRow();
  }

  /** Removes rows that no query can ask for any more. */
  async #prune(): Promise<void> {
    if (this.superseded < Math.max(supersededMin, this.rows * supersededPart)) return;
    const versions = [this.version, ...this.#held.keys()];
    const oldest = versions.reduce((least, version) => (version < least ? version : least));
    await this.#columnar.run(`DELETE FROM ${this.catalog}.rows WHERE until <= ${oldest}`);
    this.superseded = this.#held.size === 0 ? 0 : this.superseded / 2;
  }
}
