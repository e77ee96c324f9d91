/**
 * Whether a statement took longer than it may: the driver gave it up, and the server may still run it (`endGivenUp`),
 * or the server has cancelled it (57014).
 */
export function isStatementTimeout(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if ((cause as { code?: unknown }).code === '57014' || cause.message === 'Query read timeout') return true;
  }
  return false;
}
