/**
 * The events of the log. An event that may be refused is named after the request, any other event after the fact. Its
 * content is always true and never changes: something was requested under these limits, or something happened. It
 * contains everything that a decision uses besides the read model (ARCHITECTURE.md, "Invariants").
 *
 * To add a type: declare it in `<noun>-events.ts`, and add it to the list below.
 */
import { blockReceived, bodyExpired, bodyOpenRequested } from './body-events.ts';
import type { DataOf, EventDefinition } from './define-event.ts';
import { generationStarted, logResumed } from './log-events.ts';
import { chunkPutRequested, stashDeleteRequested, stashExpired } from './stash-events.ts';
import {
  rowDeleteRequested,
  rowPatchRequested,
  rowsAddRequested,
  tableBatchRequested,
  tableCreateRequested,
  tableDeleteRequested,
  tableOverwriteRequested,
  tablePatchRequested,
} from './table-events.ts';
import {
  requestRefused,
  teamCreated,
  teamPlanSet,
  teamResumed,
  teamSuspended,
  tokenCreated,
  tokenRevoked,
} from './team-events.ts';
import {
  uploadChecked,
  uploadCompleteRequested,
  uploadCreateRequested,
  uploadDeleteRequested,
} from './upload-events.ts';

/** All types of events. */
const eventDefinitions = [
  generationStarted,
  logResumed,
  teamCreated,
  teamSuspended,
  teamResumed,
  teamPlanSet,
  tokenCreated,
  tokenRevoked,
  requestRefused,
  bodyOpenRequested,
  bodyExpired,
  blockReceived,
  chunkPutRequested,
  stashDeleteRequested,
  stashExpired,
  uploadCreateRequested,
  uploadCompleteRequested,
  uploadDeleteRequested,
  uploadChecked,
  tableCreateRequested,
  tablePatchRequested,
  tableDeleteRequested,
  rowsAddRequested,
  tableOverwriteRequested,
  rowPatchRequested,
  rowDeleteRequested,
  tableBatchRequested,
] as const;

type DataOfDefinition<D> = D extends EventDefinition<infer Type, infer F> ? DataOf<Type, F> : never;

/** The content of an event. */
export type EventData = DataOfDefinition<(typeof eventDefinitions)[number]>;
export type EventType = EventData['type'];
export type EventOf<T extends EventType> = Extract<EventData, { type: T }>;

const byType = new Map<string, EventDefinition>(
  eventDefinitions.map((definition) => [definition.type, definition as unknown as EventDefinition]),
);

/** The declaration of a type; undefined for a type of a newer version. */
export function definitionOf(type: string): EventDefinition | undefined {
  return byType.get(type);
}

/** The newest language among the types of events. */
export const newestLanguage = Math.max(...eventDefinitions.map(({ language }) => language));

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
   * The row bodies of the event, joined by newlines, in UTF-8, and their row IDs; empty if there are none. Each call
   * decompresses them.
   */
  body(): Uint8Array;
}

/** An event that is ready to be appended. */
export interface EncodedEvent {
  /** The command's ID, 32 hexadecimal digits with dashes (UUID form). */
  readonly commandId: string;
  readonly bytes: Uint8Array;
  /** The bytes of its body and of its uncompressed JSON: about the memory that it takes while it waits. */
  readonly size: number;
  /** Upper bound for its work (cost.ts). */
  readonly cost: number;
  /** The language that a process needs to read it (language.ts). */
  readonly language: number;
  /** The decoded event, equal to what the bytes decode to. */
  readonly event: Event;
}
