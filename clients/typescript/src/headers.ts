/** Headers of requests and answers. */

/** With it, a request that is sent again takes effect once. */
export function newKey(): { readonly 'Idempotency-Key': string } {
  return { 'Idempotency-Key': crypto.randomUUID() };
}

/** How many cells were dropped, where `dropColumns` allowed that. */
export function droppedCellsOf(response: Response): number {
  return Number(response.headers.get('tablog-dropped-cells') ?? 0);
}
