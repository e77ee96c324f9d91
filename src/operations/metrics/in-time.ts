/** Timeout of what a scrape asks of Postgres, in milliseconds. */
const answerWait = 2000;

/** What `ask` resolves to; null if it rejects, or does not resolve in time. */
export async function inTime<T>(ask: () => Promise<T>): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), answerWait);
  try {
    return await Promise.race([ask().catch(() => null), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
