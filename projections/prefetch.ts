/**
 * What a batch needs to know before it is decided, fetched with a few set-based statements that go out together: the
 * number of statements does not grow with the batch.
 */
import type { PipelinedClient } from '../src/database/pipelined-client.ts';
import type { CarriedRows, Event, EventData, EventOf, RowSource } from '../src/events/event.ts';
import { rowIdsOf, rowTextOf } from '../src/events/row-bodies.ts';
import type { BatchMemory } from './batch-memory.ts';
import type { BatchState } from './batch-state.ts';
import { carriedIds, runsOf, type PartWithIds } from './carried-ids.ts';
import type { Link } from './decision.ts';
import { findOutcomes, type RecordedOutcome } from './outcomes/outcomes.store.ts';
import { prefetchKept, type WantedIds, type WantedRow } from './prefetch-kept.ts';
import type { SegmentContent } from './segments/fill-segment.ts';
import type { KeyReservation } from './segments/local-keys.ts';
import { findBodyBlocks, findSegmentKeys } from './segments/segments.store.ts';
import type { SchemaCache } from './tables/schema-cache.ts';
import { prefetchStashContents, prefetchStashes, type StashImports } from './stashes/prefetch-stashes.ts';
import { nameOfStash, type ChunkName, type StashName } from './stashes/stashes.store.ts';
import { findRows, findRowsOfLinks, findTails } from './tables/links.store.ts';
import { findSchemas, findTables } from './tables/tables.store.ts';
import { findTeams, findTokens } from './teams/teams.store.ts';
import { findClaims } from './uploads/file-references.store.ts';
import { findUploads } from './uploads/uploads.store.ts';

type Tx = Pick<PipelinedClient, 'query'>;

export interface Prefetched {
  readonly outcomes: readonly RecordedOutcome[];
  /** Segments that the events carry and that nobody has written yet: on replay, and from Kafka. */
  readonly toFill: readonly SegmentContent[];
}

/** Names of what these events read. */
class Wanted {
  readonly commandIds: string[] = [];
  readonly teamIds = new Set<string>();
  readonly tokenIds = new Set<string>();
  readonly uploadIds = new Set<string>();
  /** Those of them whose files rows may name or not. */
  readonly checkedIds = new Set<string>();
  readonly tableIds = new Set<string>();
  readonly tailsOf = new Set<string>();
  readonly rows: WantedRow[] = [];
  /** The IDs that rows of overwrites came with, where they stand in the event itself. */
  readonly ids: WantedIds[] = [];
  /** The tables that bodies are to overwrite. */
  readonly overwrites = new Map<string, string>();
  readonly segments = new Map<string, { event: Event; teamId: string; carried: CarriedRows }>();
  readonly bodyIds = new Set<string>();
  readonly stashes = new Map<string, StashName>();
  /** Each once, also where several chunks come under one serial. */
  readonly chunks = new Map<string, ChunkName>();
  /** The stashes of them that are imported, and how many times. */
  readonly imports = new Map<string, StashImports>();
  /** The tables that stashes are to overwrite. */
  readonly stashOverwrites: (StashName & { readonly tableId: string })[] = [];
  keysAtMost = 0;
  readonly #looksUpAll: boolean;

  constructor(looksUpAll: boolean) {
    this.#looksUpAll = looksUpAll;
  }

  add(event: Event): void {
    if (this.#looksUpAll || event.requestDigest !== null) this.commandIds.push(event.commandId);
    const { data } = event;
    // The team of a table comes with it.
    if ('teamId' in data && (!('tableId' in data) || data.type === 'TableCreateRequested')) this.teamIds.add(data.teamId);
    if ('tokenId' in data) this.tokenIds.add(data.tokenId);
    if ('uploadId' in data) this.uploadIds.add(data.uploadId);
    if (data.type === 'UploadChecked') this.checkedIds.add(data.uploadId);
    if ('tableId' in data) this.tableIds.add(data.tableId);
    if ('row' in data) this.rows.push({ ...data.row, tableId: data.tableId });
    if ('stashId' in data) this.#addStash(data);
    if (data.type === 'ChunkPutRequested') {
      const { teamId, stashId, serial } = data;
      this.chunks.set(`${nameOfStash(teamId, stashId)} ${serial}`, { teamId, stashId, serial });
      this.keysAtMost += 2;
    }
    if (data.type === 'BlockReceived') this.#addSegment(event, data.teamId, data.segmentId, data);
    if ('rows' in data) this.#addSource(event, data, data.rows);
    if (data.type === 'TableOverwriteRequested') this.#addIds(event, data, data.rows);
  }

  #addStash({ teamId, stashId }: StashName): string {
    const name = nameOfStash(teamId, stashId);
    this.stashes.set(name, { teamId, stashId });
    return name;
  }

  #addSource(event: Event, data: EventData & { readonly teamId: string }, source: RowSource): void {
    if (source.kind === 'few' && 'tableId' in data) {
      this.tailsOf.add(data.tableId);
      this.keysAtMost += 2;
    }
    if (source.kind === 'stash') {
      const name = this.#addStash({ teamId: data.teamId, stashId: source.stashId });
      const times = (this.imports.get(name)?.times ?? 0) + 1;
      this.imports.set(name, { teamId: data.teamId, stashId: source.stashId, times });
    }
    if (source.kind === 'block') {
      this.#addSegment(event, data.teamId, source.segmentId, source);
      this.keysAtMost += 1;
    }
    if (source.kind === 'body') {
      this.bodyIds.add(source.bodyId);
      this.keysAtMost += source.blocks;
    }
  }

  #addIds(event: Event, { teamId, tableId }: EventOf<'TableOverwriteRequested'>, source: RowSource): void {
    if (source.kind === 'body') this.overwrites.set(source.bodyId, tableId);
    if (source.kind === 'stash') this.stashOverwrites.push({ teamId, stashId: source.stashId, tableId });
    const ids = 'profile' in source ? carriedIds(event, source) : null;
    if (ids !== null) this.ids.push({ tableId, runs: ids.runs });
  }

  #addSegment(event: Event, teamId: string, segmentId: string, carried: CarriedRows): void {
    this.segments.set(segmentId, { event, teamId, carried });
    this.keysAtMost += 1;
  }
}

export interface PrefetchOptions {
  readonly keys: KeyReservation;
  /** Only what is committed may come in: nothing may have changed a schema in this transaction. */
  readonly schemas: SchemaCache;
  /** What the batch before left, where that is known to be right. */
  readonly memory: BatchMemory | null;
  /** Whether the outcomes of all commands are looked up, or only of those with an Idempotency-Key. */
  readonly allOutcomes: boolean;
}

/** What is wanted and is neither in the state nor remembered. */
interface Missing {
  readonly teams: readonly string[];
  readonly tokens: readonly string[];
  readonly uploads: readonly string[];
  readonly tables: readonly string[];
  readonly tailsOf: readonly string[];
  readonly rows: readonly WantedRow[];
  readonly rowsOfLinks: readonly { readonly link: Link; readonly index: number }[];
  readonly segments: readonly string[];
}

/** Puts all that `events` need into `state`, which knows already what earlier events of the batch did. */
export async function prefetch(
  tx: Tx,
  partition: number,
  events: readonly Event[],
  state: BatchState,
  { keys, schemas, memory, allOutcomes }: PrefetchOptions,
): Promise<Prefetched> {
  const wanted = new Wanted(allOutcomes);
  for (const event of events) wanted.add(event);
  const missing = recall(wanted, state, memory);
  const unknownSchemas = missing.tables.filter((tableId) => !schemas.knows(tableId));

  const [
    outcomes, teams, tokens, uploads, claims, tables, tails, rows, rowsOfLinks, segments, bodyBlocks, stored,
  ] = await Promise.all([
    wanted.commandIds.length === 0 ? [] : findOutcomes(tx, partition, wanted.commandIds),
    missing.teams.length === 0 ? [] : findTeams(tx, missing.teams),
    missing.tokens.length === 0 ? [] : findTokens(tx, missing.tokens),
    missing.uploads.length === 0 ? [] : findUploads(tx, missing.uploads),
    wanted.checkedIds.size === 0 ? [] : findClaims(tx, [...wanted.checkedIds]),
    missing.tables.length === 0 ? [] : findTables(tx, missing.tables),
    missing.tailsOf.length === 0 ? [] : findTails(tx, missing.tailsOf),
    missing.rows.length === 0 ? [] : findRows(tx, missing.rows),
    missing.rowsOfLinks.length === 0 ? [] : findRowsOfLinks(tx, missing.rowsOfLinks),
    missing.segments.length === 0 ? new Map<string, bigint>() : findSegmentKeys(tx, missing.segments),
    wanted.bodyIds.size === 0 ? [] : findBodyBlocks(tx, [...wanted.bodyIds]),
    unknownSchemas.length === 0 ? [] : findSchemas(tx, unknownSchemas),
    keys.reserve(tx, wanted.keysAtMost),
    prefetchStashes(tx, [...wanted.stashes.values()], [...wanted.chunks.values()], state, memory),
  ]);

  for (const team of teams) state.putTeam(team);
  for (const token of tokens) state.putToken(token);
  for (const upload of uploads) state.putUpload(upload);
  for (const { uploadId, isClaimed } of claims) state.putClaim(uploadId, isClaimed);
  for (const { table, team } of tables) {
    state.putTable(table);
    if (state.team(team.id) === null) state.putTeam(memory?.team(team.id) ?? team);
  }
  for (const link of tails) state.putLink(link);
  for (const row of rows) state.putRow(row);
  for (const row of rowsOfLinks) state.putRow(row);
  for (const [segmentId, key] of segments) state.putSegment(segmentId, key);
  for (const block of bodyBlocks) state.putBodyBlock(block);
  for (const schema of stored) {
    state.putSchema(schema);
    schemas.put(schema);
  }

  // A table whose schema moved since it was cached: one more round trip, once for each change of a schema.
  const stale: string[] = [];
  for (const { table } of tables) {
    if (state.hasSchema(table.id, table.schemaVersion)) continue;
    const schema = schemas.find(table.id, table.schemaVersion);
    if (schema) state.putSchema({ tableId: table.id, version: table.schemaVersion, schema });
    else stale.push(table.id);
  }
  if (stale.length > 0) {
    for (const schema of await findSchemas(tx, stale)) {
      state.putSchema(schema);
      schemas.put(schema);
    }
  }

  const importedLinks = await prefetchStashContents(tx, [...wanted.imports.values()], state, memory);
  await keys.reserve(tx, wanted.keysAtMost + importedLinks);

  const bodies = [...wanted.overwrites].flatMap(([bodyId, tableId]) => wantedIds(tableId, partsOfBody(state, bodyId)));
  const stashes = wanted.stashOverwrites.flatMap(({ tableId, ...name }) => wantedIds(tableId, partsOfStash(state, name)));
  await prefetchKept(tx, wanted.rows, [...wanted.ids, ...bodies, ...stashes], state, memory);

  const toFill: SegmentContent[] = [];
  for (const [id, { event, teamId, carried }] of wanted.segments) {
    if (state.hasSegment(id)) continue;
    const key = keys.take();
    state.putSegment(id, key);
    const body = event.body();
    toFill.push({ key, id, teamId, rows: carried.profile.rows, body: rowTextOf(body, carried), ids: rowIdsOf(body, carried) });
  }
  return { outcomes, toFill };
}

/** The identities that the parts of a body or a stash came with. Of too many nothing is fetched: they are refused. */
function wantedIds(tableId: string, parts: readonly PartWithIds[]): WantedIds[] {
  const runs = runsOf(parts);
  return runs === null || runs === 'tooMany' ? [] : [{ tableId, runs }];
}

function partsOfBody(state: BatchState, bodyId: string): readonly PartWithIds[] {
  return state.allBodyBlocks(bodyId).toSorted((a, b) => a.number - b.number);
}

function partsOfStash(state: BatchState, { teamId, stashId }: StashName): readonly PartWithIds[] {
  const stash = state.stash(teamId, stashId);
  return stash === null || stash.endedAt !== null ? [] : state.stashContent(stash.key).segments;
}

/** Moves what is remembered into the state, and tells what is left to be fetched. */
function recall(wanted: Wanted, state: BatchState, memory: BatchMemory | null): Missing {
  const teams = [...wanted.teamIds].filter((id) => {
    const team = state.team(id) ?? memory?.team(id);
    if (team) state.putTeam(team);
    return !team;
  });
  const tokens = [...wanted.tokenIds].filter((id) => {
    const token = state.token(id) ?? memory?.last?.token(id);
    if (token) state.putToken(token);
    return !token;
  });
  const uploads = [...wanted.uploadIds].filter((id) => {
    const upload = state.upload(id) ?? memory?.last?.upload(id);
    if (upload) state.putUpload(upload);
    return !upload;
  });
  const tables = [...wanted.tableIds].filter((id) => state.findTable(id) === null && !recallTable(id, state, memory));
  const tailsOf = [...wanted.tailsOf].filter((id) => {
    const table = state.findTable(id);
    if (table === null) return true;
    const link = table.tail === null ? null : (state.findLink(table.tail) ?? memory?.link(table.tail));
    if (link) state.putLink(link);
    return table.tail !== null && !link;
  });
  const rows: WantedRow[] = [];
  const rowsOfLinks: { link: Link; index: number }[] = [];
  // Rows of a generation that has ended, or of a table that was deleted, are nobody's, and may not be there any more.
  for (const row of wanted.rows) {
    const link = state.linkOf(row.tableId, row) ?? memory?.linkOf(row.tableId, row);
    const table = state.table(row.tableId);
    if (!link || table === null) rows.push(row);
    else if (link.generation === table.generation && row.index < link.rows && state.findRow(link.key, row.index) === null) {
      state.putLink(link);
      const changed = memory?.last?.findRow(link.key, row.index);
      if (changed) state.putRow(changed);
      else rowsOfLinks.push({ link, index: row.index });
    }
  }
  const segments = [...wanted.segments.keys()].filter((id) => !state.hasSegment(id));
  for (const bodyId of wanted.bodyIds) {
    for (const block of memory?.last?.allBodyBlocks(bodyId) ?? []) state.putBodyBlock(block);
  }
  return { teams, tokens, uploads, tables, tailsOf, rows, rowsOfLinks, segments };
}

function recallTable(tableId: string, state: BatchState, memory: BatchMemory | null): boolean {
  const known = memory?.table(tableId);
  if (!known) return false;
  state.putTable(known.table);
  state.putSchema({ tableId, version: known.table.schemaVersion, schema: known.schema });
  if (state.team(known.team.id) === null) state.putTeam(known.team);
  return true;
}
