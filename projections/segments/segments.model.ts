/** Rows as received: immutable segments, and the blocks of large bodies that wait for their closing event. */
import type { Tx } from '../../src/storage/database/pipelined-client.ts';
import { endedBody, rowsOf, teamOf } from '../../src/language/events/event-names.ts';
import type { Event } from '../../src/language/events/event.ts';
import type { EventRows } from '../../src/language/events/row-source.ts';
import { rowIdsOf, rowTextOf } from '../../src/language/events/row-bodies.ts';
import type { KeyReservation } from '../../src/log/batch/local-keys.ts';
import type { Loading, Model } from '../../src/log/model.ts';
import { storing } from '../../src/storage/database/rows-statement.ts';
import { decideBlockReceived } from './decide-block-received.ts';
import { decideBodyExpired, decideOpenBody } from './decide-open-body.ts';
import { fillSegment, type SegmentContent } from './fill-segment.ts';
import {
  BodyBlockEntity,
  OpenBodyEntity,
  RetainedIdEntity,
  SegmentEntity,
  SegmentRowEntity,
} from './segment.entity.ts';
import { segmentGarbage } from './segments.garbage.ts';
import { segmentSections } from './segments.sections.ts';
import type { BodyBlockChange, OpenBodyChange } from './body-block.ts';
import { SegmentsState, type SegmentStates } from './segments.state.ts';
import {
  bodyBlockRow,
  deleteOpenBodies,
  findBodyBlocks,
  findOpenBodies,
  findSegmentKeys,
  insertBodyBlocks,
  insertOpenBodies,
} from './segments.store.ts';

export const segments: Model<SegmentsState, SegmentStates, BodyBlockChange | OpenBodyChange> = {
  entities: [SegmentEntity, SegmentRowEntity, RetainedIdEntity, BodyBlockEntity, OpenBodyEntity],
  storage: [
    'create index body_blocks_by_time on body_blocks (time)',
    'create index body_blocks_of_segments on body_blocks (segment)',
    'create index segments_dropped on segments (key) where dropped',
    'create index segments_idle on segments (idle_since) where not emptied',
  ],
  decisions: { BodyOpenRequested: decideOpenBody, BlockReceived: decideBlockReceived, BodyExpired: decideBodyExpired },
  changes: {
    bodyBlock: ({ segments }, change) => segments.changeBodyBlock(change),
    openBody: ({ segments }, change) => segments.changeBody(change),
  },
  open: (_newKey, journal) => new SegmentsState(journal),
  // A segment that was not filled before the append is written here, as on replay.
  keysAtMost: (data) => (segmentOfEvent(data) === null ? 0 : 1),
  writeAhead,
  load,
  loadMore,
  store: (state) => [
    ...storing(state.changedBlocks.map(bodyBlockRow), insertBodyBlocks),
    ...storing(state.openedBodies(), insertOpenBodies),
    ...storing(state.closedBodies(), deleteOpenBodies),
  ],
  loadsMuch: (data) => endedBody(data) !== null,
  sections: segmentSections,
  garbage: segmentGarbage,
};

/** Fills the segments that events carry. */
function writeAhead(events: readonly Event[]): ((tx: Tx, keys: KeyReservation) => Promise<void>) | null {
  const carrying = new Map<string, Event>();
  for (const event of events) {
    const found = segmentOfEvent(event.data);
    if (found !== null) carrying.set(found.segmentId, event);
  }
  if (carrying.size === 0) return null;
  return async (tx, keys) => {
    const [written] = await Promise.all([findSegmentKeys(tx, [...carrying.keys()]), keys.reserve(tx, carrying.size)]);
    const missing = [...carrying].filter(([segmentId]) => !written.has(segmentId));
    await Promise.all(missing.map(([, event]) => fillSegment(tx, contentOf(event, keys.take()))));
  };
}

async function load({ tx, events, states: { segments }, before }: Loading<SegmentStates, null, null>): Promise<void> {
  const segmentIds = new Set<string>();
  for (const { data } of events) {
    const found = segmentOfEvent(data);
    if (found !== null && !segments.has(found.segmentId)) segmentIds.add(found.segmentId);
  }
  const missingBodies = missingOpenBodies(events, segments, before?.segments ?? null);
  const [keys, bodies] = await Promise.all([
    segmentIds.size === 0 ? new Map<string, bigint>() : findSegmentKeys(tx, [...segmentIds]),
    missingBodies.length === 0 ? [] : findOpenBodies(tx, missingBodies),
  ]);
  for (const [segmentId, key] of keys) segments.put(segmentId, key);
  for (const body of bodies) segments.putBody(body.bodyId, body);
}

async function loadMore(loading: Loading<SegmentStates, null, null>): Promise<void> {
  await loadBodies(loading);
  fillSegments(loading);
}

/** Loads the blocks of the bodies that events close. */
async function loadBodies({
  tx,
  events,
  states: { segments },
  before,
}: Loading<SegmentStates, null, null>): Promise<void> {
  for (const bodyId of new Set(events.map(({ data }) => endedBody(data)))) {
    if (bodyId === null) continue;
    for (const block of before?.segments.allBodyBlocks(bodyId) ?? []) segments.putBodyBlock(block);
    for await (const block of findBodyBlocks(tx, bodyId)) segments.putBodyBlock(block);
  }
}

/**
 * The bodies that events close and that are not loaded yet. Takes bodies that the previous batch knows from that batch.
 */
function missingOpenBodies(events: readonly Event[], segments: SegmentsState, before: SegmentsState | null): string[] {
  const named = new Set(
    events.flatMap(({ data }) => {
      const bodyId = data.type === 'BodyExpired' ? data.bodyId : endedBody(data);
      return bodyId === null ? [] : [bodyId];
    }),
  );
  return [...named].filter((bodyId) => {
    if (segments.findBody(bodyId) !== undefined) return false;
    const known = before?.findBody(bodyId);
    if (known !== undefined) segments.putBody(bodyId, known);
    return known === undefined;
  });
}

/** Schedules the writes of segments that events carry and that are not written yet, as on replay. */
function fillSegments({ events, states: { segments }, keys, writeFirst }: Loading<SegmentStates, null, null>): void {
  for (const event of events) {
    const found = segmentOfEvent(event.data);
    if (found === null || segments.has(found.segmentId)) continue;
    const content = contentOf(event, keys.take());
    segments.put(content.id, content.key);
    writeFirst((tx) => fillSegment(tx, content));
  }
}

/** The segment of an event that carries one. */
function contentOf(event: Event, key: bigint): SegmentContent {
  const { segmentId: id, teamId, rows } = segmentOfEvent(event.data)!;
  const body = event.body();
  return { key, id, teamId, rows: rows.profile.rows, body: rowTextOf(body, rows), ids: rowIdsOf(body, rows) };
}

/** The segment whose rows an event carries; null if it carries none. */
function segmentOfEvent(
  data: Event['data'],
): { readonly segmentId: string; readonly teamId: string; readonly rows: EventRows } | null {
  if (data.type === 'BlockReceived') return { segmentId: data.segmentId, teamId: data.teamId, rows: data };
  const rows = rowsOf(data);
  return rows?.kind === 'block' ? { segmentId: rows.segmentId, teamId: teamOf(data), rows } : null;
}
