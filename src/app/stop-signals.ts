/** Handles stop signals from Ctrl-C or a supervisor. The first one stops gracefully, a later one at once. */
import { constants } from 'node:os';

/**
 * A signal this soon after the first one is a duplicate, in milliseconds. Under npm a Ctrl-C arrives twice: from the
 * terminal, and forwarded by npm.
 */
const sameWishMs = 1000;

const stopSignals = ['SIGINT', 'SIGTERM'] as const;

type StopSignal = (typeof stopSignals)[number];

/**
 * Calls `stop` once, at the first signal. A signal more than a second later calls `say`, then ends the process at once
 * with the exit code of the signal (130 or 143). Call it once, before there is anything to close.
 */
export function onStopSignal(stop: (signal: StopSignal) => void, say: (words: string) => void): void {
  let first: number | undefined;
  const receive = (signal: StopSignal): void => {
    const now = performance.now();
    if (first === undefined) {
      first = now;
      stop(signal);
    } else if (now - first > sameWishMs) {
      say(`${signal} again: ends at once, without finishing the work under way`);
      process.exit(128 + constants.signals[signal]);
    }
  };
  for (const signal of stopSignals) process.on(signal, receive);
}
