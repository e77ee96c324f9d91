/**
 * The language of the log. An event that may be refused is named for the request, one that cannot for the fact. What an
 * event says is always true and never changes: that somebody asked for this, with these limits, or that this came to be.
 * Everything a decision uses besides the read model stands in it (ARCHITECTURE.md, "Invariants").
 */
import type { Profile } from '../values/profile.ts';
import type { GivenColumn, GivenDisplayName } from '../values/table-schema.ts';
import type { SchemaErrorMode } from '../values/decide-schema.ts';

/** The limits a request is decided by, as they were set when it was made. */
export interface RowLimits {
  readonly rowsPerTableMax: number;
  readonly columnsMax: number;
  readonly rowBytesMax: number;
}

/** The limits of a stash, as they were set when a chunk was sent to it. */
export interface StashLimits {
  /** For how long after its creation it can be imported, in milliseconds of log time. */
  readonly lifeMs: number;
  readonly chunksMax: number;
  readonly rowsMax: number;
  /** The columns of its blocks, each counted in each block: the profiles are gone through when it is imported. */
  readonly profiledColumnsMax: number;
}

/** The limits of an upload, as they were set when it was created. */
export interface UploadLimits {
  /** The largest file, in bytes. */
  readonly sizeMax: number;
  /** For how long after its creation the bytes can be sent and the upload completed, in milliseconds of log time. */
  readonly lifeMs: number;
  /** For how long a file is kept that no row names, in milliseconds of log time. */
  readonly unclaimedLifeMs: number;
  /** How many uploads the team may have open, this one with them. Absent where no such limit was set: then there is none. */
  readonly openMax?: number;
}

/** A file as it lies in the store. */
export interface StoredFile {
  /** Its random name (src/files/file-name.ts). */
  readonly name: string;
  /** In bytes. */
  readonly size: number;
}

/** Rows that an event carries in its body. */
export interface EventRows {
  readonly profile: Profile;
  /** Whether the row IDs that the rows came with follow them in the body (see src/events/row-bodies.ts). */
  readonly ids?: true;
}

/** Where the rows of a request are. */
export type RowSource =
  /** No rows at all. */
  | { readonly kind: 'none' }
  /** In this event: few rows, which join the table's tail. */
  | (EventRows & { readonly kind: 'few' })
  /** In this event: a block, written to the segment of this ID. */
  | (EventRows & { readonly kind: 'block'; readonly segmentId: string })
  /** In the `BlockReceived` events of this body. */
  | { readonly kind: 'body'; readonly bodyId: string; readonly blocks: number }
  /** In a stash, under the name that the client gave it. */
  | { readonly kind: 'stash'; readonly stashId: string };

/** A row's ID, taken apart (see src/events/row-id.ts). */
export interface RowAddress {
  readonly version: bigint;
  readonly ordinal: number;
  readonly index: number;
}

export type EventData =
  | { readonly type: 'GenerationStarted'; readonly logId: string; readonly base: bigint }
  | { readonly type: 'TeamCreated'; readonly teamId: string; readonly name: string }
  | { readonly type: 'TeamSuspended'; readonly teamId: string }
  | { readonly type: 'TeamResumed'; readonly teamId: string }
  | {
      readonly type: 'TeamPlanSet';
      readonly teamId: string;
      /** How many rows all tables of the team may show, and how many bytes its files may have; null: no limit; absent: as it was. */
      readonly rowsMax?: number | null;
      readonly uploadBytesMax?: number | null;
    }
  | {
      readonly type: 'TokenCreated';
      readonly teamId: string;
      readonly tokenId: string;
      readonly name: string;
      /** SHA-256 of the token, in hexadecimal. */
      readonly hash: string;
      /** From this time on, in milliseconds of log time, it is refused; null: never. */
      readonly expiresAt: number | null;
      /** Whether it may change nothing. */
      readonly readOnly: boolean;
      /** The only app that it is for; null: for all of the team. */
      readonly appId: string | null;
    }
  | { readonly type: 'TokenRevoked'; readonly teamId: string; readonly tokenId: string }
  | (EventRows & {
      readonly type: 'BlockReceived';
      readonly teamId: string;
      readonly bodyId: string;
      /** Its place in the body, from 0. */
      readonly number: number;
      readonly segmentId: string;
    })
  | {
      readonly type: 'ChunkPutRequested';
      readonly teamId: string;
      /** The name that the client gave the stash, and the chunk in it. */
      readonly stashId: string;
      readonly serial: string;
      readonly limits: StashLimits;
      /** Few rows are a block here; `few` are none, of which there are columns only. */
      readonly rows: Exclude<RowSource, { readonly kind: 'stash' }>;
    }
  | { readonly type: 'StashDeleteRequested'; readonly teamId: string; readonly stashId: string }
  | {
      /** Its time is over. What decisions see of it does not depend on this: it says that its chunks may be removed. */
      readonly type: 'StashExpired';
      readonly teamId: string;
      readonly stashId: string;
      /** The version of the event that created the stash which is meant. */
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
      /** What has arrived, sealed under this name for this request; where it is larger than the upload may be, there need be no such file. */
      readonly file: StoredFile;
    }
  /** Somebody looked whether the time of an upload is over, or whether rows name its file. Decided where it stands in the log. */
  | { readonly type: 'UploadChecked'; readonly teamId: string; readonly uploadId: string }
  | {
      readonly type: 'TableCreateRequested';
      readonly teamId: string;
      readonly tableId: string;
      readonly name: string;
      readonly columns: readonly GivenColumn[] | null;
      readonly onSchemaError: SchemaErrorMode;
      readonly appsToLink: readonly string[] | null;
      readonly limits: RowLimits;
      readonly rows: RowSource;
    }
  | {
      readonly type: 'TablePatchRequested';
      readonly teamId: string;
      readonly tableId: string;
      readonly ifMatch: bigint | null;
      /** Null: as it is. */
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
      /** The schema that replaces the table's; null: that one is kept. */
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
      /** Of the one row that the event's body holds, with nulls for the columns to be cleared. */
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

/** What every event carries, whatever it says. */
export interface Envelope {
  readonly commandId: string;
  /** Log time, in milliseconds, after which it must not take effect; null for facts. */
  readonly notAfter: number | null;
  /** A digest of the request, where it came with an Idempotency-Key. */
  readonly requestDigest: string | null;
}

/** An event as it was read from the log. */
export interface Event<T extends EventData = EventData> extends Envelope {
  readonly data: T;
  /** The row bodies it carries, joined by newlines, in UTF-8, and their row IDs; empty where it carries none. Inflated when asked for. */
  body(): Uint8Array;
}

/** An event that is ready to be appended. */
export interface EncodedEvent {
  /** The command's ID, 32 hexadecimal digits with dashes (UUID form). */
  readonly commandId: string;
  readonly bytes: Uint8Array;
  /** What the bytes say: the same as is read from them. */
  readonly event: Event;
}
