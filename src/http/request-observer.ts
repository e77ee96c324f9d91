/** Hears of each request. It is called in the midst of it: it is quick, and throws nothing. */
export interface RequestObserver {
  began(): void;
  /**
   * The answer is out, so many milliseconds after the request was routed. `route` is the pattern, like `/tables/:tableID`;
   * null when there is none for the path and the method. `status` is null when the connection was cut before the end.
   */
  ended(method: string, route: string | null, status: number | null, ms: number): void;
}
