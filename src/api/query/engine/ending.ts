/** The end of a query process that can answer nothing any more. */
import type { Logger } from 'pino';
import { QueryError } from '../language/query-error.ts';
import type { EngineEnding } from '../protocol.ts';

/**
 * The service ends this process when told to. If the service hangs, this process ends itself after this many
 * milliseconds.
 */
const tellMs = 5000;

/** How long answers that are ready have to leave, in milliseconds. */
const leaveMs = 500;

export class Ending {
  readonly #logger: Logger;
  #hasBegun = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Whether the process is about to end. What it cannot answer now is asked in the next one. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Ends the process as soon as answers that are ready have left. */
  begin(reason: string): void {
    this.#end(reason, leaveMs);
  }

  /** Ends the process at once: nothing that it answers can be relied upon. */
  beginNow(reason: string): void {
    this.#end(reason, 0);
  }

  #end(reason: string, afterMs: number): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#logger.fatal(`${reason}: the query process ends`);
    setTimeout(() => process.send?.({ ending: reason } satisfies EngineEnding), afterMs);
    // Threads that are at work do not let it exit.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), afterMs + tellMs);
  }
}

/**
 * Whether DuckDB reports a fault of its own, after which its instance can answer nothing, or not the truth. Errors of
 * queries begin with other words.
 */
export function isBroken(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    // The text of a QueryError may be the client's.
    if (
      !(at instanceof QueryError) &&
      /^(?:Failed to extract statements: )?(?:INTERNAL|FATAL) Error\b/.test(at.message)
    )
      return true;
  }
  return false;
}
