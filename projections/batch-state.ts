/**
 * The state of one batch: what was fetched for it, and over that what its events have changed so far. Later events see
 * what earlier ones did; at the end only the net changes are stored.
 */
import type { RowAddress } from '../src/events/event.ts';
import { formatRowId } from '../src/events/row-id.ts';
import type { TableSchema } from '../src/schema/table-schema.ts';
import type {
  BodyBlock, Change, Chunk, ChunkSize, DecisionState, Generation, Link, Stash, StoredRow, Table, Team, Token, Upload,
} from './decision.ts';
import type { BatchMemory } from './batch-memory.ts';
import { KeptIds, type KeptId } from './kept-ids.ts';
import { findKeptPlace } from './kept-places.ts';
import { LinkMap } from './link-map.ts';
import { PairMap } from './pair-map.ts';
import type { StashContent } from './stashes/stash-content.ts';
import type { TailRow } from './tables/links.store.ts';
import type { StoredSchema } from './tables/tables.store.ts';
import { PatchedReferences } from './uploads/patched-references.ts';

export class BatchState implements DecisionState {
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

  /** What is to be stored, each thing once. */
  readonly changed = {
    teams: new Set<string>(),
    tokens: new Set<string>(),
    tables: new Set<string>(),
    newTables: new Set<string>(),
    links: new Set<bigint>(),
    rows: new PairMap<bigint, number, StoredRow>(),
    schemas: [] as StoredSchema[],
    tailRows: [] as TailRow[],
    keptIds: [] as KeptId[],
    generations: [] as Generation[],
    appLinks: [] as { tableId: string; appId: string }[],
    bodyBlocks: [] as BodyBlock[],
    stashes: new Map<bigint, Stash>(),
    /** The new ones by stash and serial, and those that were there before and have been replaced. */
    chunks: new PairMap<bigint, string, Chunk>(),
    replacedChunks: [] as bigint[],
    uploads: new Map<string, Upload>(),
    references: new PatchedReferences(),
  };

  constructor(takeKey: () => bigint) {
    this.#takeKey = takeKey;
  }

  // What was fetched.

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

  /** The identities that rows have kept in this batch, and its links that keep any: nobody can fetch them yet. */
  newKeptIds(): readonly KeptId[] {
    return this.changed.keptIds;
  }

  newKeepingLinks(): readonly Link[] {
    return this.changedLinks().filter(({ kept }) => kept !== null);
  }

  /** The chunks that have come into a stash in this batch: nobody can fetch them yet. */
  newChunks(stash: bigint): readonly Chunk[] {
    return this.changed.chunks.valuesOf(stash);
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

  /** Takes the changes of a decision over, for the events behind it and for the store. */
  apply(changes: readonly Change[]): void {
    for (const change of changes) this.#applyOne(change);
  }

  #applyOne(change: Change): void {
    const { changed } = this;
    switch (change.kind) {
      case 'team':
        this.putTeam(change.team);
        changed.teams.add(change.team.id);
        return;
      case 'token':
        this.putToken(change.token);
        changed.tokens.add(change.token.id);
        return;
      case 'table':
        if (!this.#tables.has(change.table.id)) changed.newTables.add(change.table.id);
        this.putTable(change.table);
        changed.tables.add(change.table.id);
        return;
      case 'appLinks':
        for (const appId of change.appIds) changed.appLinks.push({ tableId: change.tableId, appId });
        return;
      case 'schema':
        this.putSchema(change);
        changed.schemas.push(change);
        return;
      case 'link':
        this.putLink(change.link);
        changed.links.add(change.link.key);
        return;
      case 'tailRows': {
        const teamId = this.#teamOf(change.link);
        change.bodies.forEach((body, at) => {
          const index = change.first + at;
          changed.tailRows.push({ teamId, segment: change.link.segment, index, version: change.version, body });
          const id = change.ids?.[at] ?? null;
          if (id !== null) this.#keep({ segment: change.link.segment, index, id });
          const { link, version } = change;
          this.putRow({ link, index, version, body, stored: 'presented', decidedAt: version });
        });
        return;
      }
      case 'generation':
        changed.generations.push(change.generation);
        return;
      case 'row': {
        const { link, index, version, body } = change;
        const row = { link, index, version, body, stored: 'presented', decidedAt: version } as const;
        changed.references.replace({ teamId: this.#teamOf(link), link: link.key, index }, this.findRow(link.key, index)?.body ?? null, body);
        this.putRow(row);
        changed.rows.set(link.key, index, row);
        return;
      }
      case 'bodyBlock':
        this.putBodyBlock(change.block);
        changed.bodyBlocks.push(change.block);
        return;
      case 'upload':
        this.putUpload(change.upload);
        changed.uploads.set(change.upload.id, change.upload);
        return;
      case 'stash':
        this.putStash(change.stash);
        changed.stashes.set(change.stash.key, change.stash);
        return;
      case 'chunk': {
        const { chunk, replaces } = change;
        const isNew = changed.chunks.get(chunk.stash, chunk.serial) !== undefined;
        if (replaces !== null && !isNew) changed.replacedChunks.push(replaces);
        changed.chunks.set(chunk.stash, chunk.serial, chunk);
        this.#chunks.set(chunk.stash, chunk.serial, chunk);
      }
    }
  }

  /** Whose rows a link has: a change of them is made with their table at hand. */
  #teamOf({ tableId }: Link): string {
    return this.#tables.get(tableId)!.teamId;
  }

  #keep(kept: KeptId): void {
    this.putKeptId(kept);
    this.changed.keptIds.push(kept);
  }

  // What is to be stored.

  changedTeams(): Team[] {
    return [...this.changed.teams].map((id) => this.#teams.get(id)!);
  }

  changedTokens(): Token[] {
    return [...this.changed.tokens].map((id) => this.#tokens.get(id)!);
  }

  /** Those that were there before. */
  changedTables(): Table[] {
    const { tables, newTables } = this.changed;
    return [...tables].filter((id) => !newTables.has(id)).map((id) => this.#tables.get(id)!);
  }

  newTables(): Table[] {
    return [...this.changed.newTables].map((id) => this.#tables.get(id)!);
  }

  changedLinks(): Link[] {
    return [...this.changed.links].map((key) => this.#links.find(key)!);
  }

  changedRows(): StoredRow[] {
    return this.changed.rows.values();
  }
}
