/**
 * Closes the parts of a process that is stopping. A part that hangs must not keep the process alive, so it is abandoned
 * at a deadline.
 */
import type { Logger } from 'pino';

/** The interval at which the log names the parts that are still being closed, in milliseconds. */
const interval = 5000;

/** How long each later part may take once the deadline has passed, in milliseconds. */
const lateMs = 1000;

/** The parts that are being closed. */
const underWay = new Set<string>();

const deadline = new AbortController();

/** Passes the deadline: parts that are still being closed are abandoned, and the process will end with exit code 1. */
export function giveUpClosing(): void {
  deadline.abort();
}

/** The parts that are still being closed, in the order in which closing them began. */
export function stillClosing(): readonly string[] {
  return [...underWay];
}

/**
 * Waits until a part is closed. If that takes long, the log names the part, because a supervisor may kill the process
 * before it ends by itself. At the deadline (`giveUpClosing`) the part is abandoned, and the exit code is 1. Before
 * that, rejects as `closing` does.
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

/** As `untilClosed`, for a part that ends in time by itself: it is never abandoned. */
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
