import { HistoryChanged, IsStandby } from './history.ts';

/** System errors: a connection to the database could not be made or kept. */
const systemCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** Messages of pg errors that have no code. */
const driverMessages = [
  'Connection terminated',
  'Client has encountered a connection error',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Query read timeout',
  'Cannot use a pool after calling end',
  'Client was closed and is not queryable',
];

/**
 * Whether Postgres is away: it cannot be reached, is starting or stopping (57P01 to 57P05), is out of connections or
 * space (class 53), lost the connection (class 08), has become a standby (25006), or goes on from another history.
 */
export function isDatabaseAway(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if (cause instanceof IsStandby || cause instanceof HistoryChanged) return true;
    const { code, syscall } = cause as NodeJS.ErrnoException;
    if (code !== undefined && (systemCodes.has(code) || /^(57P0[1-5]|53...|08...|25006)$/.test(code))) return true;
    if (code === 'ENOENT' && syscall === 'connect') return true;
    if (driverMessages.some((start) => (cause as Error).message.startsWith(start))) return true;
  }
  return false;
}
