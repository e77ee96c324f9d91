import type { Logger } from 'pino';

/** How often the log says what is still waited for, in milliseconds. */
const interval = 5000;

/** Waits until something is closed. If that takes long, the log says what it is: a supervisor may kill the process before it ends by itself. */
export async function untilClosed(what: string, closing: Promise<unknown> | undefined, logger: Pick<Logger, 'warn'>): Promise<void> {
  const timer = setInterval(() => logger.warn(`the process is stopping, and still closes ${what}`), interval);
  try {
    await closing;
  } finally {
    clearInterval(timer);
  }
}
