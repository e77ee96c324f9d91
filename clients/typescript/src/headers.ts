/** Headers of requests and answers. */

/** 128 random bits in hexadecimal digits. `crypto.randomUUID` is missing in pages that came over plain HTTP. */
export function randomID(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** With it, a request that is sent again takes effect once. */
export function newKey(): { readonly 'Idempotency-Key': string } {
  const key = randomID();
  unused.add(key);
  return { 'Idempotency-Key': key };
}

/** Keys that no request was sent with. */
const unused = new Set<string>();

/** Whether no request was sent with the key before, because `newKey` has just made it. Counts as sent from then on. */
export function takeUnused(key: string | null): boolean {
  return key !== null && unused.delete(key);
}

/** How many cells were dropped, where `dropColumns` allowed that. */
export function droppedCellsOf(response: Response): number {
  return Number(response.headers.get('tablog-dropped-cells') ?? 0);
}
