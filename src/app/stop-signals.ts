/** When a process is to stop: what Ctrl-C and whoever looks after processes say, and what it means to say it twice. */
import { constants } from 'node:os';

/**
 * Signals so soon after the first one are the same wish, in milliseconds: under npm a Ctrl-C comes twice, from the terminal
 * and from npm, which passes it on.
 */
const sameWishMs = 1000;

const stopSignals = ['SIGINT', 'SIGTERM'] as const;

export type StopSignal = (typeof stopSignals)[number];

/**
 * Calls `stop` once, at the first signal. One that comes more than a second later ends the process at once, with the exit
 * code of the signal (130 or 143), and `say` is told so before. To be called once, as early as there is anything to close.
 */
export function onStopSignal(stop: (signal: StopSignal) => void, say: (words: string) => void): void {
  let first: number | undefined;
  const receive = (signal: StopSignal): void => {
    const now = performance.now();
    if (first === undefined) {
      first = now;
      stop(signal);
    } else if (now - first > sameWishMs) {
      say(`${signal} once more: ending at once, in the middle of what is under way`);
      process.exit(128 + constants.signals[signal]);
    }
  };
  for (const signal of stopSignals) process.on(signal, receive);
}
