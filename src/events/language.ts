/**
 * The language of an event: a number that says which versions of the software can read it. A version that brings new kinds of events, or a
 * new format of records, gives them the next number, and they are written only once all live processes read it (docs/decisions/0043).
 */
import type { EventType } from './event.ts';

/** The language that each kind of event came with. */
const languages: Readonly<Record<EventType, number>> = {
  GenerationStarted: 1, LogResumed: 1, TeamCreated: 1, TeamSuspended: 1, TeamResumed: 1, TeamPlanSet: 1, TokenCreated: 1, TokenRevoked: 1, RequestRefused: 1,
  BodyOpenRequested: 1, BodyExpired: 1, BlockReceived: 1, ChunkPutRequested: 1, StashDeleteRequested: 1, StashExpired: 1,
  UploadCreateRequested: 1, UploadCompleteRequested: 1, UploadDeleteRequested: 1, UploadChecked: 1,
  TableCreateRequested: 1, TablePatchRequested: 1, TableDeleteRequested: 1, RowsAddRequested: 1, TableOverwriteRequested: 1, RowPatchRequested: 1, RowDeleteRequested: 1,
};

/** The newest language that this version reads. It reads all earlier ones too. */
export const eventLanguage = Math.max(...Object.values(languages));

export function languageOf(type: EventType): number {
  return languages[type];
}
