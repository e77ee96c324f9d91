/** Restarts processes of the service that end by themselves, as the supervisor of a deployment does. */
import { once } from 'node:events';
import type { TestServer } from '../support/server.ts';

/** A place for a process: the present process, and how the next one is started, at the same URL. */
export interface SupervisedPlace {
  server: TestServer;
  launch(): Promise<TestServer>;
}

export class Supervisor {
  readonly #endings: (number | null)[] = [];
  readonly #watching: Promise<void>[] = [];
  readonly #ending = new AbortController();

  /** Watches the present processes of these places, and those that follow them. */
  watch(places: readonly SupervisedPlace[]): void {
    this.#watching.push(...places.map((place) => this.#watch(place)));
  }

  /** The exit codes of the processes that ended by themselves, in order; null for those that a signal ended. */
  get endings(): readonly (number | null)[] {
    return this.#endings;
  }

  /** Starts nothing more. Resolves when no start is in progress. */
  async end(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#watching);
  }

  async #watch(place: SupervisedPlace): Promise<void> {
    const { signal } = this.#ending;
    for (;;) {
      const code = await exitCodeOf(place.server, signal);
      if (signal.aborted) return;
      this.#endings.push(code);
      place.server = await place.launch();
    }
  }
}

/** Resolves when the process has ended, or the signal aborts. */
async function exitCodeOf({ process: child }: TestServer, signal: AbortSignal): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    await once(child, 'exit', { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
  return child.exitCode;
}
