/** The tables of a batch with their schemas, links and rows: as loaded, and as changed by the events decided so far. */
import type { RowAddress } from '../../src/events/event.ts';
import { formatRowId } from '../../src/events/row-id.ts';
import type { TableSchema } from '../../src/values/table-schema.ts';
import { PairMap } from '../engine/pair-map.ts';
import type { StashStates } from '../stashes/stashes.state.ts';
import type { TeamStates } from '../teams/teams.state.ts';
import { KeptIds, type KeptId } from './kept-ids.ts';
import { findKeptPlace } from './kept-places.ts';
import { LinkMap } from './link-map.ts';
import type { Table, Generation, Link, StoredRow, StoredSchema, AppLink, TailRow, TailRowsChange, RowChange } from './table.ts';

/** What decisions about tables read. */
export interface TableStates extends TeamStates, StashStates {
  readonly tables: TablesState;
}

export class TablesState {
  readonly newKey: () => bigint;
  readonly #tables = new Map<string, Table>();
  readonly #schemas = new PairMap<string, bigint, TableSchema>();
  readonly #links = new LinkMap();
  readonly #rows = new PairMap<bigint, number, StoredRow>();
  readonly #kept = new KeptIds();

  // What is to be stored, each thing once.
  readonly #changedTables = new Set<string>();
  readonly #newTables = new Set<string>();
  readonly #changedLinks = new Set<bigint>();
  readonly #changedRows = new PairMap<bigint, number, StoredRow>();
  readonly newSchemas: StoredSchema[] = [];
  readonly newTailRows: TailRow[] = [];
  readonly newKeptIds: KeptId[] = [];
  readonly endedGenerations: Generation[] = [];
  readonly newAppLinks: AppLink[] = [];

  constructor(newKey: () => bigint) {
    this.newKey = newKey;
  }

  // What decisions see. A look-up of what was not loaded is a bug, and throws.

  /** A table that is there. */
  table(tableId: string): Table | null {
    const table = this.find(tableId);
    return table?.deleted ? null : table;
  }

  schema(table: Table): TableSchema {
    const schema = this.#schemas.get(table.id, table.schemaVersion);
    if (!schema) throw new Error(`the schema ${table.schemaVersion} of table ${table.id} was not loaded`);
    return schema;
  }

  link(key: bigint): Link {
    const link = this.#links.find(key);
    if (!link) throw new Error(`link ${key} was not loaded`);
    return link;
  }

  /** The link of the rows that this version added to a table under this ordinal, in any generation. */
  linkOf(tableId: string, row: Pick<RowAddress, 'version' | 'ordinal'>): Link | null {
    return this.#links.linkOf(tableId, row);
  }

  /** The row with this ID in the present generation, wherever it lies. */
  row(table: Table, id: RowAddress): StoredRow | null {
    const place = this.#placeOf(table, id);
    if (place === null) return null;
    const { link, index } = place;
    const row = this.findRow(link.key, index);
    if (!row) throw new Error(`row ${index} of link ${link.key} was not loaded`);
    return { ...row, link };
  }

  #placeOf(table: Table, id: RowAddress): { readonly link: Link; readonly index: number } | null {
    const link = this.linkOf(table.id, id);
    if (link === null || link.generation !== table.generation) return table.keeps ? this.keptRow(table, formatRowId(id)) : null;
    if (id.index >= link.rows) return null;
    // A row that kept another identity does not have that of its place.
    if (findKeptPlace(link.kept, id.index, 1) !== null) return null;
    return { link, index: id.index };
  }

  // What is here already, so that it need not be loaded.

  /** Also one that was deleted. */
  find(tableId: string): Table | null {
    return this.#tables.get(tableId) ?? null;
  }

  findSchema({ id, schemaVersion }: Table): TableSchema | null {
    return this.#schemas.get(id, schemaVersion) ?? null;
  }

  findLink(key: bigint): Link | null {
    return this.#links.find(key);
  }

  findRow(link: bigint, index: number): StoredRow | null {
    return this.#rows.get(link, index) ?? null;
  }

  /** The link of a table's present generation in which the row with this ID lies that it kept, and its index there. */
  keptRow(table: Table, id: string): { readonly link: Link; readonly index: number } | null {
    return this.#kept.row(table, id);
  }

  all(): Iterable<Table> {
    return this.#tables.values();
  }

  allLinks(): Iterable<Link> {
    return this.#links.all();
  }

  // What becomes known.

  put(table: Table): void {
    this.#tables.set(table.id, table);
  }

  putSchema({ tableId, version, schema }: StoredSchema): void {
    this.#schemas.set(tableId, version, schema);
  }

  putLink(link: Link): void {
    this.#links.set(link);
    if (link.kept !== null) this.#kept.putLink(link);
  }

  putKeptId(kept: KeptId): void {
    this.#kept.put(kept);
  }

  /** A link that is here already is as new as that of the row, or newer. */
  putRow(row: StoredRow): void {
    if (this.findLink(row.link.key) === null) this.putLink(row.link);
    this.#rows.set(row.link.key, row.index, row);
  }

  // What decisions change.

  change(table: Table): void {
    if (this.find(table.id) === null) this.#newTables.add(table.id);
    this.put(table);
    this.#changedTables.add(table.id);
  }

  addSchema(schema: StoredSchema): void {
    this.putSchema(schema);
    this.newSchemas.push(schema);
  }

  addAppLinks(tableId: string, appIds: readonly string[]): void {
    for (const appId of appIds) this.newAppLinks.push({ tableId, appId });
  }

  changeLink(link: Link): void {
    this.putLink(link);
    this.#changedLinks.add(link.key);
  }

  endGeneration(generation: Generation): void {
    this.endedGenerations.push(generation);
  }

  addTailRows({ link, first, version, bodies, ids }: TailRowsChange): void {
    const { segment } = link;
    bodies.forEach((body, at) => {
      const index = first + at;
      this.newTailRows.push({ segment, index, version, body });
      const id = ids?.[at] ?? null;
      if (id !== null) {
        this.putKeptId({ segment, index, id });
        this.newKeptIds.push({ segment, index, id });
      }
      this.putRow({ link, index, version, body, stored: 'presented', decidedAt: version });
    });
  }

  changeRow({ link, index, version, body }: RowChange): void {
    const row = { link, index, version, body, stored: 'presented', decidedAt: version } as const;
    this.putRow(row);
    this.#changedRows.set(link.key, index, row);
  }

  // What is to be stored.

  /** Those that were there before. */
  changedTables(): Table[] {
    return [...this.#changedTables].filter((id) => !this.#newTables.has(id)).map((id) => this.find(id)!);
  }

  newTables(): Table[] {
    return [...this.#newTables].map((id) => this.find(id)!);
  }

  changedLinks(): Link[] {
    return [...this.#changedLinks].map((key) => this.link(key));
  }

  changedRows(): StoredRow[] {
    return this.#changedRows.values();
  }

  /** The links of this batch that keep row IDs: nobody can load them yet. */
  newKeepingLinks(): Link[] {
    return this.changedLinks().filter(({ kept }) => kept !== null);
  }
}
