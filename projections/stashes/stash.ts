/** What stashes are made of, and how they change. */
import type { Profile } from '../../src/values/profile.ts';

/** A stash: the last one of its name in its team, or one that came before that. */
export interface Stash {
  readonly key: bigint;
  readonly teamId: string;
  /** The name that the client gave it. */
  readonly stashId: string;
  readonly created: bigint;
  /** Times of the log, in milliseconds: of its creation, and from which on it cannot be imported. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly chunks: number;
  readonly rows: number;
  /** The columns of its blocks' profiles, each counted in each. */
  readonly profiledColumns: number;
  /** How many of its serials are no integers. */
  readonly words: number;
  /** When it was deleted, or expired and somebody said so; null before that. */
  readonly endedAt: number | null;
}

/** What a stash counts of a chunk. */
export interface ChunkSize {
  /** A local key: another chunk under the same serial has another one. */
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
  /** Null where there are no rows. */
  readonly segment: bigint | null;
  readonly profile: Profile;
  /** The runs of the row IDs that its rows came with; null where none did. */
  readonly ids: Uint8Array | null;
}

export type StashChange = { readonly kind: 'stash'; readonly stash: Stash };
/** `replaces`: the key of the chunk that was under its serial. */
export type ChunkChange = { readonly kind: 'chunk'; readonly chunk: Chunk; readonly replaces: bigint | null };
