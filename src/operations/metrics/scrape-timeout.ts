/** Time limit of a query for a scrape, in milliseconds. */
const answerWait = 2000;

/** Resolves to the result of `ask`, or to null if `ask` rejects or takes longer than two seconds. */
export async function withScrapeTimeout<T>(ask: () => Promise<T>): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), answerWait);
  try {
    return await Promise.race([ask().catch(() => null), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
