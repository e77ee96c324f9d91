/** Two streams in the order of their keys, walked together. */
import type { ResultRow } from '../../../src/database/pipelined-client.ts';

/** What both sides have under a key; null where one has nothing. */
export type Pair = readonly [expected: ResultRow | null, found: ResultRow | null];

/** Pairs the rows of two streams by their first `keys` columns. Both must be in the order of `compareKeys`. */
export async function* merge(
  expected: AsyncGenerator<ResultRow>,
  found: AsyncGenerator<ResultRow>,
  keys: number,
): AsyncGenerator<Pair> {
  let [a, b] = await Promise.all([expected.next(), found.next()]);
  while (!a.done || !b.done) {
    const order = a.done ? 1 : b.done ? -1 : compareKeys(a.value, b.value, keys);
    yield [order <= 0 ? a.value : null, order >= 0 ? b.value : null];
    if (order <= 0) a = await expected.next();
    if (order >= 0) b = await found.next();
  }
}

/** Numbers by value, texts by the bytes of their UTF-8: the order of `collate "C"`, and of uuid as text. */
function compareKeys(a: ResultRow, b: ResultRow, keys: number): number {
  for (let at = 0; at < keys; at += 1) {
    const order = compareKey(a[at], b[at]);
    if (order !== 0) return order;
  }
  return 0;
}

function compareKey(a: string | number | bigint, b: string | number | bigint): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return a < (b as typeof a) ? -1 : a > (b as typeof a) ? 1 : 0;
}
