/**
 * Whether a statement exceeded its time limit: either the driver gave up waiting and the server may still run the
 * statement (see `endGivenUp`), or the server cancelled it (57014).
 */
export function isStatementTimeout(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if ((cause as { code?: unknown }).code === '57014' || cause.message === 'Query read timeout') return true;
  }
  return false;
}
