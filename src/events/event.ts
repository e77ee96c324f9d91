/**
 * The events of the log. An event that may be refused is named after the request, one that cannot after the fact. Its content is
 * always true and never changes: that something was requested under these limits, or that something happened. It holds everything
 * that a decision uses besides the read model (ARCHITECTURE.md, "Invariants").
 */
import type { Refusal } from '../values/refusal.ts';
import type { PlanLimits } from './quota.ts';
import type { Profile } from '../values/profile.ts';
import type { GivenColumn, GivenDisplayName } from '../values/table-schema.ts';
import type { SchemaErrorMode } from '../values/decide-schema.ts';

/** The limits that a request is decided by, as configured when it was made. */
export interface RowLimits {
  readonly rowsPerTableMax: number;
  readonly columnsMax: number;
  readonly rowBytesMax: number;
  /** How many different columns a stash may name that is imported. Absent in events from before this limit: 10,000. */
  readonly stashColumnsMax?: number;
}

/** The limits of a new table, as configured when it was requested. */
export interface TableLimits extends RowLimits {
  /** How many tables the team may have, including this one. Absent in events from before this limit: no limit. */
  readonly tablesMax?: number;
}

/** The limits of a stash, as configured when a chunk was sent to it. */
export interface StashLimits {
  /** For how long after its creation it can be imported, in milliseconds of log time. */
  readonly lifeMs: number;
  readonly chunksMax: number;
  readonly rowsMax: number;
  /** The columns of its blocks, summed over the blocks: an import goes through all their profiles. */
  readonly profiledColumnsMax: number;
  /** How many stashes the team may have, including this one. Absent in events from before this limit: no limit. */
  readonly stashesMax?: number;
}

/** The limits of a body that comes in blocks, as configured when it began. */
export interface BodyLimits {
  /** How many bodies the team may have open, including this one. */
  readonly openMax: number;
}

/** The limits of an upload, as configured when it was created. */
export interface UploadLimits {
  /** The largest file, in bytes. */
  readonly sizeMax: number;
  /** For how long after its creation the bytes can be sent and the upload completed, in milliseconds of log time. */
  readonly lifeMs: number;
  /** How long a file is kept that no row references, in milliseconds of log time. */
  readonly unclaimedLifeMs: number;
  /** How many uploads the team may have open, including this one. Absent in events from before this limit: no limit. */
  readonly openMax?: number;
  /** How many bytes all open uploads of the team may have, each counted with its `sizeMax`. Absent in older events: no limit. */
  readonly openBytesMax?: number;
}

/** A file in the store. */
export interface StoredFile {
  /** Its random name (src/files/file-name.ts). */
  readonly name: string;
  /** In bytes. */
  readonly size: number;
}

/** Rows that an event carries in its body. */
export interface EventRows {
  readonly profile: Profile;
  /** Whether the body also holds the row IDs that the rows came with (see src/events/row-bodies.ts). */
  readonly ids?: true;
}

/** What the blocks of a body hold together, for the cost of the event that ends it (cost.ts). */
export interface BodyContent {
  /** The columns of their profiles, and the rows that came with row IDs, summed over the blocks. */
  readonly columns: number;
  readonly rowIds: number;
}

/** Where the rows of a request are stored. */
export type RowSource =
  /** No rows at all. */
  | { readonly kind: 'none' }
  /** In this event: few rows, which join the table's tail. */
  | (EventRows & { readonly kind: 'few' })
  /** In this event: a block, written to the segment of this ID. */
  | (EventRows & { readonly kind: 'block'; readonly segmentId: string })
  /** In the `BlockReceived` events with this body ID. `content` is absent in events from before it was noted. */
  | { readonly kind: 'body'; readonly bodyId: string; readonly blocks: number; readonly content?: BodyContent }
  /** In a stash, under its name (stash-name.ts). */
  | { readonly kind: 'stash'; readonly stashId: string };

/** A decoded row ID (see src/events/row-id.ts). */
export interface RowAddress {
  readonly version: bigint;
  readonly ordinal: number;
  readonly index: number;
}

export type EventData =
  | { readonly type: 'GenerationStarted'; readonly logId: string; readonly base: bigint }
  /**
   * A part of the log was lost, or may have been. From here on the base is at least this, so that no version is given out a second
   * time: it is above every version of the lost part.
   */
  | { readonly type: 'LogResumed'; readonly base: bigint }
  | { readonly type: 'TeamCreated'; readonly teamId: string; readonly name: string }
  | { readonly type: 'TeamSuspended'; readonly teamId: string }
  | { readonly type: 'TeamResumed'; readonly teamId: string }
  /** The limits that are named; absent: unchanged. */
  | ({ readonly type: 'TeamPlanSet'; readonly teamId: string } & Partial<PlanLimits>)
  | {
      readonly type: 'TokenCreated';
      readonly teamId: string;
      readonly tokenId: string;
      readonly name: string;
      /** SHA-256 of the token, in hexadecimal. */
      readonly hash: string;
      /** Expiry in milliseconds of log time: the token is refused from then on; null: never. */
      readonly expiresAt: number | null;
      /** Whether it may only read. */
      readonly readOnly: boolean;
      /** The only app that the token grants access to; null: the whole team. */
      readonly appId: string | null;
    }
  | { readonly type: 'TokenRevoked'; readonly teamId: string; readonly tokenId: string }
  /** The committed state refused a request, whose rows were dropped. Its outcome is that refusal. */
  | { readonly type: 'RequestRefused'; readonly teamId: string; readonly refusal: Refusal }
  /** The blocks of a body are to follow. It is open until an event names it as the source of its rows, or `BodyExpired`. */
  | { readonly type: 'BodyOpenRequested'; readonly teamId: string; readonly bodyId: string; readonly limits: BodyLimits }
  /** An open body is too old for its closing event. */
  | { readonly type: 'BodyExpired'; readonly teamId: string; readonly bodyId: string }
  | (EventRows & {
      readonly type: 'BlockReceived';
      readonly teamId: string;
      readonly bodyId: string;
      /** The position of the block in the body, from 0. */
      readonly number: number;
      readonly segmentId: string;
    })
  | {
      readonly type: 'ChunkPutRequested';
      readonly teamId: string;
      /** The name of the stash (stash-name.ts), and the client-given name of the chunk in it. */
      readonly stashId: string;
      readonly serial: string;
      readonly limits: StashLimits;
      /** Even few rows form a block here; `few` stands for no rows, only columns. */
      readonly rows: Exclude<RowSource, { readonly kind: 'stash' }>;
    }
  | { readonly type: 'StashDeleteRequested'; readonly teamId: string; readonly stashId: string }
  | {
      /** The stash's lifetime is over. Decisions do not depend on this event: it allows its chunks to be removed. */
      readonly type: 'StashExpired';
      readonly teamId: string;
      readonly stashId: string;
      /** Identifies the stash: the version of the event that created it. */
      readonly created: bigint;
    }
  | {
      readonly type: 'UploadCreateRequested';
      readonly teamId: string;
      readonly uploadId: string;
      readonly appId: string;
      readonly contentType: string;
      readonly fileName: string;
      readonly limits: UploadLimits;
    }
  | {
      readonly type: 'UploadCompleteRequested';
      readonly teamId: string;
      readonly uploadId: string;
      readonly appId: string;
      /** The received bytes, sealed under this name for this request. If they exceed the upload's limit, this file need not exist. */
      readonly file: StoredFile;
    }
  /** The file of an upload is to be withdrawn; an upload that was not completed is to be given up. */
  | { readonly type: 'UploadDeleteRequested'; readonly teamId: string; readonly uploadId: string; readonly appId: string }
  /** A process checked whether the upload's time is over, or whether rows reference its file. Decided at the event's place in the log. */
  | { readonly type: 'UploadChecked'; readonly teamId: string; readonly uploadId: string }
  | {
      readonly type: 'TableCreateRequested';
      readonly teamId: string;
      readonly tableId: string;
      readonly name: string;
      readonly columns: readonly GivenColumn[] | null;
      readonly onSchemaError: SchemaErrorMode;
      readonly appsToLink: readonly string[] | null;
      readonly limits: TableLimits;
      readonly rows: RowSource;
    }
  | {
      readonly type: 'TablePatchRequested';
      readonly teamId: string;
      readonly tableId: string;
      readonly ifMatch: bigint | null;
      /** Null: unchanged. */
      readonly name: string | null;
      readonly columns: readonly GivenDisplayName[];
    }
  | {
      readonly type: 'TableDeleteRequested';
      readonly teamId: string;
      readonly tableId: string;
      readonly ifMatch: bigint | null;
    }
  | {
      readonly type: 'RowsAddRequested';
      readonly teamId: string;
      readonly tableId: string;
      readonly ifMatch: bigint | null;
      readonly onSchemaError: SchemaErrorMode;
      readonly limits: RowLimits;
      readonly rows: RowSource;
    }
  | {
      readonly type: 'TableOverwriteRequested';
      readonly teamId: string;
      readonly tableId: string;
      readonly ifMatch: bigint | null;
      /** The schema that replaces the table's; null: the table keeps its schema. */
      readonly columns: readonly GivenColumn[] | null;
      readonly onSchemaError: SchemaErrorMode;
      readonly limits: RowLimits;
      readonly rows: RowSource;
    }
  | {
      readonly type: 'RowPatchRequested';
      readonly teamId: string;
      readonly tableId: string;
      readonly row: RowAddress;
      readonly ifMatch: bigint | null;
      readonly onSchemaError: SchemaErrorMode;
      readonly limits: RowLimits;
      /** The profile of the one row in the event's body, with nulls for the columns to be cleared. */
      readonly profile: Profile;
    }
  | {
      readonly type: 'RowDeleteRequested';
      readonly teamId: string;
      readonly tableId: string;
      readonly row: RowAddress;
      readonly ifMatch: bigint | null;
    };

export type EventType = EventData['type'];
export type EventOf<T extends EventType> = Extract<EventData, { type: T }>;

/** The team that an event is of; empty for those of the log itself. */
export function teamOf(data: EventData): string {
  return 'teamId' in data ? data.teamId : '';
}

/** The fields that all events share. */
export interface Envelope {
  readonly commandId: string;
  /** Deadline in log time, in milliseconds, after which the event has no effect; null for facts. */
  readonly notAfter: number | null;
  /** A digest of the request, if it had an Idempotency-Key. */
  readonly requestDigest: string | null;
}

/** An event as it was read from the log. */
export interface Event<T extends EventData = EventData> extends Envelope {
  readonly data: T;
  /**
   * The row bodies that it carries, joined by newlines, in UTF-8, and their row IDs; empty if there are none. Decompressed on each
   * call.
   */
  body(): Uint8Array;
}

/** An event that is ready to be appended. */
export interface EncodedEvent {
  /** The command's ID, 32 hexadecimal digits with dashes (UUID form). */
  readonly commandId: string;
  readonly bytes: Uint8Array;
  /** The bytes of its body, and of its JSON before that was compressed: about what it takes of memory while it waits. */
  readonly size: number;
  /** How much work it takes (cost.ts). */
  readonly cost: number;
  /** Which processes can read it (language.ts). */
  readonly language: number;
  /** The decoded event, equal to what the bytes decode to. */
  readonly event: Event;
}
