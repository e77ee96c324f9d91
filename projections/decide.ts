/** What each event means: one case an event, each a pure function of its own. */
import type { Event, EventData, EventType } from '../src/events/event.ts';
import { apply } from './decision.ts';
import type { Decision, DecisionState, LogPlace } from './decision.ts';
import { decideBlockReceived } from './segments/decide-block-received.ts';
import { decideDeleteStash, decideStashExpired } from './stashes/decide-end-stash.ts';
import { decidePutChunk } from './stashes/decide-put-chunk.ts';
import { decideAddRows } from './tables/decide-add-rows.ts';
import { decideCreateTable } from './tables/decide-create-table.ts';
import { decideDeleteRow } from './tables/decide-delete-row.ts';
import { decideDeleteTable } from './tables/decide-delete-table.ts';
import { decideOverwriteTable } from './tables/decide-overwrite-table.ts';
import { decidePatchRow } from './tables/decide-patch-row.ts';
import { decidePatchTable } from './tables/decide-patch-table.ts';
import { decideTeamChange, decideTeamCreated, decideTeamPlan, decideTokenCreated, decideTokenRevoked } from './teams/decide-team.ts';
import { decideCompleteUpload } from './uploads/decide-complete-upload.ts';
import { decideCreateUpload } from './uploads/decide-create-upload.ts';
import { decideUploadChecked } from './uploads/decide-upload-checked.ts';

/** Throws only on bugs: whatever a client can ask for has an outcome. */
export function decide(state: DecisionState, event: Event, at: LogPlace): Decision {
  const { data } = event;
  switch (data.type) {
    case 'GenerationStarted':
      // What it says is read by the projector itself, before anything is decided.
      return apply([]);
    case 'TeamCreated':
      return decideTeamCreated(state, data, at);
    case 'TeamSuspended':
      return decideTeamChange(state, data.teamId, { suspended: true });
    case 'TeamResumed':
      return decideTeamChange(state, data.teamId, { suspended: false });
    case 'TeamPlanSet':
      return decideTeamPlan(state, data);
    case 'TokenCreated':
      return decideTokenCreated(state, data, at);
    case 'TokenRevoked':
      return decideTokenRevoked(state, data);
    case 'BlockReceived':
      return decideBlockReceived(state, as(event, data), at);
    case 'ChunkPutRequested':
      return decidePutChunk(state, as(event, data), at);
    case 'StashDeleteRequested':
      return decideDeleteStash(state, data, at);
    case 'StashExpired':
      return decideStashExpired(state, data, at);
    case 'UploadCreateRequested':
      return decideCreateUpload(state, data, at);
    case 'UploadCompleteRequested':
      return decideCompleteUpload(state, data, at);
    case 'UploadChecked':
      return decideUploadChecked(state, data, at);
    case 'TableCreateRequested':
      return decideCreateTable(state, as(event, data), at);
    case 'TablePatchRequested':
      return decidePatchTable(state, data, at);
    case 'TableDeleteRequested':
      return decideDeleteTable(state, data, at);
    case 'RowsAddRequested':
      return decideAddRows(state, as(event, data), at);
    case 'TableOverwriteRequested':
      return decideOverwriteTable(state, as(event, data), at);
    case 'RowPatchRequested':
      return decidePatchRow(state, as(event, data), at);
    case 'RowDeleteRequested':
      return decideDeleteRow(state, as(event, data), at);
    default:
      return throwUnknown(data);
  }
}

/** The event, as one whose data is known to be of this kind. */
function as<T extends EventData & { type: EventType }>(event: Event, _data: T): Event<T> {
  return event as Event<T>;
}

/** A newer version may have written it: the partition halts here (ARCHITECTURE.md, "Invariants"). */
function throwUnknown(data: never): never {
  throw new Error(`an event of the unknown type ${(data as EventData).type}`);
}
