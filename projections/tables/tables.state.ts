/**
 * The tables of a batch with their schemas, extents and rows: as loaded, and as changed by the events decided so far.
 */
import type { Event } from '../../src/language/events/event.ts';
import { formatRowId, type RowAddress } from '../../src/language/events/row-id.ts';
import type { ColumnMisfits } from '../../src/language/values/column-misfits.ts';
import { presentersOf, type PresenterFor } from '../../src/language/values/presentation.ts';
import type { TableSchema } from '../../src/language/values/table-schema.ts';
import { PairMap } from '../../src/log/batch/pair-map.ts';
import { UndoMap, UndoSet, type UndoJournal } from '../../src/log/batch/undo-journal.ts';
import type { StashStates } from '../stashes/stashes.state.ts';
import type { TeamStates } from '../teams/teams.state.ts';
import type { RowIdCheck } from './check-row-ids.ts';
import { KeysState } from './keys/keys.state.ts';
import { RetainedIds, type RetainedId } from './retained-ids.ts';
import { findRetainedPlace } from './retained-places.ts';
import { ExtentMap } from './extent-map.ts';
import { changedRow } from './read/read-rows.ts';
import { changedForm } from './read/stored-body.ts';
import type {
  Table,
  Generation,
  Extent,
  IssuedIds,
  StoredRow,
  StoredSchema,
  AppLink,
  TailRow,
  TailRowsChange,
  RowChange,
} from './table.ts';

/** The states that decisions about tables read. */
export interface TableStates extends TeamStates, StashStates {
  readonly tables: TablesState;
}

export class TablesState {
  readonly #journal: UndoJournal;
  readonly #takeKey: () => bigint;
  readonly #tables: Map<string, Table>;
  readonly #schemas: PairMap<string, bigint, TableSchema>;
  readonly #extents: ExtentMap;
  /** By table. Loaded entries are never undone. */
  readonly #issuedIds = new Map<string, PairMap<bigint, number, IssuedIds>>();
  readonly #rows: PairMap<bigint, number, StoredRow>;
  readonly #retained: RetainedIds;
  /** The keys of rows, of tables that have one. */
  readonly keys: KeysState;
  readonly #rowIdChecks = new Map<Event, RowIdCheck>();
  readonly #presenters = new Map<TableSchema, { readonly widened: bigint; readonly presenterFor: PresenterFor }>();
  readonly #trials = new Map<Event, readonly ColumnMisfits[]>();

  // The changes to store, one entry per object.
  readonly #changedTables: Set<string>;
  readonly #newTables: Set<string>;
  readonly #changedExtents: Set<bigint>;
  readonly #newKeys = new Set<bigint>();
  /** Rows that are changed for the first time, and rows that had a change before. */
  readonly #newChanges: PairMap<bigint, number, StoredRow>;
  readonly #laterChanges: PairMap<bigint, number, StoredRow>;
  readonly newSchemas: StoredSchema[] = [];
  readonly newTailRows: TailRow[] = [];
  readonly newRetainedIds: RetainedId[] = [];
  readonly endedGenerations: Generation[] = [];
  readonly newAppLinks: AppLink[] = [];

  constructor(takeKey: () => bigint, journal: UndoJournal) {
    this.#journal = journal;
    this.#takeKey = takeKey;
    this.#tables = new UndoMap(journal);
    this.#schemas = new PairMap(journal);
    this.#extents = new ExtentMap(journal);
    this.#rows = new PairMap(journal);
    this.#retained = new RetainedIds(journal);
    this.keys = new KeysState(journal);
    this.#changedTables = new UndoSet(journal);
    this.#newTables = new UndoSet(journal);
    this.#changedExtents = new UndoSet(journal);
    this.#newChanges = new PairMap(journal);
    this.#laterChanges = new PairMap(journal);
  }

  /** A key for a new object. If the key is taken after all, storing the batch fails. */
  newKey(): bigint {
    const key = this.#takeKey();
    this.#newKeys.add(key);
    return key;
  }

  // Reads by decisions. If the object was not loaded, which is a bug, they throw.

  /** The table, unless it does not exist or was deleted. */
  table(tableId: string): Table | null {
    const table = this.find(tableId);
    return table?.deleted ? null : table;
  }

  schema(table: Table): TableSchema {
    const schema = this.#schemas.get(table.id, table.schemaVersion);
    if (!schema) throw new Error(`the schema ${table.schemaVersion} of table ${table.id} was not loaded`);
    return schema;
  }

  extent(key: bigint): Extent {
    const extent = this.#extents.find(key);
    if (!extent) throw new Error(`extent ${key} was not loaded`);
    return extent;
  }

  /**
   * The extent that the event of this version added to a table under this ordinal, of any generation that is not
   * forgotten.
   */
  extentOf(tableId: string, row: Pick<RowAddress, 'version' | 'ordinal'>): Extent | null {
    return this.#extents.extentOf(tableId, row);
  }

  /**
   * The ordinal of the next extent that the event of this version adds to a table. The parts of an event count on: they
   * have one version.
   */
  nextOrdinal(tableId: string, version: bigint): number {
    return this.#extents.countOf(tableId, version);
  }

  /**
   * Which row IDs the event of this version issued under this ordinal, in any generation of the table. Null: none, or
   * the issuer was not loaded.
   */
  issuedBy(tableId: string, issuer: Pick<RowAddress, 'version' | 'ordinal'>): IssuedIds | null {
    return this.extentOf(tableId, issuer) ?? this.#issuedIds.get(tableId)?.get(issuer.version, issuer.ordinal) ?? null;
  }

  /** The check of an overwrite's row IDs, made while they were loaded; undefined: they were not checked. */
  rowIdCheck(event: Event): RowIdCheck | undefined {
    return this.#rowIdChecks.get(event);
  }

  putRowIdCheck(event: Event, check: RowIdCheck): void {
    this.#rowIdChecks.set(event, check);
  }

  /**
   * The cells that do not fit the types that an event gives to columns, as found while it was loaded; undefined: the
   * rows were not looked at.
   */
  trial(event: Event): readonly ColumnMisfits[] | undefined {
    return this.#trials.get(event);
  }

  putTrial(event: Event, misfits: readonly ColumnMisfits[]): void {
    this.#trials.set(event, misfits);
  }

  /** The row with this ID in the present generation, wherever it is stored. */
  row(table: Table, id: RowAddress): StoredRow | null {
    const place = this.#placeOf(table, id);
    if (place === null) return null;
    const { extent, index } = place;
    const row = this.findRow(extent.key, index);
    if (!row) throw new Error(`row ${index} of extent ${extent.key} was not loaded`);
    return row.extent === extent ? row : { ...row, extent };
  }

  /** The row at an index of an extent. */
  rowAt(extentKey: bigint, index: number): StoredRow {
    const row = this.findRow(extentKey, index);
    if (!row) throw new Error(`row ${index} of extent ${extentKey} was not loaded`);
    return { ...row, extent: this.extent(extentKey) };
  }

  #placeOf(table: Table, id: RowAddress): { readonly extent: Extent; readonly index: number } | null {
    const extent = this.extentOf(table.id, id);
    if (extent === null || extent.generation !== table.generation)
      return table.retainsIds ? this.rowByRetainedId(table, formatRowId(id)) : null;
    if (id.index >= extent.rows) return null;
    // A row with a retained ID does not have the ID of its place.
    if (findRetainedPlace(extent.retained, id.index, 1) !== null) return null;
    return { extent, index: id.index };
  }

  /**
   * The presenters of a schema that last widened a column at this version. A presenter keeps what it finds out about
   * keys, so the rows of a batch share it, and it ends with the batch.
   */
  presenters(schema: TableSchema, widened: bigint): PresenterFor {
    let known = this.#presenters.get(schema);
    if (known?.widened !== widened) {
      known = { widened, presenterFor: presentersOf(schema, widened) };
      this.#presenters.set(schema, known);
    }
    return known.presenterFor;
  }

  // Already loaded objects.

  /** The table, even if deleted. */
  find(tableId: string): Table | null {
    return this.#tables.get(tableId) ?? null;
  }

  findSchema({ id, schemaVersion }: Table): TableSchema | null {
    return this.#schemas.get(id, schemaVersion) ?? null;
  }

  findExtent(key: bigint): Extent | null {
    return this.#extents.find(key);
  }

  findRow(extent: bigint, index: number): StoredRow | null {
    return this.#rows.get(extent, index) ?? null;
  }

  /** The place of the row that retains this ID in the table's present generation. */
  rowByRetainedId(table: Table, id: string): { readonly extent: Extent; readonly index: number } | null {
    return this.#retained.row(table, id);
  }

  all(): Iterable<Table> {
    return this.#tables.values();
  }

  get extentCount(): number {
    return this.#extents.size;
  }

  allExtents(): Iterable<Extent> {
    return this.#extents.all();
  }

  // Adds loaded objects.

  put(table: Table): void {
    this.#tables.set(table.id, table);
  }

  putSchema({ tableId, version, schema }: StoredSchema): void {
    this.#schemas.set(tableId, version, schema);
  }

  putExtent(extent: Extent): void {
    this.#extents.set(extent);
    if (extent.retained !== null) this.#retained.putExtent(extent);
  }

  /** Adds the row IDs that a forgotten extent issued. */
  putIssuedIds(issued: IssuedIds): void {
    const ofTable = this.#issuedIds.get(issued.tableId) ?? new PairMap<bigint, number, IssuedIds>(null);
    this.#issuedIds.set(issued.tableId, ofTable);
    ofTable.set(issued.version, issued.ordinal, issued);
  }

  putRetainedId(retained: RetainedId): void {
    this.#retained.put(retained);
  }

  /** Does not replace a known extent, because that is at least as new as the extent of the row. */
  putRow(row: StoredRow): void {
    if (this.findExtent(row.extent.key) === null) this.putExtent(row.extent);
    this.#rows.set(row.extent.key, row.index, row);
  }

  // Applies changes.

  change(table: Table): void {
    if (this.find(table.id) === null) this.#newTables.add(table.id);
    this.put(table);
    this.#changedTables.add(table.id);
  }

  addSchema(schema: StoredSchema): void {
    this.putSchema(schema);
    this.#journal.push(this.newSchemas, schema);
  }

  addAppLinks(tableId: string, appIds: readonly string[]): void {
    for (const appId of appIds) this.#journal.push(this.newAppLinks, { tableId, appId });
  }

  changeExtent(extent: Extent): void {
    this.putExtent(extent);
    this.#changedExtents.add(extent.key);
  }

  endGeneration(generation: Generation): void {
    this.#journal.push(this.endedGenerations, generation);
  }

  addTailRows({ extent, first, version, bodies, ids }: TailRowsChange): void {
    const { segment } = extent;
    bodies.forEach((body, at) => {
      const index = first + at;
      this.#journal.push(this.newTailRows, { segment, index, version, body });
      const id = ids?.[at] ?? null;
      if (id !== null) {
        this.putRetainedId({ segment, index, id });
        this.#journal.push(this.newRetainedIds, { segment, index, id });
      }
      this.putRow({ extent, index, version, body, form: changedForm(version), isChange: false });
    });
  }

  changeRow({ extent, index, version, body }: RowChange): void {
    const hadChange = this.findRow(extent.key, index)?.isChange ?? false;
    const isNew = !hadChange || this.#newChanges.get(extent.key, index) !== undefined;
    const row = changedRow(extent, index, version, body);
    this.putRow(row);
    (isNew ? this.#newChanges : this.#laterChanges).set(extent.key, index, row);
  }

  // The changes to store.

  /** Changed tables that existed before. */
  changedTables(): Table[] {
    return [...this.#changedTables].filter((id) => !this.#newTables.has(id)).map((id) => this.find(id)!);
  }

  newTables(): Table[] {
    return [...this.#newTables].map((id) => this.find(id)!);
  }

  /** Changed extents that existed before. */
  changedExtents(): Extent[] {
    return [...this.#changedExtents].filter((key) => !this.#newKeys.has(key)).map((key) => this.extent(key));
  }

  newExtents(): Extent[] {
    return [...this.#changedExtents].filter((key) => this.#newKeys.has(key)).map((key) => this.extent(key));
  }

  changedRows(): StoredRow[] {
    return [...this.newChanges(), ...this.laterChanges()];
  }

  /** Changed rows that had no change before. */
  newChanges(): StoredRow[] {
    return this.#newChanges.values();
  }

  /** Changed rows that had a change before. */
  laterChanges(): StoredRow[] {
    return this.#laterChanges.values();
  }

  /** The extents of this batch that retain row IDs. No query can see them yet. */
  newRetainingExtents(): Extent[] {
    return [...this.newExtents(), ...this.changedExtents()].filter(({ retained }) => retained !== null);
  }
}
