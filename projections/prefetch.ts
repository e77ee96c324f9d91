/**
 * What a batch needs to know before it is decided, fetched with a few set-based statements that go out together: the
 * number of statements does not grow with the batch.
 */
import type { PipelinedClient } from '../src/database/pipelined-client.ts';
import type { Event, EventData, RowAddress, RowSource } from '../src/events/event.ts';
import type { BatchMemory } from './batch-memory.ts';
import { BatchState } from './batch-state.ts';
import type { Link } from './decision.ts';
import { findOutcomes, type RecordedOutcome } from './outcomes/outcomes.store.ts';
import type { SegmentContent } from './segments/fill-segment.ts';
import type { LocalKeys } from './segments/local-keys.ts';
import { findBodyBlocks, findSegmentKeys } from './segments/segments.store.ts';
import type { SchemaCache } from './tables/schema-cache.ts';
import { findRows, findRowsOfLinks, findSchemas, findTables, findTails } from './tables/tables.store.ts';
import { findTeams, findTokens } from './teams/teams.store.ts';

type Tx = Pick<PipelinedClient, 'query'>;

export interface Prefetched {
  readonly state: BatchState;
  readonly outcomes: readonly RecordedOutcome[];
  /** Segments that the events carry and that nobody has written yet: on replay, and from Kafka. */
  readonly toFill: readonly SegmentContent[];
}

/** Names of what these events read. */
class Wanted {
  readonly commandIds: string[] = [];
  readonly teamIds = new Set<string>();
  readonly tokenIds = new Set<string>();
  readonly tableIds = new Set<string>();
  readonly tailsOf = new Set<string>();
  readonly rows: (RowAddress & { tableId: string })[] = [];
  readonly segments = new Map<string, { event: Event; rows: number }>();
  readonly bodyIds = new Set<string>();
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
    if ('tableId' in data) this.tableIds.add(data.tableId);
    if ('row' in data) this.rows.push({ ...data.row, tableId: data.tableId });
    if (data.type === 'BlockReceived') this.#addSegment(event, data.segmentId, data.profile.rows);
    if (data.type === 'TableCreateRequested' || data.type === 'RowsAddRequested') this.#addSource(event, data, data.rows);
  }

  #addSource(event: Event, data: EventData & { tableId: string }, source: RowSource): void {
    if (source.kind === 'few') {
      this.tailsOf.add(data.tableId);
      this.keysAtMost += 2;
    }
    if (source.kind === 'block') {
      this.#addSegment(event, source.segmentId, source.profile.rows);
      this.keysAtMost += 1;
    }
    if (source.kind === 'body') {
      this.bodyIds.add(source.bodyId);
      this.keysAtMost += source.blocks;
    }
  }

  #addSegment(event: Event, segmentId: string, rows: number): void {
    this.segments.set(segmentId, { event, rows });
    this.keysAtMost += 1;
  }
}

export interface PrefetchOptions {
  readonly keys: LocalKeys;
  /** May be filled from this transaction only while that holds nothing uncommitted; else it is null. */
  readonly schemas: SchemaCache | null;
  /** What the batch before left, where that is known to be right. */
  readonly memory: BatchMemory | null;
  /** Whether the outcomes of all commands are looked up, or only of those with an Idempotency-Key. */
  readonly allOutcomes: boolean;
}

/** Fetches what `events` need. */
export async function prefetch(
  tx: Tx,
  partition: number,
  events: readonly Event[],
  { keys, schemas, memory, allOutcomes }: PrefetchOptions,
): Promise<Prefetched> {
  const wanted = new Wanted(allOutcomes);
  for (const event of events) wanted.add(event);
  const reserved = keys.open();
  const state = new BatchState(() => reserved.take());
  const tableIds = [...wanted.tableIds].filter((tableId) => {
    return !memory?.recall(tableId, state, wanted.tailsOf.has(tableId));
  });
  const known: { link: Link; index: number }[] = [];
  const unknown = wanted.rows.filter((row) => {
    const link = memory?.linkOf(row.tableId, row);
    if (link) known.push({ link, index: row.index });
    return !link;
  });
  const tailsOf = tableIds.filter((tableId) => wanted.tailsOf.has(tableId));
  const unknownSchemas = schemas === null ? tableIds : tableIds.filter((tableId) => !schemas.knows(tableId));

  const [outcomes, teams, tokens, tables, tails, rows, rowsOfLinks, segments, bodyBlocks, stored] = await Promise.all([
    wanted.commandIds.length === 0 ? [] : findOutcomes(tx, partition, wanted.commandIds),
    wanted.teamIds.size === 0 ? [] : findTeams(tx, [...wanted.teamIds]),
    wanted.tokenIds.size === 0 ? [] : findTokens(tx, [...wanted.tokenIds]),
    tableIds.length === 0 ? [] : findTables(tx, tableIds),
    tailsOf.length === 0 ? [] : findTails(tx, tailsOf),
    unknown.length === 0 ? [] : findRows(tx, unknown),
    known.length === 0 ? [] : findRowsOfLinks(tx, known),
    wanted.segments.size === 0 ? new Map<string, bigint>() : findSegmentKeys(tx, [...wanted.segments.keys()]),
    wanted.bodyIds.size === 0 ? [] : findBodyBlocks(tx, [...wanted.bodyIds]),
    unknownSchemas.length === 0 ? [] : findSchemas(tx, unknownSchemas),
    reserved.reserve(tx, wanted.keysAtMost),
  ]);

  for (const team of teams) state.putTeam(team);
  for (const token of tokens) state.putToken(token);
  for (const { table, team } of tables) {
    state.putTable(table);
    state.putTeam(team);
  }
  for (const link of tails) state.putLink(link);
  for (const row of rows) state.putRow(row);
  for (const row of rowsOfLinks) state.putRow(row);
  for (const [segmentId, key] of segments) state.putSegment(segmentId, key);
  for (const block of bodyBlocks) state.putBodyBlock(block);
  for (const schema of stored) {
    state.putSchema(schema);
    schemas?.put(schema);
  }

  // A table whose schema moved since it was cached: one more round trip, once for each change of a schema.
  const stale: string[] = [];
  for (const { table } of tables) {
    if (state.hasSchema(table.id, table.schemaVersion)) continue;
    const schema = schemas?.find(table.id, table.schemaVersion);
    if (schema) state.putSchema({ tableId: table.id, version: table.schemaVersion, schema });
    else stale.push(table.id);
  }
  if (stale.length > 0) {
    for (const schema of await findSchemas(tx, stale)) {
      state.putSchema(schema);
      schemas?.put(schema);
    }
  }

  const toFill: SegmentContent[] = [];
  for (const [id, { event, rows: count }] of wanted.segments) {
    if (segments.has(id)) continue;
    const key = reserved.take();
    state.putSegment(id, key);
    toFill.push({ key, id, rows: count, body: event.body() });
  }
  return { state, outcomes, toFill };
}
