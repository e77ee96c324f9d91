/** The rows of a stash, for an import. */
import type { Refusal } from '../../src/language/values/refusal.ts';
import type { LogPlace } from '../../src/log/batch/decision.ts';
import type { ArrivedRows } from '../segments/arrived-rows.ts';
import { liveStash, missingStash } from './live-stash.ts';
import type { StashStates } from './stashes.state.ts';

/** Refuses if there is no such stash at this time, or if its rows name too many columns. */
export function stashedRows(
  { stashes }: StashStates,
  teamId: string,
  stashId: string,
  at: LogPlace,
): ArrivedRows | { readonly refusal: Refusal } {
  const last = stashes.stash(teamId, stashId);
  const stash = liveStash(last, at);
  if (stash === null) return { refusal: { type: 'stash_not_found', message: missingStash(stashId, last, at) } };
  const content = stashes.content(stash.key);
  if (content.hasTooManyColumns) {
    return {
      refusal: { type: 'limit_exceeded', message: `the stash names more than ${content.columnsMax} different columns` },
    };
  }
  const { profile, segments, placeOf } = content;
  return { profile, segments, few: [], fewIds: null, placeOf };
}
