import { QueryError } from '../language/query-error.ts';

/** Runs work with a signal that aborts when `gone` does, or after `timeoutMs` with the QueryError `query_timeout`. */
export async function withQueryTimeout<T>(
  timeoutMs: number,
  gone: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer = setTimeout(
    () => late.abort(new QueryError('query_timeout', `The query took longer than ${timeoutMs / 1000} s.`)),
    timeoutMs,
  );
  try {
    return await work(AbortSignal.any([gone, late.signal]));
  } finally {
    clearTimeout(timer);
  }
}
