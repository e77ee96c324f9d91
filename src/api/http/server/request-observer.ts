import type { RefusedBy, ShareName } from '../limits/fair-shares.ts';
import type { Refusal } from '../../../language/values/refusal.ts';

/** The names of the rate limits (docs/reference/rate-limits.md): of a team, and of a client address. */
export const teamLimitNames = ['requests', 'rows', 'bytes', 'imports'] as const;
const addressLimitNames = ['refusals', 'preflights', 'public_requests'] as const;
export const limitNames = [...teamLimitNames, ...addressLimitNames] as const;
export type TeamLimitName = (typeof teamLimitNames)[number];
export type AddressLimitName = (typeof addressLimitNames)[number];
export type LimitName = (typeof limitNames)[number];

/** Why a connection was closed: its address opened too many, or has too many open, or too many are open in total. */
export const closeReasons = ['new_of_address', 'open_of_address', 'open'] as const;
export type CloseReason = (typeof closeReasons)[number];

/** Observes requests. Called synchronously: it must be quick, and must not throw. */
export interface RequestObserver {
  began(): void;
  /** A request found no room in time, because of its team or because the process is full. */
  shareRefused(share: ShareName, by: RefusedBy): void;
  /** A request was refused because its team, or its client's address, has used up this limit. */
  rateLimited(limit: LimitName): void;
  /** A new connection was closed, or an idle one to make room for it. */
  connectionClosed(reason: CloseReason): void;
  /** A request was refused. */
  refused(refusal: Refusal): void;
  /**
   * The answer has ended, `ms` milliseconds after the request was routed. `route` is the pattern, like
   * `/tables/:tableID`; null if the path and method have none. `status` is null if the connection was cut before the
   * end.
   */
  ended(method: string, route: string | null, status: number | null, ms: number): void;
}
