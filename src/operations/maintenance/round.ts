/** Rounds of maintenance. In each round every kind of work gets its turn, however much another kind has to do. */
import { pause } from '../../storage/pause.ts';

/** The pause after each step, as a multiple of its duration: each kind of work uses at most a fifth of a connection. */
const restFactor = 4;

/**
 * How many steps run at once, because they share the connections of the process. Further steps wait in their order of
 * arrival.
 */
const stepsAtOnce = 4;

/** A kind of maintenance. */
export interface MaintenanceTask {
  /** The name in metrics and log lines. */
  readonly name: string;
  /**
   * Does a small piece of work. Resolves to how much it did, or to whether it did any. 0 or false: nothing is left to
   * do.
   */
  readonly step: () => Promise<number | boolean>;
  /**
   * Whether a round repeats the step. A step that scans everything is not repeated, because a pass over a million files
   * would delay the end of the round.
   */
  readonly repeats: boolean;
  /** Whether the step runs only once an hour. */
  readonly isRare?: boolean;
}

/** Watches steps. The callbacks must not throw. */
export interface MaintenanceObserver {
  /** A step of this kind did this much; 0: nothing is left to do. */
  stepped(kind: string, done: number): void;
  failed(kind: string): void;
  /** Another process does all maintenance now. */
  yielded(): void;
}

interface RoundOptions {
  /** After this many milliseconds no step is repeated. The next round does the rest. */
  readonly roundMs: number;
  /** Ends the round after the steps that are running. */
  readonly signal: AbortSignal;
  readonly observer: MaintenanceObserver;
  /** Called for each failed step. A failure ends the turn of its kind; the next round tries again. */
  readonly onFailure: (error: unknown, kind: string) => void;
}

/**
 * Runs a round of all tasks. Resolves to whether there may be more to do, for each task in their order. Never rejects.
 */
export async function runRound(
  tasks: readonly MaintenanceTask[],
  { roundMs, signal, observer, onFailure }: RoundOptions,
): Promise<boolean[]> {
  const end = performance.now() + roundMs;
  const turns = new Turns(stepsAtOnce);
  return Promise.all(
    tasks.map(async ({ name, step, repeats }) => {
      for (;;) {
        await turns.take();
        const started = performance.now();
        try {
          const done = Number(await step());
          observer.stepped(name, done);
          if (done === 0) return false;
        } catch (error) {
          observer.failed(name);
          onFailure(error, name);
          return false;
        } finally {
          turns.giveBack();
        }
        await pause(restFactor * (performance.now() - started), signal);
        if (!repeats || signal.aborted || performance.now() >= end) return true;
      }
    }),
  );
}

/** A semaphore: hands out a number of turns in the order of the requests. */
class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(turns: number) {
    this.#free = turns;
  }

  async take(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }
}
