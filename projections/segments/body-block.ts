/** A block of a body that is larger than one block. */
import type { Profile } from '../../src/values/profile.ts';

export interface BodyBlock {
  readonly bodyId: string;
  /** Its place in the body, from 0. */
  readonly number: number;
  readonly teamId: string;
  /** The local key of its segment. */
  readonly segment: bigint;
  readonly profile: Profile;
  /** The runs of the row IDs with which its rows came (src/events/row-id-runs.ts); null if they came without. */
  readonly ids: Uint8Array | null;
  /** The record's time, in milliseconds. */
  readonly time: number;
}

export type BodyBlockChange = { readonly kind: 'bodyBlock'; readonly block: BodyBlock };
