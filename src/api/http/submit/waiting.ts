/** Lets requests wait for outcomes: until the outcome arrives, a time is over, or the service stops. */
import { AppendUnknown } from '../../../log/event-log.ts';

/** All requests that wait. */
export class Waiting {
  readonly #giveUps = new Set<() => void>();
  /** Whether requests that begin to wait now are stopped at once. */
  #hasGivenUp = false;

  /** Settles as the promise does, or rejects with AppendUnknown if `giveUp` comes first. */
  until<T>(settled: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(new AppendUnknown('the service is stopping'));
      if (this.#hasGivenUp) giveUp();
      this.#giveUps.add(giveUp);
      settled.then(resolve, reject).finally(() => this.#giveUps.delete(giveUp));
    });
  }

  /** Ends all waits, and those that begin later. */
  giveUp(): void {
    this.#hasGivenUp = true;
    for (const giveUp of this.#giveUps) giveUp();
  }
}

/**
 * Resolves after this many milliseconds. 0: in the next turn of the event loop, so that the caller sees immediate
 * failures first.
 */
export function cancelablePause(ms: number): { readonly over: Promise<'over'>; end(): void } {
  const { promise, resolve } = Promise.withResolvers<'over'>();
  if (ms === 0) setImmediate(resolve, 'over');
  const timer = ms === 0 ? undefined : setTimeout(resolve, ms, 'over');
  return { over: promise, end: () => clearTimeout(timer) };
}
