/** The rows of a request: where they are, and their joint profile. */
import type { Event } from '../../src/language/events/event.ts';
import type { RowSource } from '../../src/language/events/row-source.ts';
import type { Refusal } from '../../src/language/values/refusal.ts';
import { rowTextOf } from '../../src/language/events/row-bodies.ts';
import { concatenateAll, emptyProfile } from '../../src/language/values/build-profile.ts';
import type { Place, Profile } from '../../src/language/values/profile.ts';
import type { LogPlace } from '../../src/log/batch/decision.ts';
import { rowIdsOfEvent, type EventRowIds } from './row-ids-of-event.ts';
import type { SegmentStates } from './segments.state.ts';

/** How long the blocks of a body wait for their closing event, in milliseconds of log time. */
export const bodyLife = 3_600_000;

export const lateBody: Refusal = {
  type: 'request_validation_error',
  message: 'the body took longer than an hour to arrive; send it again',
};

export interface ArrivedSegment {
  readonly key: bigint;
  readonly profile: Profile;
  /** The runs of the row IDs with which the rows came; null if they came without. */
  readonly ids: Uint8Array | null;
}

/** The rows of a request: where they are, and their joint profile. */
export interface ArrivedRows {
  readonly profile: Profile;
  /** The rows are in segments or, if they are few, in `few` as row bodies. */
  readonly segments: readonly ArrivedSegment[];
  readonly few: readonly string[];
  /** The row IDs with which `few` rows came. The IDs of other rows are in their segments. */
  readonly fewIds: EventRowIds | null;
  /** Names the place of a row in messages: `rows[3]`. */
  placeOf(place: Place): string;
}

/**
 * Finds the rows of a request in its event or in the blocks of its body. Refuses a body that was not complete in time.
 */
export function arrivedRows(
  { segments: arrived }: SegmentStates,
  event: Event,
  teamId: string,
  source: Exclude<RowSource, { readonly kind: 'stash' }>,
  at: LogPlace,
): ArrivedRows | { readonly refusal: Refusal } {
  switch (source.kind) {
    case 'none':
      return { profile: emptyProfile, ...noRows };
    case 'few': {
      // A CSV header without rows still names columns.
      if (source.profile.rows === 0) {
        return { profile: source.profile, ...noRows };
      }
      const few = Buffer.from(rowTextOf(event.body(), source)).toString('utf8').split('\n');
      const fewIds = rowIdsOfEvent(event, source);
      return { profile: source.profile, segments: [], few, fewIds, placeOf };
    }
    case 'block': {
      const key = arrived.key(source.segmentId);
      const { profile } = source;
      const ids = rowIdsOfEvent(event, source);
      const segments = [{ key, profile, ids: ids?.bytes ?? null }];
      return { profile, segments, few: [], fewIds: null, placeOf };
    }
    case 'body': {
      const blocks = arrived.bodyBlocks(teamId, source.bodyId);
      if (blocks.length !== source.blocks || blocks.some((block) => at.time - block.time > bodyLife)) {
        return { refusal: lateBody };
      }
      const profile = concatenateAll(blocks.map((block) => block.profile));
      const segments = blocks.map(({ segment, profile, ids }) => ({ key: segment, profile, ids }));
      return { profile, segments, few: [], fewIds: null, placeOf };
    }
  }
}

function placeOf({ row }: Pick<Place, 'row'>): string {
  return `rows[${row}]`;
}

/** The arrived rows of an empty request. */
const noRows = { segments: [], few: [], fewIds: null, placeOf } as const;
