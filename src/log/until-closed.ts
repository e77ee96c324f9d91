/**
 * Closes the parts of a process that stops. A part that hangs must not keep the process alive: at a deadline it is left
 * as it is.
 */
import type { Logger } from 'pino';

/** How often the log says what is still waited for, in milliseconds. */
const interval = 5000;

/** How long each later part may take once the deadline has passed, in milliseconds. */
const lateMs = 1000;

/** What is being closed. */
const underWay = new Set<string>();

const deadline = new AbortController();

/** Passes the deadline: whatever is still being closed is given up, and the process will end with exit code 1. */
export function giveUpClosing(): void {
  deadline.abort();
}

/** What is still being closed, in the order in which that was begun. */
export function stillClosing(): readonly string[] {
  return [...underWay];
}

/**
 * Waits until something is closed. If that takes long, the log says what it is: a supervisor may kill the process
 * before it ends by itself. Gives it up at the deadline (`giveUpClosing`), and then the exit code is 1. Rejects as
 * `closing` does before that.
 */
export async function untilClosed(
  what: string,
  closing: Promise<unknown> | undefined,
  logger: Pick<Logger, 'warn' | 'error'>,
): Promise<void> {
  await tellingOf(what, logger, async () => {
    const { promise: late, resolve } = Promise.withResolvers<'late'>();
    let timer: NodeJS.Timeout | undefined;
    const onDeadline = (): void => {
      timer = setTimeout(() => resolve('late'), closing === undefined ? 0 : lateMs);
    };
    if (deadline.signal.aborted) onDeadline();
    else deadline.signal.addEventListener('abort', onDeadline, { once: true });
    try {
      if ((await Promise.race([closing, late])) !== 'late') return;
      closing?.catch((error: unknown) => logger.error({ err: error }, `${what} could not be closed`));
      logger.error(`the process is stopping, and gives up closing ${what}: it did not end in time`);
      process.exitCode = 1;
    } finally {
      clearTimeout(timer);
      deadline.signal.removeEventListener('abort', onDeadline);
    }
  });
}

/** The same for something that ends in time by itself: it is never given up. */
export function untilEnded(what: string, closing: Promise<unknown>, logger: Pick<Logger, 'warn'>): Promise<void> {
  return tellingOf(what, logger, async () => {
    await closing;
  });
}

async function tellingOf(what: string, logger: Pick<Logger, 'warn'>, wait: () => Promise<void>): Promise<void> {
  const timer = setInterval(() => logger.warn(`the process is stopping, and still closes ${what}`), interval);
  underWay.add(what);
  try {
    await wait();
  } finally {
    clearInterval(timer);
    underWay.delete(what);
  }
}
