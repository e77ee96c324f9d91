/** Headers of requests and answers. */

/** 128 random bits in hexadecimal digits. (`crypto.randomUUID` is missing in pages that came over plain HTTP.) */
export function randomID(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Headers with a new key. A request that is sent again with it takes effect only once. */
export function newKey(): { readonly 'Idempotency-Key': string } {
  const key = randomID();
  unused.add(key);
  return { 'Idempotency-Key': key };
}

/** Keys with which no request was sent. */
const unused = new Set<string>();

/** Whether `newKey` made this key and no request was sent with it. From then on the key counts as sent. */
export function takeUnused(key: string | null): boolean {
  return key !== null && unused.delete(key);
}

/** How many cells were dropped, if `dropColumns` allowed that. */
export function droppedCellsOf(response: Response): number {
  return Number(response.headers.get('tablog-dropped-cells') ?? 0);
}
