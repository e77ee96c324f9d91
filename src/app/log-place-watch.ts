/** Watches whether the log that a process uses has moved. */
import type pg from 'pg';
import { describeLogPlace, readLogPlace, readMoves, type LogKind } from '../log/postgres/log-place.ts';

/** Interval between checks, in milliseconds. */
const lookInterval = 1000;

export class LogPlaceWatch {
  readonly #moved = Promise.withResolvers<string>();
  readonly #timer: NodeJS.Timeout;
  #looking: Promise<void> | null = null;

  /** `moves` is the number of moves (`readMoves`) before the process opened the log. */
  constructor(pool: pg.Pool, used: LogKind, moves: string) {
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look(pool, used, moves).finally(() => {
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

  async #look(pool: pg.Pool, used: LogKind, moves: string): Promise<void> {
    try {
      const place = await readLogPlace(pool);
      if (place !== null && (place !== used || (await readMoves(pool)) !== moves))
        this.#moved.resolve(describeLogPlace(place));
    } catch {
      // Postgres is away. Requests and the health of the process report that.
    }
  }
}
