/**
 * The location of a request's rows: in the event, in earlier events, or in a stash. The segments model defines its
 * meaning.
 */
import { decodeProfile, encodeProfile, type EncodedProfile } from '../values/profile-codec.ts';
import type { Profile } from '../values/profile.ts';
import { contentOf, costOfContent, unknownCost, type BodyContent } from './cost-of-rows.ts';

/** Rows that an event carries in its body. */
export interface EventRows {
  readonly profile: Profile;
  /** Whether the body also has the row IDs with which the rows came (src/language/events/row-bodies.ts). */
  readonly ids?: true;
}

/** The location of a request's rows. */
export type RowSource =
  /** No rows at all. */
  | { readonly kind: 'none' }
  /** In this event: few rows, which join the table's tail. */
  | (EventRows & { readonly kind: 'few' })
  /** In this event: a block, which is written to the segment with this ID. */
  | (EventRows & { readonly kind: 'block'; readonly segmentId: string })
  /** In the `BlockReceived` events with this body ID. `content` is absent in events from before it was recorded. */
  | { readonly kind: 'body'; readonly bodyId: string; readonly blocks: number; readonly content?: BodyContent }
  /** In a stash, under its name (stash-name.ts). */
  | { readonly kind: 'stash'; readonly stashId: string };

/** The profile of the rows that the event itself carries; null if it carries none. */
export function profileIn(source: RowSource): Profile | null {
  return 'profile' in source ? source.profile : null;
}

/** How many segments with the rows are known before anything is loaded. The segments of a stash are not. */
export function segmentsIn(source: RowSource): number {
  switch (source.kind) {
    case 'none':
    case 'few':
    case 'stash':
      return 0;
    case 'block':
      return 1;
    case 'body':
      return source.blocks;
  }
}

/** Whether the rows come as segments, so that their places are unknown until an extent refers to them. */
export function comesAsSegments({ kind }: RowSource): boolean {
  return kind === 'block' || kind === 'body' || kind === 'stash';
}

/** Upper bound for the cost of the work with the rows, besides the bytes of the event (cost.ts). */
export function costOfSource(source: RowSource): number {
  switch (source.kind) {
    case 'none':
      return 0;
    case 'few':
    case 'block':
      return costOfContent(contentOf(source.profile, source.ids === true));
    case 'body':
      return source.content === undefined ? unknownCost : costOfContent(source.content);
    case 'stash':
      return unknownCost;
  }
}

/** The source as JSON. */
export function rowSourceToWire(source: RowSource): unknown {
  return 'profile' in source ? { ...source, profile: encodeProfile(source.profile) } : source;
}

export function rowSourceFromWire(
  wire: RowSource | (Extract<RowSource, EventRows> & { readonly profile: EncodedProfile }),
): RowSource {
  return 'profile' in wire ? { ...wire, profile: decodeProfile(wire.profile as unknown as EncodedProfile) } : wire;
}
