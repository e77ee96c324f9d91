/** Merges two streams that are sorted by the same key. */
import type { ComparisonKey } from './comparison.ts';

/** The rows of both sides with the same key; null where a side has none. */
export type Pair<Row> = readonly [expected: Row | null, found: Row | null];

/** Pairs the rows of two streams by these columns. Both streams must be sorted as `compareKeys` sorts. */
export async function* merge<Row extends object>(
  expected: AsyncGenerator<Row>,
  found: AsyncGenerator<Row>,
  keys: readonly string[],
): AsyncGenerator<Pair<Row>> {
  let [a, b] = await Promise.all([expected.next(), found.next()]);
  while (!a.done || !b.done) {
    const order = a.done ? 1 : b.done ? -1 : compareKeys(a.value, b.value, keys);
    yield [order <= 0 ? a.value : null, order >= 0 ? b.value : null];
    if (order <= 0) a = await expected.next();
    if (order >= 0) b = await found.next();
  }
}

/** The key of a pair. */
export function positionOf<Row extends object>([expected, found]: Pair<Row>, keys: readonly string[]): ComparisonKey {
  const row = (expected ?? found) as Readonly<Record<string, Key>>;
  return keys.map((key) => row[key]!);
}

type Key = string | number | bigint;

/** Numbers by value, strings by their UTF-8 bytes: the order of `collate "C"`, and of a uuid as text. */
function compareKeys(a: object, b: object, keys: readonly string[]): number {
  for (const key of keys) {
    if (!(key in a)) throw new Error(`there is no column ${key} to compare by`);
    const order = compareKey((a as Record<string, Key>)[key]!, (b as Record<string, Key>)[key]!);
    if (order !== 0) return order;
  }
  return 0;
}

function compareKey(a: Key, b: Key): number {
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  return a < (b as typeof a) ? -1 : a > (b as typeof a) ? 1 : 0;
}
