/** Ends a process when the log has moved away from the one that it uses. */
import type pg from 'pg';
import { describeLogPlace, readLogPlace, type LogKind } from '../log/postgres/log-place.ts';

/** How often it is looked, in milliseconds. */
const lookInterval = 1000;

export class LogPlaceWatch {
  readonly #moved = Promise.withResolvers<string>();
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | null = null;

  constructor(pool: pg.Pool, used: LogKind) {
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look(pool, used).finally(() => {
        this.#looking = null;
      });
    }, lookInterval);
  }

  /** Calls the listener once, with the reason. */
  onMoved(listener: (reason: string) => void): void {
    void this.#moved.promise.then(listener);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(pool: pg.Pool, used: LogKind): Promise<void> {
    try {
      const place = await readLogPlace(pool);
      if (place !== null && place !== used) this.#moved.resolve(describeLogPlace(place));
    } catch {
      // Postgres is away, which requests and the health of the process say.
    }
  }
}
