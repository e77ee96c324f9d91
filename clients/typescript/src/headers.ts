/** Headers of requests and answers. */

/** 128 random bits in hexadecimal digits. `crypto.randomUUID` is missing in pages that came over plain HTTP. */
export function randomID(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** With it, a request that is sent again takes effect once. */
export function newKey(): { readonly 'Idempotency-Key': string } {
  return { 'Idempotency-Key': randomID() };
}

/** How many cells were dropped, where `dropColumns` allowed that. */
export function droppedCellsOf(response: Response): number {
  return Number(response.headers.get('tablog-dropped-cells') ?? 0);
}
