/** Bounded concurrency over an asynchronous iterable. */

interface Failure {
  readonly place: number;
  readonly error: unknown;
}

/**
 * Calls `work` for each item and its index, with at most `parallel` calls at a time. It pulls the next item when there
 * is room for it. After a failure it starts nothing new, awaits work in flight, and throws the error of the first
 * failed item (in item order). So a file with many mistakes reports the first one.
 * @param stop is called at the first failure, to end the wait for further items: `items` may then throw anything
 */
export async function eachInParallel<T>(
  items: AsyncIterable<T>,
  parallel: number,
  work: (item: T, place: number) => Promise<void>,
  stop: () => void,
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
