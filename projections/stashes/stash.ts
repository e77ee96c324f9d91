/** Stashes and their parts, and the changes of both. */
import type { Profile } from '../../src/language/values/profile.ts';
import type { TeamChange } from '../teams/team.ts';

/** A stash: the newest of its name in its team, or an earlier one. */
export interface Stash {
  readonly key: bigint;
  readonly teamId: string;
  /**
   * Its name: the stash ID that the client gave, and the app of the client's token (src/language/events/stash-name.ts).
   */
  readonly stashId: string;
  readonly created: bigint;
  /** Log times in milliseconds: of its creation, and from when on it cannot be imported. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly chunks: number;
  readonly rows: number;
  /** The number of columns in the profiles of its blocks, added up. */
  readonly profiledColumns: number;
  /** How many of its serials are not integers. */
  readonly words: number;
  /** When the stash was deleted, or when an event noted that it had expired; null before that. */
  readonly endedAt: number | null;
}

/** The part of a chunk that the counts of its stash need. */
export interface ChunkSize {
  /** A local key: a chunk that replaces another under the same serial has a different one. */
  readonly key: bigint;
  readonly stash: bigint;
  readonly serial: string;
  readonly rows: number;
  readonly profiledColumns: number;
}

export interface Chunk extends ChunkSize {
  /** At least one. */
  readonly blocks: readonly ChunkBlock[];
}

export interface ChunkBlock {
  /** Null if there are no rows. */
  readonly segment: bigint | null;
  readonly profile: Profile;
  /** The runs of the row IDs with which its rows came; null if they came without. */
  readonly ids: Uint8Array | null;
}

export type StashChange = TeamChange | { readonly kind: 'stash'; readonly stash: Stash };
/** `replaces`: the key of the former chunk with its serial. */
export type ChunkChange = { readonly kind: 'chunk'; readonly chunk: Chunk; readonly replaces: bigint | null };
