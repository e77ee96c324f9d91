/** A process that was told to stop ends in time, whatever hangs in it. */
import type { Logger } from 'pino';
import { giveUpClosing, stillClosing } from '../log/until-closed.ts';

/**
 * How long closing may take after the requests have had their time, in milliseconds. Then what hangs is given up, and
 * the rest is closed.
 */
const closingMs = 10_000;

/** How long that may take in turn, in milliseconds, before the process ends at once. */
const restMs = 10_000;

const timerMsMax = 2 ** 31 - 1;

/**
 * What is closed last. It ends by itself (src/storage/embedded/postmaster.ts), and its data would have to be recovered.
 */
export const itsPostgres = 'its Postgres';

/**
 * To be called when the process begins to stop. `drainMs`: how long requests may go on. Call the function that it
 * returns when all is closed; else the process ends with exit code 1, and the log says what was still being closed.
 */
export function stopInTime(drainMs: number, logger: Pick<Logger, 'fatal'>): () => void {
  const after = (ms: number): number => Math.min(drainMs + ms, timerMsMax);
  const soft = setTimeout(giveUpClosing, after(closingMs));
  const hard = setInterval(
    () => {
      const left = stillClosing();
      if (left.length === 1 && left[0] === itsPostgres) return;
      const what = left.length === 0 ? 'a step of its start does not end' : `it still closes ${left.join(', ')}`;
      logger.fatal(`the process did not stop in time, and ends at once: ${what}`);
      process.exit(1);
    },
    after(closingMs + restMs),
  );
  return () => {
    clearTimeout(soft);
    clearInterval(hard);
  };
}
