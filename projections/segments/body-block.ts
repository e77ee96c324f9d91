/** Bodies that are larger than one block, and their blocks. */
import type { Profile } from '../../src/language/values/profile.ts';
import type { TeamChange } from '../teams/team.ts';

export interface BodyBlock {
  readonly bodyId: string;
  /** Its place in the body, from 0. */
  readonly number: number;
  readonly teamId: string;
  /** The local key of its segment. */
  readonly segment: bigint;
  readonly profile: Profile;
  /**
   * The runs of the row IDs with which its rows came (src/language/events/row-id-runs.ts); null if they came without.
   */
  readonly ids: Uint8Array | null;
  /** The record's time, in milliseconds. */
  readonly time: number;
}

/** A body that waits for its closing event. */
export interface OpenBody {
  readonly bodyId: string;
  readonly teamId: string;
  /** The time of the record that opened it, in milliseconds. */
  readonly openedAt: number;
}

/** A body was opened, or is no longer open. */
export type OpenBodyChange =
  | TeamChange
  | { readonly kind: 'openBody'; readonly body: OpenBody; readonly isOpen: boolean };

export type BodyBlockChange = { readonly kind: 'bodyBlock'; readonly block: BodyBlock };
