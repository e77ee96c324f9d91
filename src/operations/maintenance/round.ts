/** Rounds of maintenance: in each, every kind of work has a turn, however much another kind finds to do. */
import { pause } from '../../storage/pause.ts';

/** The pause after each step, as a multiple of its duration: each kind of work uses at most a fifth of a connection. */
const restFactor = 4;

/**
 * How many steps run at once: they share the connections of the process. Steps wait in the order in which they came.
 */
const stepsAtOnce = 4;

/** A kind of maintenance. */
export interface MaintenanceTask {
  /** Metrics and log lines show it. */
  readonly name: string;
  /** Does a little; resolves to how much it did, or whether it did: then there may be more. */
  readonly step: () => Promise<number | boolean>;
  /**
   * Whether the step is repeated within a round. One that scans everything is not: a pass over a million files would
   * hold the round up.
   */
  readonly repeats: boolean;
  /** Whether once an hour is enough. */
  readonly isRare?: boolean;
}

/** Watches steps. The callbacks must not throw. */
export interface MaintenanceObserver {
  /** A step of this kind did so much; 0: nothing is left to be done. */
  stepped(kind: string, done: number): void;
  failed(kind: string): void;
  /** Another process does all maintenance now. */
  yielded(): void;
}

interface RoundOptions {
  /** After this many milliseconds no step is repeated: what is left goes on in the next round. */
  readonly roundMs: number;
  /** Ends the round after the steps that are running. */
  readonly signal: AbortSignal;
  readonly observer: MaintenanceObserver;
  /** Called with each failure of a step. It ends the turn of its kind; the next round tries again. */
  readonly onFailure: (error: unknown, kind: string) => void;
}

/** Runs a round of all kinds; resolves, for each, to whether there may be more to do. Never rejects. */
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

/** A number of turns, given out in the order in which they are asked for. */
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
