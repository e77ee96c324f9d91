/** Rounds of maintenance: in each, every kind of work has a turn, however much another kind finds to do. */
import { pause } from '../pause.ts';

/** The pause after each step, as a multiple of its duration: each kind of work uses at most a fifth of a connection. */
const restFactor = 4;

/** A kind of maintenance. */
export interface Kind {
  /** Does a little; resolves to whether there may be more to do. */
  readonly step: () => Promise<boolean>;
  /** Whether the step is repeated within a round. One that scans everything is not: a pass over a million files would hold the round up. */
  readonly repeats: boolean;
}

export interface RoundOptions {
  /** After this many milliseconds no step is repeated: what is left goes on in the next round. */
  readonly roundMs: number;
  /** Ends the round after the steps that are running. */
  readonly signal: AbortSignal;
  /** Called with each failure of a step. It ends the turn of its kind; the next round tries again. */
  readonly onFailure: (error: unknown) => void;
}

/** Runs a round of all kinds at once; resolves, for each, to whether there may be more to do. Never rejects. */
export async function runRound(kinds: readonly Kind[], { roundMs, signal, onFailure }: RoundOptions): Promise<boolean[]> {
  const end = performance.now() + roundMs;
  return Promise.all(kinds.map(async ({ step, repeats }) => {
    for (;;) {
      const started = performance.now();
      try {
        if (!(await step())) return false;
      } catch (error) {
        onFailure(error);
        return false;
      }
      await pause(restFactor * (performance.now() - started), signal);
      if (!repeats || signal.aborted || performance.now() >= end) return true;
    }
  }));
}
