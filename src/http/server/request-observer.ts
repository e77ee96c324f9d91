/** What a team may be limited in (docs/rate-limits.md). */
export const limitNames = ['requests', 'rows'] as const;
export type LimitName = (typeof limitNames)[number];

/** Hears of each request. It is called in the midst of it: it is quick, and throws nothing. */
export interface RequestObserver {
  began(): void;
  /** A request was refused because its team has used up this limit. */
  rateLimited(limit: LimitName): void;
  /**
   * The answer is out, so many milliseconds after the request was routed. `route` is the pattern, like `/tables/:tableID`;
   * null when there is none for the path and the method. `status` is null when the connection was cut before the end.
   */
  ended(method: string, route: string | null, status: number | null, ms: number): void;
}
