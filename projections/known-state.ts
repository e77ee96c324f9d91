/** All that decisions may ask for: what was fetched, and over that what earlier events of the batch have made of it. */
import type { RowAddress } from '../src/events/event.ts';
import { formatRowId } from '../src/events/row-id.ts';
import type { TableSchema } from '../src/schema/table-schema.ts';
import type { BatchMemory } from './batch-memory.ts';
import type { BodyBlock, ChunkSize, DecisionState, Link, Stash, StoredRow, Table, Team, Token, Upload } from './decision.ts';
import { KeptIds, type KeptId } from './kept-ids.ts';
import { findKeptPlace } from './kept-places.ts';
import { LinkMap } from './link-map.ts';
import { PairMap } from './pair-map.ts';
import type { StashContent } from './stashes/stash-content.ts';
import type { StoredSchema } from './tables/tables.store.ts';

export class KnownState implements DecisionState {
  readonly #teams = new Map<string, Team>();
  readonly #tokens = new Map<string, Token>();
  readonly #tables = new Map<string, Table>();
  readonly #schemas = new PairMap<string, bigint, TableSchema>();
  readonly #links = new LinkMap();
  readonly #rows = new PairMap<bigint, number, StoredRow>();
  readonly #kept = new KeptIds();
  readonly #segments = new Map<string, bigint>();
  readonly #bodyBlocks = new Map<string, Map<number, BodyBlock>>();
  readonly #stashes = new PairMap<string, string, Stash>();
  readonly #chunks = new PairMap<bigint, string, ChunkSize>();
  readonly #stashContents = new Map<bigint, StashContent>();
  readonly #uploads = new Map<string, Upload>();
  readonly #claims = new Map<string, boolean>();
  readonly #takeKey: () => bigint;

  constructor(takeKey: () => bigint) {
    this.#takeKey = takeKey;
  }

  // What becomes known.

  putTeam(team: Team): void {
    this.#teams.set(team.id, team);
  }

  putToken(token: Token): void {
    this.#tokens.set(token.id, token);
  }

  putTable(table: Table): void {
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

  putSegment(segmentId: string, key: bigint): void {
    this.#segments.set(segmentId, key);
  }

  /** A block may be put twice: when the batch before had it, and when it could be fetched already. */
  putBodyBlock(block: BodyBlock): void {
    const blocks = this.#bodyBlocks.get(block.bodyId) ?? new Map<number, BodyBlock>();
    this.#bodyBlocks.set(block.bodyId, blocks.set(block.number, block));
  }

  putStash(stash: Stash): void {
    this.#stashes.set(stash.teamId, stash.stashId, stash);
  }

  /** One that is here already is as new, or newer. */
  putChunk(chunk: ChunkSize): void {
    if (this.chunk(chunk.stash, chunk.serial) === null) this.#chunks.set(chunk.stash, chunk.serial, chunk);
  }

  /** One that takes the place of what is here. */
  replaceChunk(chunk: ChunkSize): void {
    this.#chunks.set(chunk.stash, chunk.serial, chunk);
  }

  putStashContent(stash: bigint, content: StashContent): void {
    this.#stashContents.set(stash, content);
  }

  putUpload(upload: Upload): void {
    this.#uploads.set(upload.id, upload);
  }

  /** Whether rows name the file of an upload, as it was before this batch. */
  putClaim(uploadId: string, isClaimed: boolean): void {
    this.#claims.set(uploadId, isClaimed);
  }

  // What is here already, so that it need not be fetched.

  hasSchema(tableId: string, version: bigint): boolean {
    return this.#schemas.get(tableId, version) !== undefined;
  }

  hasSegment(segmentId: string): boolean {
    return this.#segments.has(segmentId);
  }

  /** Also one that was deleted. */
  findTable(tableId: string): Table | null {
    return this.#tables.get(tableId) ?? null;
  }

  findLink(key: bigint): Link | null {
    return this.#links.find(key);
  }

  /** The link of the rows that this version added to a table under this ordinal. */
  linkOf(tableId: string, row: Pick<RowAddress, 'version' | 'ordinal'>): Link | null {
    return this.#links.linkOf(tableId, row);
  }

  findRow(link: bigint, index: number): StoredRow | null {
    return this.#rows.get(link, index) ?? null;
  }

  /** The link of a table's present generation in which the row with this ID lies that it kept, and its index there. */
  keptRow(table: Table, id: string): { readonly link: Link; readonly index: number } | null {
    return this.#kept.row(table, id);
  }

  /** Of all teams. */
  allBodyBlocks(bodyId: string): readonly BodyBlock[] {
    return [...(this.#bodyBlocks.get(bodyId)?.values() ?? [])];
  }

  // What decisions see.

  team(teamId: string): Team | null {
    return this.#teams.get(teamId) ?? null;
  }

  token(tokenId: string): Token | null {
    return this.#tokens.get(tokenId) ?? null;
  }

  table(tableId: string): Table | null {
    const table = this.findTable(tableId);
    return table?.deleted ? null : table;
  }

  schema(table: Table): TableSchema {
    const schema = this.#schemas.get(table.id, table.schemaVersion);
    if (!schema) throw new Error(`the schema ${table.schemaVersion} of table ${table.id} was not fetched`);
    return schema;
  }

  link(key: bigint): Link {
    const link = this.#links.find(key);
    if (!link) throw new Error(`link ${key} was not fetched`);
    return link;
  }

  row(table: Table, id: RowAddress): StoredRow | null {
    const place = this.#placeOf(table, id);
    if (place === null) return null;
    const { link, index } = place;
    const row = this.findRow(link.key, index);
    if (!row) throw new Error(`row ${index} of link ${link.key} was not fetched`);
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

  segment(segmentId: string): bigint {
    const key = this.#segments.get(segmentId);
    if (key === undefined) throw new Error(`segment ${segmentId} was not written`);
    return key;
  }

  bodyBlocks(teamId: string, bodyId: string): readonly BodyBlock[] {
    return this.allBodyBlocks(bodyId)
      .filter((block) => block.teamId === teamId)
      .toSorted((a, b) => a.number - b.number);
  }

  stash(teamId: string, stashId: string): Stash | null {
    return this.#stashes.get(teamId, stashId) ?? null;
  }

  chunk(stash: bigint, serial: string): ChunkSize | null {
    return this.#chunks.get(stash, serial) ?? null;
  }

  stashContent(stash: bigint): StashContent {
    const content = this.#stashContents.get(stash);
    if (content === undefined) throw new Error(`the content of stash ${stash} was not fetched`);
    return content;
  }

  upload(uploadId: string): Upload | null {
    return this.#uploads.get(uploadId) ?? null;
  }

  isClaimed({ id }: Upload): boolean {
    const isClaimed = this.#claims.get(id);
    if (isClaimed === undefined) throw new Error(`the claims on the file of upload ${id} were not fetched`);
    return isClaimed;
  }

  newKey(): bigint {
    return this.#takeKey();
  }

  /** Hands on what later batches may need again: its tables with their teams and schemas, and its links. */
  keepIn(memory: BatchMemory): void {
    for (const table of this.#tables.values()) {
      // It may be missing where no decision asked for it.
      const schema = this.#schemas.get(table.id, table.schemaVersion);
      if (schema !== undefined) memory.putTable(table, schema);
    }
    for (const team of this.#teams.values()) memory.putTeam(team);
    for (const link of this.#links.all()) memory.putLink(link);
  }
}
