/**
 * What decisions are made of: the state they see, and what they answer. All of it is plain values; a decision never does
 * I/O, and what it uses stands in the event or in the read model (ARCHITECTURE.md, "Invariants").
 */
import type { Event, RowAddress, StoredFile } from '../src/events/event.ts';
import type { Outcome, Refusal, RefusalType, AppliedResult } from '../src/events/outcome.ts';
import type { StoredForm } from '../src/schema/presentation.ts';
import type { Profile } from '../src/schema/profile.ts';
import type { TableSchema } from '../src/schema/table-schema.ts';
import type { StashContent } from './stashes/stash-content.ts';

export interface Team {
  readonly id: string;
  readonly partition: number;
  readonly name: string;
  readonly created: bigint;
  readonly suspended: boolean;
  readonly rows: number;
  readonly rowsMax: number | null;
  /** Bytes of its files, and the plan's limit of them; null: none. */
  readonly uploadBytes: number;
  readonly uploadBytesMax: number | null;
  /**
   * Its uploads that were neither completed nor given up. One whose time is over is among them until upkeep has said so
   * (`UploadChecked`), which it does in its rounds.
   */
  readonly openUploads: number;
}

export interface Token {
  readonly id: string;
  readonly teamId: string;
  readonly name: string;
  readonly hash: string;
  readonly created: bigint;
  /** From this log time on it is refused, in milliseconds; null: never. */
  readonly expiresAt: number | null;
  readonly readOnly: boolean;
  /** The only app that it is for; null: for all of the team. */
  readonly appId: string | null;
  readonly revoked: boolean;
}

export interface Table {
  readonly id: string;
  readonly teamId: string;
  readonly name: string;
  readonly created: bigint;
  /** The time of the record that created it, in milliseconds. */
  readonly createdAt: number;
  readonly version: bigint;
  readonly generation: bigint;
  readonly schemaVersion: bigint;
  readonly widened: bigint;
  readonly rows: number;
  readonly rowBytesMax: number;
  /** The key of the open tail link. */
  readonly tail: bigint | null;
  /** Decisions see no such table. */
  readonly deleted: boolean;
  /** Whether rows of the present generation have kept identities. */
  readonly keeps: boolean;
}

/** A generation that an overwrite has replaced. */
export interface Generation {
  readonly tableId: string;
  readonly version: bigint;
  readonly ended: bigint;
  readonly endedAt: number;
  readonly schemaVersion: bigint;
  readonly widened: bigint;
}

export interface Link {
  readonly key: bigint;
  readonly tableId: string;
  readonly version: bigint;
  readonly ordinal: number;
  readonly generation: bigint;
  readonly schemaVersion: bigint;
  readonly wrap: boolean;
  /** The bodies are stored as the schema of this version presents them; null: as they were received. */
  readonly presented: bigint | null;
  readonly cells: boolean;
  /** Which of its rows have kept identities of earlier generations (kept-places.ts); null: none. */
  readonly kept: Uint8Array | null;
  readonly segment: bigint;
  readonly first: number;
  readonly rows: number;
  readonly bytes: number;
  readonly changed: boolean;
  readonly deleted: number;
}

/** A segment that an event names: already written. */
export interface Segment {
  readonly key: bigint;
  readonly profile: Profile;
}

/** A row as it is stored: its newest body, the version of that body, and how it got there. */
export interface StoredRow {
  readonly link: Link;
  readonly index: number;
  readonly version: bigint;
  /** Null: deleted. */
  readonly body: string | null;
  /** How its body is stored, and under the schema of which version it was presented, or is to be fitted. */
  readonly stored: StoredForm;
  readonly decidedAt: bigint;
}

/** Where in the log an event stands. */
export interface LogPlace {
  readonly partition: number;
  readonly offset: bigint;
  /** base + offset: what it gives to all that it changes. */
  readonly version: bigint;
  /** The record's time in milliseconds: the only time a decision knows. */
  readonly time: number;
}

/** What a decision may see. Everything was fetched before; a lookup of what was not is a bug and throws. */
export interface DecisionState {
  team(teamId: string): Team | null;
  token(tokenId: string): Token | null;
  table(tableId: string): Table | null;
  schema(table: Table): TableSchema;
  link(key: bigint): Link;
  /** The link of the rows that this version added to a table under this ordinal, in any generation. */
  linkOf(tableId: string, row: Pick<RowAddress, 'version' | 'ordinal'>): Link | null;
  /** The row with this ID in the present generation, wherever it lies. */
  row(table: Table, id: RowAddress): StoredRow | null;
  segment(segmentId: string): bigint;
  bodyBlocks(teamId: string, bodyId: string): readonly BodyBlock[];
  /** The last stash of this name, also one that has ended. */
  stash(teamId: string, stashId: string): Stash | null;
  /** The chunk under a serial of a stash. */
  chunk(stash: bigint, serial: string): ChunkSize | null;
  /** All that a stash holds. */
  stashContent(stash: bigint): StashContent;
  upload(uploadId: string): Upload | null;
  /** Whether a row of one of its team's tables names the upload's file. */
  isClaimed(upload: Upload): boolean;
  /** A fresh local key for a link or a segment. */
  newKey(): bigint;
}

export interface BodyBlock {
  readonly bodyId: string;
  readonly number: number;
  readonly teamId: string;
  readonly segment: bigint;
  readonly profile: Profile;
  /** The runs of the identities that its rows came with. */
  readonly ids: Uint8Array | null;
  readonly time: number;
}

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
  /** The runs of the identities that its rows came with. */
  readonly ids: Uint8Array | null;
}

/** An upload, from its creation on for good. */
export interface Upload {
  readonly id: string;
  readonly teamId: string;
  readonly appId: string;
  readonly contentType: string;
  readonly fileName: string;
  readonly created: bigint;
  /** Times of the log, in milliseconds: of its creation, and from which on it cannot be completed. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly sizeMax: number;
  readonly unclaimedLifeMs: number;
  /** Null until it is completed. One that was refused then has it too, so that its bytes are removed. */
  readonly file: StoredFile | null;
  /** Since when no row is known to name its file; null while one does, and before it is completed. */
  readonly unclaimedSince: number | null;
  /** When its file was given up; null while it is there or expected. */
  readonly removedAt: number | null;
}

/** One thing that becomes different in the read model. Each carries the whole new value. */
export type Change =
  | { readonly kind: 'team'; readonly team: Team }
  | { readonly kind: 'token'; readonly token: Token }
  | { readonly kind: 'table'; readonly table: Table }
  | { readonly kind: 'appLinks'; readonly tableId: string; readonly appIds: readonly string[] }
  | { readonly kind: 'schema'; readonly tableId: string; readonly version: bigint; readonly schema: TableSchema }
  | { readonly kind: 'link'; readonly link: Link }
  | { readonly kind: 'generation'; readonly generation: Generation }
  | {
      readonly kind: 'tailRows';
      readonly link: Link;
      readonly first: number;
      readonly version: bigint;
      readonly bodies: readonly string[];
      /** The identities that they keep; null where none does. */
      readonly ids: readonly (string | null)[] | null;
    }
  | {
      readonly kind: 'row';
      readonly link: Link;
      readonly index: number;
      readonly version: bigint;
      readonly body: string | null;
    }
  | { readonly kind: 'bodyBlock'; readonly block: BodyBlock }
  | { readonly kind: 'upload'; readonly upload: Upload }
  | { readonly kind: 'stash'; readonly stash: Stash }
  /** `replaces`: the key of the chunk that was under its serial. */
  | { readonly kind: 'chunk'; readonly chunk: Chunk; readonly replaces: bigint | null };

export interface Decision {
  readonly outcome: Outcome;
  readonly changes: readonly Change[];
}

export type Decide<E extends Event> = (state: DecisionState, event: E, at: LogPlace) => Decision;

export function refuse(type: RefusalType, message: string): Decision {
  return refusedWith({ type, message });
}

/** Refuses what a client asked for, and changes something all the same. */
export function refuseWith(refusal: Refusal, changes: readonly Change[]): Decision {
  return { outcome: { status: 'refused', refusal }, changes };
}

export function refusedWith(refusal: Refusal): Decision {
  return { outcome: { status: 'refused', refusal }, changes: [] };
}

export function apply(changes: readonly Change[], etag?: bigint, result: AppliedResult = {}): Decision {
  return { outcome: { status: 'applied', result, etag }, changes };
}
