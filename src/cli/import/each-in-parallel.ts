/** Work on items in parallel, a bounded number at a time. */

interface Failure {
  readonly place: number;
  readonly error: unknown;
}

/**
 * Calls `work` for each item with its place, for at most `parallel` at a time; the next item is asked for when there is
 * room for it. After a failure nothing new is begun, what is under way is waited for, and the error of the first item in
 * order is thrown: what is told of a file with many mistakes is then the first of them.
 * @param stop is called at the first failure, so that nothing is waited for that need not come any more: `items` may then
 *   throw whatever it wants
 */
export async function eachInParallel<T>(
  items: AsyncIterable<T>, parallel: number, work: (item: T, place: number) => Promise<void>, stop: () => void,
): Promise<void> {
  const underWay = new Set<Promise<void>>();
  let failure: Failure | null = null;
  const fail = (place: number, error: unknown): void => {
    if (failure === null || place < failure.place) failure = { place, error };
    stop();
  };
  const hasFailed = (): boolean => failure !== null;
  let place = 0;
  try {
    for await (const item of items) {
      if (hasFailed()) break;
      const itsPlace = place;
      place += 1;
      const done = work(item, itsPlace)
        .catch((error: unknown) => fail(itsPlace, error))
        .finally(() => underWay.delete(done));
      underWay.add(done);
      if (underWay.size >= parallel) await Promise.race(underWay);
      if (hasFailed()) break;
    }
  } catch (error) {
    fail(place, error);
  }
  await Promise.all(underWay);
  if (failure !== null) throw (failure as Failure).error;
}
