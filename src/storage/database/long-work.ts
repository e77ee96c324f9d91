/**
 * Marks work whose statements on the pool may take longer than those of a request: maintenance, rebuilds, removal of
 * schemas.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

const works = new AsyncLocalStorage<true>();

/** Runs `work` without a time limit for its statements on the pool. Settles as the work does. */
export function asLongWork<T>(work: () => Promise<T>): Promise<T> {
  return works.run(true, work);
}

/** Whether the current task runs within `asLongWork`. */
export function isLongWork(): boolean {
  return works.getStore() === true;
}
