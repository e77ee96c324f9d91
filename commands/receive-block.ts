/**
 * ReceiveBlock: a part of a body that is larger than one block. It takes effect with the event of the request itself.
 */
import type { EventOf } from '../src/language/events/event.ts';
import type { BodyLimits } from '../src/language/events/limits.ts';
import type { Profile } from '../src/language/values/profile.ts';

interface ReceiveBlockInput {
  readonly teamId: string;
  readonly bodyId: string;
  readonly number: number;
  readonly segmentId: string;
  readonly profile: Profile;
  /** Whether the rows came with row IDs. */
  readonly hasIds: boolean;
}

export function receiveBlock({ hasIds, ...block }: ReceiveBlockInput): EventOf<'BlockReceived'> {
  return { type: 'BlockReceived', ...block, ...(hasIds ? { ids: true } : {}) };
}

/** Announces a body of several blocks. */
export function openBody(teamId: string, bodyId: string, limits: BodyLimits): EventOf<'BodyOpenRequested'> {
  return { type: 'BodyOpenRequested', teamId, bodyId, limits };
}

export function expireBody(teamId: string, bodyId: string): EventOf<'BodyExpired'> {
  return { type: 'BodyExpired', teamId, bodyId };
}
