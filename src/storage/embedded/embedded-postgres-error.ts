/** The embedded Postgres cannot run here, or cannot be stopped. The message tells the operator why, and what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}
