/** Makes a process end in time after a stop signal, even if something hangs. */
import type { Logger } from 'pino';
import { giveUpClosing, stillClosing } from '../log/until-closed.ts';

/**
 * How long closing may take after the time for requests is over, in milliseconds. Then the process gives up what hangs,
 * and closes the rest.
 */
const closingMs = 10_000;

/** How long closing the rest may take, in milliseconds, before the process ends at once. */
const restMs = 10_000;

const timerMsMax = 2 ** 31 - 1;

/**
 * Postgres is closed last. The deadline does not interrupt it: it ends in time by itself
 * (src/storage/embedded/postmaster.ts), and after an interruption its data would have to be recovered.
 */
export const itsPostgres = 'its Postgres';

/**
 * Call it when the process begins to stop. `drainMs` is how long requests may continue. Call the returned function when
 * everything is closed. Otherwise the process ends with exit code 1, and the log names what was still being closed.
 */
export function stopInTime(drainMs: number, logger: Pick<Logger, 'fatal'>): () => void {
  const after = (ms: number): number => Math.min(drainMs + ms, timerMsMax);
  const soft = setTimeout(giveUpClosing, after(closingMs));
  const hard = setInterval(
    () => {
      const left = stillClosing();
      if (left.length === 1 && left[0] === itsPostgres) return;
      const what = left.length === 0 ? 'a step of its start does not end' : `it is still closing ${left.join(', ')}`;
      logger.fatal(`the process did not stop in time and ends at once: ${what}`);
      process.exit(1);
    },
    after(closingMs + restMs),
  );
  return () => {
    clearTimeout(soft);
    clearInterval(hard);
  };
}
