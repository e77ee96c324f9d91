/** Ends a query process that cannot answer any more. */
import type { Logger } from 'pino';
import { QueryError } from '../language/query-error.ts';
import type { EngineEnding } from '../protocol.ts';

/**
 * The service ends this process when it gets the message. If the service hangs, this process ends itself after this
 * many milliseconds.
 */
const tellMs = 5000;

/** How long to wait for finished answers to be sent, in milliseconds. */
const leaveMs = 500;

export class Ending {
  readonly #logger: Logger;
  #hasBegun = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Whether the process is about to end. The service repeats unanswered queries in the next process. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Ends the process after half a second, in which finished answers can be sent. */
  begin(reason: string): void {
    this.#end(reason, leaveMs);
  }

  /** Ends the process at once, because none of its answers can be trusted. */
  beginNow(reason: string): void {
    this.#end(reason, 0);
  }

  #end(reason: string, afterMs: number): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#logger.fatal(`${reason}: the query process ends`);
    setTimeout(() => process.send?.({ ending: reason } satisfies EngineEnding), afterMs);
    // SIGKILL, because running threads would keep the process from exiting.
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), afterMs + tellMs);
  }
}

/**
 * Whether DuckDB reports an internal error, after which its instance answers nothing, or wrongly. Errors of queries
 * begin with other words.
 */
export function isBroken(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    // The text of a QueryError may come from the client.
    if (
      !(at instanceof QueryError) &&
      /^(?:Failed to extract statements: )?(?:INTERNAL|FATAL) Error\b/.test(at.message)
    )
      return true;
  }
  return false;
}
