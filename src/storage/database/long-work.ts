/**
 * Work whose statements on the pool may take longer than those of a request: maintenance, rebuilding, removal of
 * schemas.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

const works = new AsyncLocalStorage<true>();

/** Does work whose statements on the pool have no time limit. Settles as the work does. */
export function asLongWork<T>(work: () => Promise<T>): Promise<T> {
  return works.run(true, work);
}

/** Whether the present task is long work, or was begun by it. */
export function isLongWork(): boolean {
  return works.getStore() === true;
}
